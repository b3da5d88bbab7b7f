"""A fictional maker of lifts as a graph of about 40,000 triples: the same bytes for the same seed in every process.

Its departments, employees, products, orders and service visits look like an enterprise's, with few large customers and
many small ones. Some facts are left out on purpose, so that OPTIONAL and negation have something to find.
"""

from __future__ import annotations

import datetime as dt
import random
from typing import TYPE_CHECKING

from pytest_llmkg.cases import company_names as names
from pytest_llmkg.cases.company_vocabulary import (
    RDF_TYPE,
    date_of,
    described,
    node_of,
    schema,
    term_of,
    text_of,
    triple,
    typed,
)
from pytest_llmkg.contracts import GraphText

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["COMPANY_SEED", "company_graph"]

COMPANY_SEED = 4242
"""Seed of the graph that the shipped questions ask about."""

_LANGUAGES = ("en", "de", "es")
_EMPLOYEES = 430
_PRODUCTS = 72
_COMPONENTS = 600
_CUSTOMERS = 170
_ORDERS = 820
_INSTALLATIONS = 640
_VISITS = 1_100
_COURSES = 64
_TODAY = dt.date(2025, 6, 30)  # nothing happens later


def company_graph(seed: int = COMPANY_SEED) -> GraphText:
    """The graph as N-Triples, which Turtle parsers read, too.

    Args:
        seed: another seed gives other people, products and orders with the same vocabulary and departments.
    """
    draw = random.Random(seed)  # noqa: S311  (no secret)
    lines = [
        *schema(),
        *_places(draw),
        *_skills(),
        *_employees(draw),
        *_products(draw),
        *_suppliers(draw),
        *_components(draw),
        *_bills(draw),
        *_customers(draw),
        *_orders(draw),
        *_installations(draw),
        *_visits(draw),
        *_courses(draw),
    ]
    return GraphText("\n".join(lines) + "\n", "turtle")


def _places(draw: random.Random) -> Iterator[str]:
    for number, (town, country, opened) in enumerate(names.SITES):
        node = node_of("site", number)
        yield from described(node, term_of("Site"), {"en": f"{town} site", "de": f"Werk {town}", "es": f"Sede {town}"})
        yield triple(node, "locality", text_of(town))
        yield triple(node, "country", text_of(country))
        yield triple(node, "openedOn", typed(opened, "date"))
    for number, (*labels, parent, site) in enumerate(names.DEPARTMENTS):
        node = node_of("department", number)
        yield from described(node, term_of("Department"), dict(zip(_LANGUAGES, map(str, labels), strict=True)))
        yield triple(node, "locatedAt", node_of("site", int(site)))
        yield triple(node, "headedBy", node_of("employee", number))
        yield triple(node, "budget", typed(f"{draw.randint(180, 4200) * 1000 + number}.50", "decimal"))
        if int(parent) >= 0:
            yield triple(node, "partOf", node_of("department", int(parent)))


def _skills() -> Iterator[str]:
    for number, labels in enumerate(names.SKILLS):
        yield from described(node_of("skill", number), term_of("Skill"), dict(zip(_LANGUAGES, labels, strict=True)))


def _employees(draw: random.Random) -> Iterator[str]:
    people = [(first, last) for last in names.LAST_NAMES for first in names.FIRST_NAMES]
    draw.shuffle(people)
    heads = len(names.DEPARTMENTS)
    for number in range(_EMPLOYEES):
        first, last = people[number]
        node, department = node_of("employee", number), number if number < heads else 1 + _rank(draw, heads - 1)
        yield f"{node} {RDF_TYPE} {term_of('Manager' if number < heads else 'Employee')} ."
        yield triple(node, "name", text_of(f"{first} {last}"))
        yield triple(node, "email", text_of(f"{_ascii(first)}.{_ascii(last)}@liftworks.example"))
        yield triple(node, "role", text_of("head" if number < heads else draw.choice(names.ROLES)))
        salary = draw.randint(29_000, 78_000) + (45_000 if number < heads else 0)
        yield triple(node, "salary", typed(salary, "integer"))
        hired = _day(draw, 1988, 2024)
        yield triple(node, "hiredOn", date_of(hired))
        yield triple(node, "worksIn", node_of("department", department))
        parent = int(names.DEPARTMENTS[department][3])
        superior = department if number >= heads else parent
        if superior >= 0:
            yield triple(node, "reportsTo", node_of("employee", superior))
        if draw.random() < 0.8:
            yield triple(node, "phone", text_of(f"+00 {draw.randint(100, 999)} {draw.randint(10_000, 99_999)}"))
        if number >= heads and draw.random() < 0.07:
            yield triple(node, "leftOn", date_of(_later(draw, hired)))
        for code in draw.sample(("cs", "de", "en", "es", "no", "pt"), draw.choice((1, 1, 2, 2, 3))):
            yield triple(node, "speaks", text_of(code))
        for skill in draw.sample(range(len(names.SKILLS)), draw.choice((0, 1, 1, 2, 2, 3, 4))):
            yield triple(node, "hasSkill", node_of("skill", skill))


