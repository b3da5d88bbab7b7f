"""SPARQL that costs without end, reaches outside or breaks parsers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.hostile.answer import Hostile, block

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["QUERIES", "REACHING"]

# Templates with {url}; each is refused before it runs. Names say how they try to hide.
REACHING: dict[str, str] = {
    "service": "SELECT * {{ SERVICE <{url}> {{ ?s ?p ?o }} }}",
    "service-silent": "SELECT * {{ service silent <{url}> {{ ?s ?p ?o }} }}",
    "service-in-order-by": "SELECT * {{ ?s ?p ?o }} ORDER BY EXISTS {{ SERVICE <{url}> {{ ?s ?p ?o }} }}",
    "service-in-subquery": "SELECT * {{ {{ SELECT * {{ SERVICE <{url}> {{ ?s ?p ?o }} }} }} }}",
    "service-by-variable": "SELECT * {{ BIND(<{url}> AS ?g) SERVICE ?g {{ ?s ?p ?o }} }}",
    "service-behind-true": "SELECT * {{ ?x <a:b> trueSERVICE<{url}>{{ ?s ?p ?o }} }}",
    "service-behind-number": "SELECT * {{ ?x <a:b> 1SERVICE<{url}>{{ ?s ?p ?o }} }}",
    "service-in-comparison": "SELECT * {{ FILTER(?a<'&&?b>')SERVICE<{url}>{{ ?s ?p ?o }}FILTER(?c='') }}",
    "service-in-comment-like-iri": (
        "SELECT * {{ FILTER(?a<'&&?b>') BIND(<a:#> AS ?x) SERVICE <{url}> {{ ?s ?p ?o }} \n FILTER(?c='') }}"
    ),
    "service-between-quotes": "SELECT * {{ ?s <a:b> 'x' #'\nSERVICE <{url}> {{ ?s ?p ?o }} #'\n}}",
    "service-escaped": "SELECT * {{ SERV\\u0049CE <{url}> {{ ?s ?p ?o }} }}",
    "from": "SELECT * FROM <{url}> {{ ?s ?p ?o }}",
    "from-named": "SELECT * FROM NAMED <{url}> {{ GRAPH <{url}> {{ ?s ?p ?o }} }}",
    "from-prefixed": "PREFIX from: <{url}> CONSTRUCT {{ ?s ?p ?o }} FROM from: WHERE {{ ?s ?p ?o }}",
    "from-describe": "DESCRIBE ?s FROM <{url}> {{ ?s ?p ?o }}",
    "load": "LOAD <{url}>",
    "load-into": "PREFIX a: <a:> LOAD SILENT <{url}> INTO GRAPH <a:g>",
    "insert-service": "INSERT {{ ?s ?p ?o }} WHERE {{ SERVICE <{url}> {{ ?s ?p ?o }} }}",
    "copy": "COPY <{url}> TO DEFAULT",
}

_CROSS = " ".join(f"?a{i} ?b{i} ?c{i} ." for i in range(9))
_DOUBLING = " ".join(f"BIND(CONCAT(?s{i}, ?s{i}) AS ?s{i + 1})" for i in range(40))
_MILLION = 999_900  # with its fences still below the longest answer that is read


def _filled(head: str, part: str, tail: str) -> str:
    """A query of a million characters."""
    return head + part * ((_MILLION - len(head) - len(tail)) // len(part)) + tail


def _nested(depth: int, left: str, right: str = "") -> str:
    return f"SELECT * {{ ?s ?p ?o FILTER({left * depth}1{right * depth}) }}"


_COSTLY: dict[str, tuple[str, Callable[[], str]]] = {
    "cross-product": ("time: all combinations of nine triples", lambda: f"SELECT * {{ {_CROSS} }}"),
    "cross-product-counted": (
        "time without memory: combinations that are only counted",
        lambda: f"SELECT (COUNT(*) AS ?n) {{ {_CROSS} }}",
    ),
    "cross-product-sorted": ("memory: combinations that must be held", lambda: f"SELECT * {{ {_CROSS} }} ORDER BY ?c8"),
    "cross-product-distinct": ("memory: a set of combinations", lambda: f"SELECT DISTINCT * {{ {_CROSS} }}"),
    "path-any": (
        "time: paths over any property in both directions, three times",
        lambda: "SELECT * { ?a (<a:b>|!<a:b>|^<a:b>|^!<a:b>)* ?b . ?c (!<a:b>)* ?d . ?e (!<a:b>)+ ?f . ?g !<a:b> ?h }",
    ),
    "path-nested": ("time: repetition of repetitions", lambda: f"SELECT * {{ ?s {'(' * 40}!<a:b>{')*' * 40} ?o }}"),
    "path-long": ("depth: a path of 20,000 steps", lambda: f"SELECT * {{ ?s {'/'.join(['!<a:b>'] * 20_000)} ?o }}"),
    "regex-backtracking": (
        "time: a pattern that backtracks for ever",
        lambda: f"SELECT * {{ ?s ?p ?o FILTER(REGEX('{'a' * 5000}!', '^(a+)+$')) }}",
    ),
    "regex-huge": (
        "memory: a pattern that compiles to gigabytes",
        lambda: "SELECT * { ?s ?p ?o FILTER(REGEX(STR(?o), '((((a{1000}){1000}){1000}){1000})')) }",
    ),
    "replace-growing": (
        "memory: each replacement makes the text a thousand times longer",
        lambda: (
            "SELECT ?z { BIND('aaaaaaaaaa' AS ?a) "
            + " ".join(
                f"BIND(REPLACE(?{x}, 'a', '{'a' * 1000}') AS ?{y})" for x, y in zip("abcdef", "bcdefz", strict=True)
            )
            + " }"
        ),
    ),
    "text-doubling": (
        "memory: a text that is doubled forty times",
        lambda: f"SELECT ?s40 {{ BIND('0123456789' AS ?s0) {_DOUBLING} }}",
    ),
    "group-concat": (
        "memory: all combinations in one text",
        lambda: f"SELECT (GROUP_CONCAT(CONCAT(STR(?a0), STR(?a1), STR(?a2))) AS ?x) {{ {_CROSS} }}",
    ),
    "values-huge": (
        "a table of 200,000 rows in the query",
        lambda: _filled("SELECT * { VALUES ?x { ", "1 2 3 4 5 ", "} }"),
    ),
    "values-squared": (
        "time: two tables of 30,000 rows that are joined by nothing",
        lambda: f"SELECT * {{ VALUES ?x {{ {'1 ' * 30_000} }} VALUES ?y {{ {'2 ' * 30_000} }} }}",
    ),
    "offset-huge": (
        "numbers beyond 64 bits as limits",
        lambda: f"SELECT * {{ ?s ?p ?o }} OFFSET {'9' * 40} LIMIT {'9' * 40}",
    ),
    "offset-far": (
        "time: rows that are made only to be left out",
        lambda: f"SELECT * {{ {_CROSS} }} OFFSET 9000000000000000000",
    ),
    "unions": (
        "time and size: ten thousand alternatives",
        lambda: "SELECT * { " + " UNION ".join(["{ ?s ?p ?o }"] * 10_000) + " }",
    ),
    "unions-nested": (
        "depth: alternatives in alternatives",
        lambda: "SELECT * " + "{ { ?s ?p ?o } UNION " * 3000 + "{ ?s ?p ?o }" + " }" * 3000,
    ),
    "optionals": (
        "time: a chain of optional parts",
        lambda: "SELECT * { ?s ?p ?o " + " ".join(f"OPTIONAL {{ ?o{i} ?p{i} ?q{i} }}" for i in range(300)) + " }",
    ),
    "braces": ("depth: a hundred thousand groups", lambda: "SELECT * " + "{" * 100_000 + "}" * 100_000),
    "parentheses": ("depth: five thousand parentheses", lambda: _nested(5000, "(", ")")),
    "negations": ("depth: a hundred thousand negations", lambda: _nested(100_000, "!")),
    "minus-signs": ("depth: a hundred thousand signs", lambda: _nested(100_000, "-")),
    "ifs": ("depth: five thousand conditions", lambda: _nested(5000, "IF(1,1,", ")")),
    "exists-nested": (
        "depth and time: EXISTS in EXISTS",
        lambda: "SELECT * { ?s ?p ?o " + "FILTER EXISTS { ?x ?y ?z " * 200 + "}" * 200 + " }",
    ),
    "subqueries": ("depth: two thousand subqueries", lambda: "SELECT * { " * 2000 + "?s ?p ?o" + " }" * 2000),
    "blank-nodes": (
        "depth: nested blank nodes in a pattern",
        lambda: f"SELECT * {{ ?s ?p {'[ ?q ' * 3000}1{' ]' * 3000} }}",
    ),
    "lists": ("depth: nested lists in a pattern", lambda: f"SELECT * {{ ?s ?p {'( ' * 3000}1{' )' * 3000} }}"),
    "million-same": ("a query of a megabyte, all of it one word", lambda: _filled("SELECT ", "?x ", "{ ?x ?y ?z }")),
    "million-comment": (
        "a query of a megabyte, nearly all comment",
        lambda: _filled("SELECT * #", "'", "\n{ ?s ?p ?o }"),
    ),
    "million-quotes": ("a megabyte of quotation marks that never close", lambda: _filled("SELECT * { ", '"', "")),
    "million-less-than": (
        "a megabyte that may be comparison or IRI",
        lambda: _filled("SELECT * { FILTER(", "?a<", ") }"),
    ),
    "iri-long": ("an IRI of 900,000 characters", lambda: f"SELECT * {{ ?s <http://x/{'y' * 900_000}> ?o }}"),
    "prefixes-many": (
        "ten thousand declarations of prefixes",
        lambda: "".join(f"PREFIX p{i}: <http://x/{i}/>\n" for i in range(10_000)) + "SELECT * { ?s p1:a ?o }",
    ),
    "escape-nul": (
        "NUL by an escape, in an IRI and in a text",
        lambda: "SELECT * { ?s <a:\\u0000> '\\u0000\\U00000000' }",
    ),
    "escape-surrogate": ("half a character by an escape", lambda: "SELECT * { ?s ?p '\\uD800' . ?s <a:\\uDFFF> ?o }"),
    "escape-beyond": ("a character beyond the last", lambda: "SELECT * { ?s ?p '\\U00110000\\UFFFFFFFF' }"),
    "number-huge": (
        "numbers that no type holds",
        lambda: f"SELECT (1e999999999 AS ?a) ({'9' * 100_000} AS ?b) (-1e-999999999 AS ?c) {{ }}",
    ),
    "number-power": (
        "numbers that grow by each step",
        lambda: (
            "SELECT ?n8 { BIND(9999999999.5 AS ?n0) "
            + " ".join(f"BIND(?n{i} * ?n{i} AS ?n{i + 1})" for i in range(40))
            + " }"
        ),
    ),
    "random": (
        "a result that differs each time",
        lambda: "SELECT ?x ?y (NOW() AS ?t) { BIND(RAND() AS ?x) BIND(UUID() AS ?y) }",
    ),
    "columns-many": (
        "two thousand columns",
        lambda: f"SELECT {' '.join(f'(1 AS ?v{i})' for i in range(2000))} {{ ?s ?p ?o }}",
    ),
    "result-escapes": (
        "a result full of control characters and markup",
        lambda: "SELECT ?x { VALUES ?x { '\\u001B]0;owned\\u0007' '<script>alert(1)</script>' '\\u202Eabc' '=1+1' } }",
    ),
    "error-echo": (
        "an error message that holds an escape and markup",
        lambda: "SELECT * { \x1b]52;c;c2VjcmV0\x07 <script>alert(1)</script> \u202e }",
    ),
}

_UPDATES: dict[str, str] = {
    "insert": "INSERT DATA { <a:a> <a:b> <a:c> }",
    "delete-all": "DELETE WHERE { ?s ?p ?o }",
    "drop-all": "DROP ALL",
    "clear-all": "CLEAR SILENT ALL ; CREATE GRAPH <a:g>",
    "query-then-update": "SELECT * { ?s ?p ?o } ; DROP ALL",
    "file-from": "SELECT * FROM <file:///etc/passwd> FROM NAMED <file:///etc/hostname> { ?s ?p ?o }",
    "file-load": "LOAD <file:///etc/passwd>",
    "file-service": "SELECT * { SERVICE <file:///etc/passwd> { ?s ?p ?o } }",
    "name-lookup": "SELECT * { SERVICE <http://llmkg-hostile.invalid/> { ?s ?p ?o } }",
}


def _reaching(name: str, template: str) -> Hostile:
    # The comment makes texts without the word SELECT count as queries.
    attacks = "network: asks another server"
    return Hostile(f"reaching-{name}", attacks, lambda url: block(template.format(url=url) + "\n# SELECT", "sparql"))


def _costly(name: str, attacks: str, query: Callable[[], str]) -> Hostile:
    return Hostile(f"sparql-{name}", attacks, lambda _url: block(query(), "sparql"))


def _update(name: str, text: str) -> Hostile:
    attacks = "the graph, files or the resolver: an update, or an address that is no server"
    return Hostile(f"update-{name}", attacks, lambda _url: block(text + "\n# SELECT", "sparql"))


QUERIES: tuple[Hostile, ...] = (
    *(_reaching(*item) for item in REACHING.items()),
    *(_costly(name, *entry) for name, entry in _COSTLY.items()),
    *(_update(*item) for item in _UPDATES.items()),
)
