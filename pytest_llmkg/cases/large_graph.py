"""A fictional museum network of about 100,000 triples: the same bytes for the same seed in every process.

Names of museums, towns and materials are fixed; what the museums hold, lend and show is drawn, with few large
collections and many small ones.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from pytest_llmkg.cases import large_names as names
from pytest_llmkg.contracts import GraphText

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["DATA", "LARGE_SEED", "TERMS", "large_graph"]

LARGE_SEED = 2718
"""Seed of the graph that the shipped cases ask about."""
DATA = "https://kg.example/museums/"
"""Namespace of museums, objects and everything else that is described."""
TERMS = "https://kg.example/museum-terms#"
"""Namespace of classes and properties."""

_RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_LABEL = f"<{_RDFS}label>"
_ARTISTS = 520
_CURATORS = 110
_OBJECTS = 7_400
_EXHIBITIONS = 560
_LOANS = 1_750
_FIRST_YEAR, _LAST_YEAR = 1880, 2023  # of acquisitions


def large_graph(seed: int = LARGE_SEED) -> GraphText:
    """The graph as N-Triples, which Turtle parsers read, too; so its format is called Turtle, as what prompts show.

    Args:
        seed: another seed gives other holdings with the same vocabulary and the same museums.
    """
    draw = random.Random(seed)  # noqa: S311  (no secret)
    artists = _artist_names(draw)
    lines = [
        *_schema(),
        *_places(draw),
        *_materials(),
        *_artists(draw, artists),
        *_curators(draw),
        *_objects(draw),
        *_exhibitions(draw),
        *_loans(draw),
    ]
    return GraphText("\n".join(lines) + "\n", "turtle")


def _schema() -> Iterator[str]:
    for name, parent, label in names.CLASSES:
        yield f"{_term(name)} {_RDF_TYPE} <{_OWL}Class> ."
        yield f'{_term(name)} {_LABEL} "{label}"@en .'
        if parent:
            yield f"{_term(name)} <{_RDFS}subClassOf> {_term(parent)} ."
    for name, domain, target, label in names.PROPERTIES:
        is_literal = target.startswith("xsd:")
        kind = "DatatypeProperty" if is_literal else "ObjectProperty"
        yield f"{_term(name)} {_RDF_TYPE} <{_OWL}{kind}> ."
        yield f'{_term(name)} {_LABEL} "{label}"@en .'
        yield f"{_term(name)} <{_RDFS}domain> {_term(domain)} ."
        found = f"<{_XSD}{target.removeprefix('xsd:')}>" if is_literal else _term(target)
        yield f"{_term(name)} <{_RDFS}range> {found} ."


def _places(draw: random.Random) -> Iterator[str]:
    for region, towns in names.REGIONS.items():
        yield from _described(_slug(region), "Region", region)
        for town in towns:
            yield from _described(_slug(town), "Town", town)
            yield f"{_data(_slug(town))} {_term('inRegion')} {_data(_slug(region))} ."
            yield f"{_data(_slug(town))} {_term('population')} {_integer(int(900 * draw.paretovariate(1.3)))} ."
    for museum, town, parent, foreign in names.MUSEUMS:
        node = _data(_slug(museum))
        yield from _described(_slug(museum), "Museum", museum)
        for language, label in foreign.items():
            yield f'{node} {_LABEL} "{label}"@{language} .'
        yield f"{node} {_term('inTown')} {_data(_slug(town))} ."
        yield f"{node} {_term('founded')} {_integer(draw.randint(1760, 1985))} ."
        if parent:
            yield f"{node} {_term('branchOf')} {_data(_slug(parent))} ."


def _materials() -> Iterator[str]:
    for broader, narrower in names.MATERIALS.items():
        yield from _described(_slug(broader), "Material", broader)
        for material in narrower:
            yield from _described(_slug(material), "Material", material)
            yield f"{_data(_slug(material))} {_term('kindOf')} {_data(_slug(broader))} ."


def _artist_names(draw: random.Random) -> list[str]:
    pairs = [f"{first} {last}" for first in names.FIRST_NAMES for last in names.LAST_NAMES]
    draw.shuffle(pairs)
    return pairs[:_ARTISTS]


def _artists(draw: random.Random, artists: Sequence[str]) -> Iterator[str]:
    born = sorted(draw.randint(1560, 1960) for _ in artists)
    for i, name in enumerate(artists):
        node = _data(f"artist-{i + 1}")
        yield f"{node} {_RDF_TYPE} {_term('Artist')} ."
        yield f'{node} {_term("name")} "{name}" .'
        yield f"{node} {_term('born')} {_integer(born[i])} ."
        if born[i] < 1935:
            yield f"{node} {_term('died')} {_integer(born[i] + draw.randint(27, 88))} ."
        if i > 20 and draw.random() < 0.45:  # a teacher is some years older, since artists are in order of birth
            yield f"{node} {_term('pupilOf')} {_data(f'artist-{i - draw.randint(8, 20)}')} ."


def _curators(draw: random.Random) -> Iterator[str]:
    for i in range(_CURATORS):
        node = _data(f"curator-{i + 1}")
        name = f"{names.FIRST_NAMES[i % len(names.FIRST_NAMES)]} {draw.choice(names.CURATOR_NAMES)}"
        yield f"{node} {_RDF_TYPE} {_term('Curator')} ."
        yield f'{node} {_term("name")} "{name}" .'
        yield f"{node} {_term('worksAt')} {_museum(draw)} ."


def _objects(draw: random.Random) -> Iterator[str]:
    kinds = list(names.KINDS)
    for i in range(1, _OBJECTS + 1):
        kind = draw.choices(kinds, [names.KINDS[k].weight for k in kinds])[0]
        node, year = _data(f"object-{i}"), draw.randint(1580, 2010)
        acquired = draw.randint(max(year, _FIRST_YEAR), _LAST_YEAR)
        label = f"{draw.choice(names.ADJECTIVES)} {draw.choice(names.KINDS[kind].nouns)}"
        yield f"{node} {_RDF_TYPE} {_term(kind)} ."
        yield f"{node} {_RDF_TYPE} {_term('Object')} ."
        yield f'{node} {_LABEL} "{label}"@en .'
        yield f'{node} {_term("number")} "{acquired}.{i}" .'
        yield f"{node} {_term('heldBy')} {_museum(draw)} ."
        yield f"{node} {_term('madeOf')} {_data(_slug(draw.choice(names.KINDS[kind].materials)))} ."
        yield f"{node} {_term('year')} {_integer(year)} ."
        # A last digit of 5 keeps engines from writing the decimal in different ways (1.5 and 1.50).
        yield f'{node} {_term("weight")} "{draw.lognormvariate(0.8, 1.3) + 0.1:.2f}5"^^<{_XSD}decimal> .'
        yield f"{node} {_term('acquired')} {_date(draw, acquired)} ."
        if draw.random() < 0.7:
            yield f"{node} {_term('madeBy')} {_skewed(draw, 'artist', _ARTISTS)} ."
        if draw.random() < 0.6:
            yield f"{node} {_term('insured')} {_integer(round(draw.lognormvariate(8.5, 1.4)) * 10)} ."
        if draw.random() < 0.2:
            yield from _inspection(draw, node, i)


def _inspection(draw: random.Random, node: str, i: int) -> Iterator[str]:
    yield f"{node} {_term('inspected')} _:inspection{i} ."
    yield f"_:inspection{i} {_RDF_TYPE} {_term('Inspection')} ."
    yield f"_:inspection{i} {_term('grade')} {_integer(draw.choices(range(1, 6), (30, 35, 20, 10, 5))[0])} ."
    if draw.random() < 0.9:
        yield f"_:inspection{i} {_term('on')} {_date(draw, draw.randint(2015, 2024))} ."


def _exhibitions(draw: random.Random) -> Iterator[str]:
    for i in range(1, _EXHIBITIONS + 1):
        node, year = _data(f"exhibition-{i}"), draw.randint(1990, 2024)
        yield from _described(f"exhibition-{i}", "Exhibition", f"{draw.choice(names.THEMES)} {year}-{i}")
        yield f"{node} {_term('hostedBy')} {_museum(draw)} ."
        yield f"{node} {_term('curatedBy')} {_skewed(draw, 'curator', _CURATORS)} ."
        yield f"{node} {_term('opened')} {_date(draw, year)} ."
        if draw.random() < 0.9:
            visitors = 200 + int(900 * draw.paretovariate(1.1))
            yield f"{node} {_term('visitors')} {_integer(visitors)} ."
        if draw.random() < 0.3:
            yield f'{node} {_term("rating")} "{draw.randint(20, 79) / 16}"^^<{_XSD}double> .'
        for number in draw.sample(range(1, _OBJECTS + 1), draw.randint(2, 14)):
            yield f"{node} {_term('shows')} {_data(f'object-{number}')} ."


def _loans(draw: random.Random) -> Iterator[str]:
    for i in range(1, _LOANS + 1):
        node, year = _data(f"loan-{i}"), draw.randint(1995, 2024)
        yield f"{node} {_RDF_TYPE} {_term('Loan')} ."
        yield f"{node} {_term('item')} {_data(f'object-{draw.randint(1, _OBJECTS)}')} ."
        yield f"{node} {_term('borrower')} {_museum(draw)} ."
        yield f"{node} {_term('start')} {_date(draw, year)} ."
        if draw.random() < 0.85:
            yield f"{node} {_term('end')} {_date(draw, year + draw.randint(1, 3))} ."


def _described(local: str, kind: str, label: str) -> Iterator[str]:
    yield f"{_data(local)} {_RDF_TYPE} {_term(kind)} ."
    yield f'{_data(local)} {_LABEL} "{label}"@en .'


def _museum(draw: random.Random) -> str:
    """One of the museums; the nth is drawn about 1/n as often as the first."""
    return _data(_slug(names.MUSEUMS[_rank(draw, len(names.MUSEUMS))][0]))


def _skewed(draw: random.Random, kind: str, count: int) -> str:
    # The multiplier scatters the frequent ones over all birth years; it shares no factor with the counts.
    return _data(f"{kind}-{_rank(draw, count) * 37 % count + 1}")


def _rank(draw: random.Random, count: int) -> int:
    """A number from 0 below ``count`` with density 1/(n+1): the inverse of its distribution function."""
    return int((count + 1) ** draw.random()) - 1


def _date(draw: random.Random, year: int) -> str:
    return f'"{year}-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}"^^<{_XSD}date>'


def _integer(value: int) -> str:
    return f'"{value}"^^<{_XSD}integer>'


def _term(name: str) -> str:
    return f"<{TERMS}{name}>"


def _data(local: str) -> str:
    return f"<{DATA}{local}>"


def _slug(label: str) -> str:
    return label.lower().replace(" ", "-").replace("'", "")