def _products(draw: random.Random) -> Iterator[str]:
    for number, (title, *labels) in enumerate(names.LINES):
        texts = {code: f"{title} {label}" for code, label in zip(_LANGUAGES, labels, strict=True)}
        yield from described(node_of("line", number), term_of("ProductLine"), texts)
    for number in range(_PRODUCTS):
        line, model = number % len(names.LINES), number // len(names.LINES)
        node = node_of("product", number)
        yield from described(node, term_of("Product"), {"en": f"{names.LINES[line][0]} {(model + 1) * 100 + line * 5}"})
        yield triple(node, "inLine", node_of("line", line))
        yield triple(node, "launchedOn", date_of(_day(draw, 1998 + model * 2, 1999 + model * 2)))
        yield triple(node, "listPrice", typed(f"{draw.randint(900, 9_800) * 10 + number}.95", "decimal"))
        yield triple(node, "maxLoad", typed(draw.randint(4, 80) * 25, "integer"))
        is_old = draw.random() < 0.5 - model * 0.05
        yield triple(node, "discontinued", typed(str(is_old).lower(), "boolean"))
        if draw.random() < 0.85:
            yield triple(node, "designedBy", node_of("employee", draw.randrange(16, 56)))
        if model and draw.random() < 0.6:
            yield triple(node, "replaces", node_of("product", number - len(names.LINES)))


def _suppliers(draw: random.Random) -> Iterator[str]:
    for number, (name, ending) in enumerate((n, e) for e in names.SUPPLIER_ENDINGS for n in names.SUPPLIER_NAMES):
        node = node_of("supplier", number)
        yield from _organisation(draw, node, "Supplier", f"{name} {ending}")
        yield triple(node, "certified", typed("true" if draw.random() < 0.7 else "false", "boolean"))
        if draw.random() < 0.85:
            yield triple(node, "rating", typed(f"{draw.randint(10, 50) / 10:.1f}", "decimal"))


def _components(draw: random.Random) -> Iterator[str]:
    for number in range(_COMPONENTS):
        node = node_of("component", number)
        kind = names.COMPONENTS[number % len(names.COMPONENTS)]
        label = f"{draw.choice(names.ADJECTIVES)} {kind} {number // len(names.COMPONENTS) + 1}"
        yield from described(node, term_of("Component"), {"en": label})
        yield triple(node, "material", text_of(draw.choice(names.MATERIALS)))
        yield triple(node, "unitCost", typed(f"{draw.lognormvariate(3.6, 1.1) + 0.5:.2f}5", "decimal"))
        if draw.random() < 0.92:
            yield triple(node, "suppliedBy", node_of("supplier", _rank(draw, 60)))


def _bills(draw: random.Random) -> Iterator[str]:
    number = 0
    for product in range(_PRODUCTS):
        for component in draw.sample(range(_COMPONENTS), draw.randint(9, 22)):
            node = node_of("bom", number)
            number += 1
            yield f"{node} {RDF_TYPE} {term_of('BomLine')} ."
            yield triple(node, "ofProduct", node_of("product", product))
            yield triple(node, "usesComponent", node_of("component", component))
            yield triple(node, "quantity", typed(draw.choice((1, 1, 1, 2, 2, 4, 6, 8)), "integer"))


def _customers(draw: random.Random) -> Iterator[str]:
    pairs = [(name, sector) for name in names.CUSTOMER_NAMES for sector in names.SECTORS]
    draw.shuffle(pairs)
    for number in range(_CUSTOMERS):
        name, sector = pairs[number]
        node = node_of("customer", number)
        yield from _organisation(draw, node, "Customer", f"{name} {names.CUSTOMER_KINDS[sector]}")
        yield triple(node, "sector", text_of(sector))
        yield triple(node, "customerSince", date_of(_day(draw, 1990, 2018)))
        if draw.random() < 0.7:
            yield triple(node, "contactEmail", text_of(f"office@{name.lower()}-{sector}.example"))


