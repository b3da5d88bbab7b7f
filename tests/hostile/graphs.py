"""RDF that grows, nests, reaches outside or breaks parsers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.hostile.answer import Hostile, block

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DEEP", "GRAPHS", "NESTED", "entities"]

NESTED = 5000
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DEEP = {
    "turtle": [
        "<a:a> <a:b> " + "[ <a:b> " * NESTED + "1" + "]" * NESTED + " .",
        "<a:a> <a:b> " + "(" * NESTED + ")" * NESTED + " .",
    ],
    "json-ld": ["[" * NESTED + "]" * NESTED, '{"http://e/a":' * NESTED + "1" + "}" * NESTED],
}


def entities(levels: int) -> str:
    """RDF/XML with one literal that is ten times longer for each level."""
    lines = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, levels))
    return _xml(f'<!ENTITY e0 "ha">{lines}', f"&e{levels - 1};")


def _xml(declarations: str, value: str) -> str:
    return (
        f'<!DOCTYPE r [{declarations}]><rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://e/">'
        f'<rdf:Description rdf:about="a:a"><e:p>{value}</e:p></rdf:Description></rdf:RDF>'
    )


def _million_triples() -> str:
    """Nearly a million characters of the shortest triples."""
    return "@prefix : <a:> .\n:a :b " + ",".join(map(str, range(150_000))) + " ."


def _long_lines() -> str:
    return "".join(f"<a:{i}> <a:b> broken {i} .\n" for i in range(30_000))


_LITERALS = " , ".join(
    [
        '"1e999999999"^^<http://www.w3.org/2001/XMLSchema#double>',
        f'"{"9" * 100_000}"^^<http://www.w3.org/2001/XMLSchema#integer>',
        "1e999999999",
        "-1e-999999999",
        '"1E+999999999"^^<http://www.w3.org/2001/XMLSchema#decimal>',
        f'"0.{"3" * 100_000}"^^<http://www.w3.org/2001/XMLSchema#decimal>',
    ]
)
_DATES = " , ".join(
    f'"{value}"^^<http://www.w3.org/2001/XMLSchema#{kind}>'
    for kind, value in (
        ("date", "99999999999-99-99"),
        ("dateTime", "-0001-13-45T99:99:99.999999999999999999Z"),
        ("gYear", "9" * 5000),
        ("duration", f"P{'9' * 5000}Y"),
        ("time", "25:61:61"),
        ("hexBinary", "f" * 99_999),
        ("base64Binary", "====" * 999),
        ("boolean", "maybe"),
    )
)

# Tag of the block, what is attacked, and the text.
_TEXTS: dict[str, tuple[str, str, Callable[[str], str]]] = {
    "entities": ("xml", "memory: entities that grow tenfold twelve times", lambda _: entities(12)),
    "entities-quadratic": (
        "xml",
        "memory: one long entity, repeated",
        lambda _: _xml(f'<!ENTITY e "{"x" * 100_000}">', "&e;" * 100_000),
    ),
    "entity-file": (
        "xml",
        "files: an entity from a file",
        lambda _: _xml('<!ENTITY e SYSTEM "file:///etc/passwd">', "&e;"),
    ),
    "entity-remote": (
        "xml",
        "network: an entity from a server",
        lambda url: _xml(f'<!ENTITY e SYSTEM "{url}">', "&e;"),
    ),
    "entity-parameter": (
        "xml",
        "network: a parameter entity that loads further declarations",
        lambda url: _xml(f'<!ENTITY % p SYSTEM "{url}">%p;', "x"),
    ),
    "dtd-remote": (
        "xml",
        "network: a document type from a server",
        lambda url: f'<?xml version="1.0"?><!DOCTYPE r SYSTEM "{url}"><r/>',
    ),
    "xml-deep": ("xml", "depth: 20,000 elements", lambda _: "<a>" * 20_000 + "</a>" * 20_000),
    "xml-attributes": (
        "xml",
        "size: one element with 50,000 attributes",
        lambda _: (
            f'<r:RDF xmlns:r="{RDF}" xmlns:e="e:"><r:Description '
            + " ".join(f'e:a{i}="1"' for i in range(50_000))
            + "/></r:RDF>"
        ),
    ),
    "context-remote": ("json", "network: a context from a server", lambda url: f'{{"@context": "{url}", "a": 1}}'),
    "context-import": (
        "json",
        "network: an imported context",
        lambda url: f'{{"@context": {{"@import": "{url}"}}, "a": 1}}',
    ),
    "context-nested": (
        "json",
        "network: a context from a server, inside another one",
        lambda url: f'[{{"a:a": {{"@context": [[{{"b": {{"@id": "b:b", "@context": "{url}"}}}}]], "b": 1}}}}]',
    ),
    "context-file": ("json", "files: a context from a file", lambda _: '{"@context": "file:///etc/passwd", "a": 1}'),
    "context-recursive": (
        "json",
        "depth: a term that is defined by itself",
        lambda _: (
            '{"@context": {"a": "b:x", "b": "c:y", "c": "a:z", "d": {"@id": "d", "@context": {"d": "d:d"}}}, "a": 1}'
        ),
    ),
    "contexts-nested": (
        "json",
        "time: contexts in contexts in contexts",
        lambda _: '{"@context": {"a": {"@id": "a:a", "@context": ' * 400 + "{}" + "}}}" * 400,
    ),
    "json-deep-lists": ("json", "depth: lists in lists", lambda _: DEEP["json-ld"][0]),
    "json-deep-objects": ("json", "depth: objects in objects", lambda _: DEEP["json-ld"][1]),
    "json-numbers": (
        "json",
        "numbers that no type holds",
        lambda _: f'{{"@id": "a:a", "a:b": [1e999999999, -1e400, {"9" * 4000}, NaN, Infinity, 1e-400]}}',
    ),
    "json-integer-long": ("json", "time: a number of 100,000 digits", lambda _: f'{{"a:b": {"9" * 100_000}}}'),
    "json-keys": (
        "json",
        "names that mean something to programs",
        lambda _: json.dumps({"__proto__": {"a": 1}, "@type": None, "@graph": {"@graph": []}, "constructor": "x"}),
    ),
    "turtle-deep-nodes": ("turtle", "depth: blank nodes in blank nodes", lambda _: DEEP["turtle"][0]),
    "turtle-deep-lists": ("turtle", "depth: lists in lists", lambda _: DEEP["turtle"][1]),
    "turtle-many": ("turtle", "size: 150,000 triples in a million characters", lambda _: _million_triples()),
    "turtle-long-prefix": (
        "turtle",
        "memory: a prefix that makes triples a thousand times longer",
        lambda _: f"@prefix a: <http://{'x' * 100_000}/> .\n" + "".join(f"a:s a:p a:o{i} .\n" for i in range(10_000)),
    ),
    "turtle-faulty-lines": ("turtle", "time: 30,000 faulty lines that are dropped one by one", lambda _: _long_lines()),
    "turtle-literal-long": (
        "turtle",
        "size: a literal of 900,000 characters",
        lambda _: f'<a:a> <a:b> """{"x" * 900_000}""" .',
    ),
    "turtle-quotes-open": (
        "turtle",
        "time: literals that never close",
        lambda _: '<a:a> <a:b> """' + '""\\"' * 100_000,
    ),
    "turtle-numbers": ("turtle", "numbers that no type holds", lambda _: f"<a:a> <a:b> {_LITERALS} ."),
    "turtle-dates": ("turtle", "values that their types forbid", lambda _: f"<a:a> <a:b> {_DATES} ."),
    "turtle-blank-cycle": (
        "turtle",
        "time: blank nodes that all look alike",
        lambda _: "".join(f"_:a{i} <a:b> _:a{(i * 7 + j) % 300} .\n" for i in range(300) for j in range(3)),
    ),
    "turtle-blank-flood": (
        "turtle",
        "time: ten thousand blank nodes in one large knot",
        lambda _: "".join(f"_:a{i} <a:b> _:a{(i * 7919 + 13) % 10_007} .\n" for i in range(10_007)),
    ),
    "turtle-odd-iris": (
        "turtle",
        "IRIs that N-Triples forbids, and escapes of half characters",
        lambda _: "<a:\\u0000> <a:\\uD800> <a: b> .\n<javascript:alert(1)> <a:\\u003E> '\\u0000\\uDFFF' .",
    ),
    "turtle-base-outside": (
        "turtle",
        "network and files: names below addresses",
        lambda url: (
            f"@base <{url}> .\n@import <{url}> .\n<> <http://www.w3.org/2002/07/owl#imports> <file:///etc/passwd> ."
        ),
    ),
    "n3-rules": (
        "turtle",
        "rules and formulas of N3",
        lambda _: "{ ?a <a:b> ?b } => { ?b <a:b> ?a } .\n@forAll :x .\n<a:a> = <b:b> .",
    ),
    "trig-graphs": (
        "turtle",
        "named graphs where there are none",
        lambda _: "<a:g> { <a:a> <a:b> <a:c> } GRAPH <a:h> { }",
    ),
    "triples-quoted": (
        "turtle",
        "triples about triples",
        lambda _: f"{'<< ' * 500}<a:a> <a:b> <a:c>{' >> <a:b> <a:c>' * 500} .",
    ),
    "ntriples-long-line": (
        "ntriples",
        "size: one line of a million characters",
        lambda _: f'<a:a> <a:b> "{"x" * 999_000}" .',
    ),
}

GRAPHS: tuple[Hostile, ...] = tuple(
    Hostile(f"rdf-{name}", attacks, lambda url, tag=tag, text=text: block(text(url), tag))  # type: ignore[misc]
    for name, (tag, attacks, text) in _TEXTS.items()
)
