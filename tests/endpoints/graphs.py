"""Small graphs of a made-up library, and forty queries on them."""

from __future__ import annotations

PREFIXES = {"b": "https://books.example/", "xsd": "http://www.w3.org/2001/XMLSchema#"}

BOOKS = """
@prefix b: <https://books.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

b:Novel rdfs:subClassOf b:Book . b:Crime rdfs:subClassOf b:Novel . b:Atlas rdfs:subClassOf b:Book .
b:n1 a b:Novel ; b:title "The Lamp"@en, "Die Lampe"@de ; b:pages 320 ; b:price 12.5 ; b:by b:mia ; b:year 1999 .
b:n2 a b:Crime ; b:title "Night Ferry"@en ; b:pages 210 ; b:price 8.0 ; b:by b:otto, b:mia ; b:year 2005 .
b:n3 a b:Crime ; b:title "Cold Harbour"@en-GB ; b:pages 450 ; b:by b:otto ; b:year 2011 ; b:sequelOf b:n2 .
b:n4 a b:Crime ; b:title "Last Boat"@en ; b:pages 98 ; b:price 5.25 ; b:by b:otto ; b:year 2016 ; b:sequelOf b:n3 .
b:a1 a b:Atlas ; b:title "Rivers" ; b:pages 98 ; b:price 40 ; b:by b:rosa ; b:year 1987 ; b:inPrint false .
b:n1 b:inPrint true . b:n2 b:added "2020-05-17"^^xsd:date . b:n3 b:rating 4.0e0 .
b:mia a b:Author ; b:name "Mia Sandoval" ; b:born b:leeds .
b:otto a b:Author ; b:name "Otto Brandt" ; b:born b:lund .
b:rosa a b:Author ; b:name "Rosa \\"Red\\" Ek\\nthe elder" ; b:born b:lund .
b:lund b:name "Lund" . b:leeds b:name "Leeds" .
b:a1 b:review [ b:stars 3 ; b:text "dry" ] .
"""

LOANS = """
@prefix b: <https://books.example/> .
@prefix l: <https://loans.example/> .

l:x1 l:of b:n1 ; l:to l:kim ; l:days 14 . l:x2 l:of b:n2 ; l:to l:kim ; l:days 30 .
l:x3 l:of b:n2 ; l:to l:lee ; l:days 7 . l:x4 l:of b:a1 ; l:to [ l:name "a guest" ] ; l:days 1 .
"""

PEOPLE = """
@prefix l: <https://loans.example/> .
@prefix p: <https://people.example/> .

l:kim p:name "Kim" ; p:city "Lund" . l:lee p:name "Lee" ; p:city "York" . l:max p:name "Max" ; p:city "Lund" .
"""

QUERIES: tuple[str, ...] = (
    "SELECT ?x { ?x a b:Novel }",
    "SELECT ?x ?t { ?x b:title ?t }",
    "SELECT * { ?x b:pages ?n . FILTER(?n > 200) }",
    'SELECT ?t { ?x b:title ?t FILTER(LANG(?t) = "en") }',
    'SELECT ?t { ?x b:title ?t FILTER(LANGMATCHES(LANG(?t), "en")) }',
    "SELECT ?x { ?x a/<http://www.w3.org/2000/01/rdf-schema#subClassOf>* b:Book }",
    "SELECT ?x ?y { ?x b:sequelOf+ ?y }",
    "SELECT ?x ?y { ?y ^b:sequelOf ?x }",
    "SELECT ?x { ?x b:by/b:born b:lund }",
    "SELECT DISTINCT ?a { ?x b:by ?a }",
    "SELECT ?x ?p { ?x b:title ?t OPTIONAL { ?x b:price ?p } }",
    "SELECT ?x { ?x b:pages ?n MINUS { ?x b:price ?p } }",
    "SELECT ?x { ?x b:pages ?n FILTER NOT EXISTS { ?x b:price ?p } }",
    "SELECT ?x { ?x b:pages ?n FILTER EXISTS { ?y b:sequelOf ?x } }",
    "SELECT ?x { { ?x a b:Atlas } UNION { ?x b:year 1999 } }",
    "SELECT (COUNT(*) AS ?n) { ?x b:by ?a }",
    "SELECT ?a (COUNT(?x) AS ?n) { ?x b:by ?a } GROUP BY ?a",
    "SELECT ?a (SUM(?p) AS ?n) { ?x b:by ?a ; b:pages ?p } GROUP BY ?a HAVING (SUM(?p) > 400)",
    "SELECT (MIN(?p) AS ?low) (MAX(?p) AS ?high) { ?x b:price ?p }",
    "SELECT (AVG(?n) AS ?mean) { ?x b:pages ?n }",
    "SELECT (COUNT(DISTINCT ?a) AS ?n) { ?x b:by ?a }",
    "SELECT ?x ?n { ?x b:pages ?n ; a b:Crime } ORDER BY DESC(?n)",
    "SELECT ?x { ?x b:year ?y } ORDER BY ?y LIMIT 2",
    "SELECT ?x { ?x b:year ?y } ORDER BY ?y LIMIT 2 OFFSET 2",
    "SELECT ?x ?big { ?x b:pages ?n BIND(?n * 2 AS ?big) }",
    "SELECT ?x { VALUES ?x { b:n1 b:n9 } ?x a ?c }",
    "SELECT ?x { VALUES (?c ?y) { (b:Crime 2005) (b:Crime 2016) } ?x a ?c ; b:year ?y }",
    'SELECT ?n { ?a b:name ?n FILTER(STRSTARTS(?n, "Mia")) }',
    'SELECT ?n { ?a b:name ?n FILTER(REGEX(?n, "^o", "i")) }',
    "SELECT (UCASE(?n) AS ?u) { ?a a b:Author ; b:name ?n }",
    'SELECT ?x (IF(?n > 300, "long", "short") AS ?s) { ?x b:pages ?n }',
    "SELECT ?x { ?x b:added ?d FILTER(YEAR(?d) = 2020) }",
    "SELECT ?s ?t { b:a1 b:review ?r . ?r b:stars ?s ; b:text ?t }",
    "SELECT ?r { b:a1 b:review ?r }",
    "SELECT ?x ?most { { SELECT (MAX(?n) AS ?most) { ?x0 b:pages ?n } } ?x b:pages ?most }",
    "SELECT ?x ?p { ?x a b:Novel ; ?p true }",
    "SELECT ?x ?o { ?x b:rating|b:inPrint ?o }",
    "SELECT ?x { ?x b:price ?p FILTER(?p IN (8.0, 40)) }",
    "ASK { b:n1 b:by b:mia }",
    "ASK { b:n1 b:by b:rosa }",
)