def _orders(draw: random.Random) -> Iterator[str]:
    line = 0
    for number in range(_ORDERS):
        node = node_of("order", number)
        yield f"{node} {RDF_TYPE} {term_of('Order')} ."
        yield triple(node, "placedBy", node_of("customer", _rank(draw, _CUSTOMERS)))
        yield triple(node, "placedOn", date_of(_day(draw, 2019, 2025)))
        yield triple(node, "status", text_of(draw.choices(names.STATES, (75, 17, 8))[0]))
        if draw.random() < 0.95:
            yield triple(node, "handledBy", node_of("employee", draw.randrange(120)))
        for product in draw.sample(range(_PRODUCTS), draw.choice((1, 1, 1, 2, 2, 3))):
            part = node_of("line-item", line)
            line += 1
            yield f"{part} {RDF_TYPE} {term_of('OrderLine')} ."
            yield triple(part, "ofOrder", node)
            yield triple(part, "ofProduct", node_of("product", product))
            yield triple(part, "quantity", typed(draw.choice((1, 1, 1, 2, 2, 3, 5)), "integer"))
            yield triple(part, "unitPrice", typed(f"{draw.randint(800, 9_900) * 10 + 5}.45", "decimal"))
            if draw.random() < 0.25:
                yield triple(part, "discount", typed(draw.choice((3, 5, 10, 15)), "integer"))


def _installations(draw: random.Random) -> Iterator[str]:
    for number in range(_INSTALLATIONS):
        node = node_of("installation", number)
        yield f"{node} {RDF_TYPE} {term_of('Installation')} ."
        yield triple(node, "ofProduct", node_of("product", _rank(draw, _PRODUCTS - 5)))
        yield triple(node, "installedFor", node_of("customer", _rank(draw, _CUSTOMERS)))
        yield triple(node, "installedOn", date_of(_day(draw, 2005, 2025)))
        if draw.random() < 0.9:
            yield triple(node, "floors", typed(draw.randint(2, 24), "integer"))


def _visits(draw: random.Random) -> Iterator[str]:
    for number in range(_VISITS):
        node = node_of("visit", number)
        yield f"{node} {RDF_TYPE} {term_of('ServiceVisit')} ."
        yield triple(node, "ofInstallation", node_of("installation", _rank(draw, _INSTALLATIONS)))
        yield triple(node, "doneBy", node_of("employee", 150 + _rank(draw, 90)))
        yield triple(node, "visitedOn", date_of(_day(draw, 2022, 2025)))
        yield triple(node, "minutes", typed(draw.randint(3, 60) * 5, "integer"))
        if draw.random() < 0.95:
            yield triple(node, "outcome", text_of(draw.choices(names.OUTCOMES, (60, 25, 15))[0]))


def _courses(draw: random.Random) -> Iterator[str]:
    for number in range(_COURSES):
        node, skill = node_of("course", number), number % len(names.SKILLS)
        label = f"{names.SKILLS[skill][0].capitalize()} course {number // len(names.SKILLS) + 1}"
        yield from described(node, term_of("Course"), {"en": label})
        yield triple(node, "teaches", node_of("skill", skill))
        yield triple(node, "heldOn", date_of(_day(draw, 2021, 2025)))
        people = draw.sample(range(_EMPLOYEES), draw.randint(4, 13))
        yield triple(node, "taughtBy", node_of("employee", people[0]))
        for person in people[1:]:
            yield triple(node, "attendedBy", node_of("employee", person))


def _organisation(draw: random.Random, node: str, kind: str, name: str) -> Iterator[str]:
    yield f"{node} {RDF_TYPE} {term_of(kind)} ."
    yield triple(node, "name", text_of(name))
    yield triple(node, "locality", text_of(draw.choice(names.LOCALITIES)))
    yield triple(node, "country", text_of(draw.choice(names.COUNTRIES)))


def _rank(draw: random.Random, count: int) -> int:
    """A number from 0 below ``count``; small ones are drawn more often."""
    return int((count + 1) ** draw.random()) - 1 if draw.random() < 0.5 else draw.randrange(count)


def _day(draw: random.Random, first: int, last: int) -> dt.date:
    start = dt.date(first, 1, 1)
    end = min(dt.date(last, 12, 31), _TODAY)
    return start + dt.timedelta(days=draw.randrange((end - start).days + 1))


def _later(draw: random.Random, day: dt.date) -> dt.date:
    return day + dt.timedelta(days=draw.randrange(1, (_TODAY - day).days + 1))


def _ascii(name: str) -> str:
    return name.lower().replace("ö", "oe").replace("í", "i")
