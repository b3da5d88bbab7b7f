"""Classes and properties of the maker of lifts, and how its triples are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping

__all__ = [
    "CLASSES",
    "DATA",
    "PROPERTIES",
    "RDF_TYPE",
    "TERMS",
    "date_of",
    "described",
    "node_of",
    "schema",
    "term_of",
    "text_of",
    "triple",
    "typed",
]

DATA = "https://kg.example/liftworks/"
"""Namespace of everything that is described."""
TERMS = "https://kg.example/liftworks-terms#"
"""Namespace of classes and properties."""
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_XSD = "http://www.w3.org/2001/XMLSchema#"

# Name, superclass, label.
CLASSES: tuple[tuple[str, str, str], ...] = (
    ("Site", "", "site"),
    ("Department", "", "department"),
    ("Person", "", "person"),
    ("Employee", "Person", "employee"),
    ("Manager", "Employee", "manager"),
    ("Skill", "", "skill"),
    ("ProductLine", "", "product line"),
    ("Product", "", "product"),
    ("Component", "", "component"),
    ("BomLine", "", "line of a bill of materials"),
    ("Organisation", "", "organisation"),
    ("Supplier", "Organisation", "supplier"),
    ("Customer", "Organisation", "customer"),
    ("Order", "", "order"),
    ("OrderLine", "", "order line"),
    ("Installation", "", "installed lift"),
    ("ServiceVisit", "", "service visit"),
    ("Course", "", "training course"),
)

# Name, domain, range, label.
PROPERTIES: tuple[tuple[str, str, str, str], ...] = (
    ("name", "Person", "xsd:string", "full name of a person or an organisation"),
    ("email", "Employee", "xsd:string", "e-mail address"),
    ("phone", "Employee", "xsd:string", "telephone number"),
    ("role", "Employee", "xsd:string", "what an employee works as"),
    ("salary", "Employee", "xsd:integer", "gross salary a year in euros"),
    ("hiredOn", "Employee", "xsd:date", "first day at work"),
    ("leftOn", "Employee", "xsd:date", "last day at work"),
    ("worksIn", "Employee", "Department", "department of an employee"),
    ("reportsTo", "Employee", "Employee", "direct superior"),
    ("speaks", "Employee", "xsd:string", "code of a language that an employee speaks"),
    ("hasSkill", "Employee", "Skill", "skill of an employee"),
    ("headedBy", "Department", "Manager", "head of a department"),
    ("partOf", "Department", "Department", "department that a department belongs to"),
    ("locatedAt", "Department", "Site", "site of a department"),
    ("budget", "Department", "xsd:decimal", "budget of the year in euros"),
    ("locality", "Site", "xsd:string", "town of a site or an organisation"),
    ("country", "Site", "xsd:string", "country of a site or an organisation"),
    ("openedOn", "Site", "xsd:date", "day of the opening"),
    ("inLine", "Product", "ProductLine", "product line of a product"),
    ("launchedOn", "Product", "xsd:date", "first day of sale"),
    ("discontinued", "Product", "xsd:boolean", "whether it is sold no longer"),
    ("listPrice", "Product", "xsd:decimal", "price in euros"),
    ("maxLoad", "Product", "xsd:integer", "load in kilograms"),
    ("designedBy", "Product", "Employee", "designer"),
    ("replaces", "Product", "Product", "product that it takes the place of"),
    ("ofProduct", "BomLine", "Product", "product of a line or an installation"),
    ("usesComponent", "BomLine", "Component", "component in a bill of materials"),
    ("quantity", "BomLine", "xsd:integer", "number of pieces"),
    ("material", "Component", "xsd:string", "main material"),
    ("unitCost", "Component", "xsd:decimal", "cost of a piece in euros"),
    ("suppliedBy", "Component", "Supplier", "supplier of a component"),
    ("certified", "Supplier", "xsd:boolean", "whether the quality management is certified"),
    ("rating", "Supplier", "xsd:decimal", "rating from 1 (poor) to 5 (excellent)"),
    ("sector", "Customer", "xsd:string", "line of business"),
    ("customerSince", "Customer", "xsd:date", "first order or contract"),
    ("contactEmail", "Customer", "xsd:string", "e-mail address for questions"),
    ("placedBy", "Order", "Customer", "customer of an order"),
    ("placedOn", "Order", "xsd:date", "day of the order"),
    ("handledBy", "Order", "Employee", "clerk of an order"),
    ("status", "Order", "xsd:string", "open, delivered or cancelled"),
    ("ofOrder", "OrderLine", "Order", "order of a line"),
    ("unitPrice", "OrderLine", "xsd:decimal", "price of a piece in euros"),
    ("discount", "OrderLine", "xsd:integer", "discount in per cent"),
    ("installedFor", "Installation", "Customer", "owner of an installed lift"),
    ("installedOn", "Installation", "xsd:date", "day of the installation"),
    ("floors", "Installation", "xsd:integer", "number of floors that it serves"),
    ("ofInstallation", "ServiceVisit", "Installation", "installed lift that was visited"),
    ("doneBy", "ServiceVisit", "Employee", "technician of a visit"),
    ("visitedOn", "ServiceVisit", "xsd:date", "day of a visit"),
    ("minutes", "ServiceVisit", "xsd:integer", "length of a visit"),
    ("outcome", "ServiceVisit", "xsd:string", "fixed, follow-up or no-fault"),
    ("teaches", "Course", "Skill", "skill that a course teaches"),
    ("heldOn", "Course", "xsd:date", "day of a course"),
    ("attendedBy", "Course", "Employee", "participant"),
    ("taughtBy", "Course", "Employee", "teacher"),
)


def schema() -> Iterator[str]:
    """The triples about classes and properties."""
    for name, parent, label in CLASSES:
        yield from described(term_of(name), f"<{_OWL}Class>", {"en": label})
        if parent:
            yield f"{term_of(name)} <{_RDFS}subClassOf> {term_of(parent)} ."
    for name, domain, target, label in PROPERTIES:
        is_literal = target.startswith("xsd:")
        kind = "DatatypeProperty" if is_literal else "ObjectProperty"
        yield from described(term_of(name), f"<{_OWL}{kind}>", {"en": label})
        yield f"{term_of(name)} <{_RDFS}domain> {term_of(domain)} ."
        found = f"<{_XSD}{target.removeprefix('xsd:')}>" if is_literal else term_of(target)
        yield f"{term_of(name)} <{_RDFS}range> {found} ."


def described(node: str, kind: str, labels: Mapping[str, str]) -> Iterator[str]:
    """The class and the labels by language of ``node``."""
    yield f"{node} {RDF_TYPE} {kind} ."
    for code, label in labels.items():
        yield f"{node} <{_RDFS}label> {text_of(label)}@{code} ."


def triple(subject: str, name: str, value: str) -> str:
    """A line with a property of this vocabulary."""
    return f"{subject} {term_of(name)} {value} ."


def term_of(name: str) -> str:
    """The IRI of a class or property."""
    return f"<{TERMS}{name}>"


def node_of(kind: str, number: int) -> str:
    """The IRI of a thing; ``number`` counts from 0."""
    return f"<{DATA}{kind}-{number + 1}>"


def text_of(text: str) -> str:
    """A string, which must not need escapes."""
    return f'"{text}"'


def typed(value: object, datatype: str) -> str:
    """A literal of a datatype of XML Schema."""
    return f'"{value}"^^<{_XSD}{datatype}>'


def date_of(day: dt.date) -> str:
    """A date."""
    return typed(day.isoformat(), "date")
