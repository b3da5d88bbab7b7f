"""A straightforward scorer of LLM-KG-Bench 3 records with rdflib alone, as one would write it first.

It exists to be measured against: every record is looked at by itself, what is right in it is worked out from its graph,
its graph and its queries are parsed anew, and nothing is kept from one record to the next. It follows the same
published rules as the tasks, so both must agree.
"""

from __future__ import annotations

import difflib
import re
from collections import deque
from typing import TYPE_CHECKING, Any

from rdflib import RDF, BNode, Graph, Literal, URIRef
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue

if TYPE_CHECKING:
    from collections.abc import Iterable

Scores = dict[str, Any]

WRONG = {"rdfs": "urn:x-wrong:rdfs#", "xsd": "urn:x-wrong:xsd#"}


def score(record: dict[str, Any]) -> Scores:
    """The published scores of ``record``."""
    task = record["taskInfo"]["taskId"]
    answers = [text for role, _, text in record["interactions"] if role == "response"]
    prompt, data = record["interactions"][0][2], record["taskData"]
    if task == "RdfConnectionExplainStatic":
        return _connection(prompt, data, answers[0])
    if task == "RdfFriendCount":
        return _friends(prompt, data, answers[0])
    if "2AnswerList" in task:
        return _lines(data, answers[0])
    if task == "RdfSyntaxFixList":
        turns = [_repair(data, answer) for answer in answers]
        return _dialogue(turns, {name for turn in turns for name in turn})
    if task == "SparqlSyntaxFixingListLcQuad":
        infos = [record["info"][str(number)] for number in range(len(answers))]
        turns = [_query_fix(data, a, info) for a, info in zip(answers, infos, strict=True)]
    else:
        turns = [_query(prompt, data, task, answer) for answer in answers]
    return _dialogue(turns, {"answerParse", "f1measure", "combined"})


def _f1(p: float, r: float) -> float:
    return 2 * p * r / (p + r) if p + r else 0


def _connection(prompt: str, data: dict[str, Any], text: str) -> Scores:
    ends = re.findall(r"starting with (\S+) and ending with (\S+)", prompt)
    graph = Graph().parse(data=prompt.partition("\n\n")[2], format=data["graphFormat"].replace("ntriples", "nt"))
    near: dict[Any, set[Any]] = {}
    for s, p, o in graph:
        if p != RDF.type and not isinstance(o, Literal):
            near.setdefault(s, set()).add(o)
            near.setdefault(o, set()).add(s)
    start, end = URIRef(ends[0][0]), URIRef(ends[0][1])
    before: dict[Any, Any] = {start: None}
    todo: deque[Any] = deque([start])
    while todo and end not in before:
        node = todo.popleft()
        for neighbour in sorted(near.get(node, ()), key=lambda n: n.n3()):
            if neighbour not in before:
                before[neighbour] = node
                todo.append(neighbour)
    path: list[Any] = []
    at: Any = end
    while at is not None:
        path.append(at)
        at = before[at]
    right = {str(node) for node in path if not isinstance(node, BNode)}
    lines = text.splitlines()
    listed = re.findall(r"^[\s:\-]*(https?://\S+\s*)$", text, re.MULTILINE)
    found = re.findall(r"https?://[^\s<>`\"']+", text)
    names = [iri for iri in right if re.search("[:/#]" + re.escape(re.split("[/#]", iri)[-1]), text)]
    scores: Scores = {"lineBrevity": len(listed) / len(lines) if lines else 0}
    for name, hits, total in (
        ("list", len(set(listed) & right), len(lines)),
        ("listTrim", len({iri.strip() for iri in listed} & right), len(lines)),
        ("textHttp", len(set(found) & right), len(found)),
        ("textShort", len(names), len(names)),
    ):
        precision, recall = hits / total if total else 1, hits / len(right)
        scores |= {f"{name}Precision": precision, f"{name}Recall": recall, f"{name}F1": _f1(precision, recall)}
    return scores


def _friends(prompt: str, data: dict[str, Any], text: str) -> Scores:
    graph = Graph().parse(data=prompt.partition("\n\n")[2], format=data["graphFormat"].replace("ntriples", "nt"))
    knows = URIRef("http://xmlns.com/foaf/0.1/knows")
    special: Any = max(set(graph.objects(None, knows)), key=lambda o: len(list(graph.subjects(knows, o))))
    assert str(special) == data["specialNodeIri"]
    mentioned = re.findall(r"person-0*(\w+)", text)
    recall = int(str(special).rpartition("/")[2] in text)
    precision = 1 / max(1, len(mentioned)) if recall else 0
    named = sum(friend in text for friend in data["specialFriends"])
    return {
        "recall": recall,
        "precision": precision,
        "f1": _f1(precision, recall),
        "noSpecialFriends": 1 - named / len(data["specialFriends"]) if data["specialFriends"] else 1,
        "brevity": min(1, (len(special) + 2) / len(text)),
    }


def _base(turtle: str) -> str:
    """The namespace of the empty prefix, as the graph declares it."""
    declared: list[str] = re.findall(r"(?i)prefix\s+:\s*<([^>]*)>", turtle)
    return declared[0]


def _lines(data: dict[str, Any], text: str) -> Scores:
    graph = Graph().parse(data=data["graphTurtle"], format="turtle")
    base = _base(data["graphTurtle"])
    prefixes = {"": base}
    rows = graph.query(data["refSparql"], initNs=prefixes)
    right = [str(_shown(term, prefixes)) for row in rows for term in row]  # type: ignore[union-attr]  # SELECT rows
    assert set(right) == set(data["refResultSet"])
    lines = text.splitlines()

    def fixed(line: str) -> str:
        return re.sub('["<>]', "", line.strip()).replace(base, ":").replace("0:", ":")

    def relaxed(line: str) -> str:
        return fixed(line).replace(":", "").lower()

    number = r"[+-]?\d+(\.\d+)?"
    loose = {relaxed(line) for line in lines}
    if len(right) == 1 and re.fullmatch(number, relaxed(right[0])) and lines:
        first = relaxed(lines[0])
        loose = {first if re.fullmatch(number, first) else str(len(lines))}
    scores: Scores = {"brevity": 1 / (1 + text.count(" "))}
    f1s = []
    for name, given, wanted in (
        ("", set(lines), set(right)),
        ("trim", {line.strip() for line in lines}, set(right)),
        ("fixed", {fixed(line) for line in lines}, set(right)),
        ("relaxed", loose, {relaxed(value) for value in right}),
    ):
        p, r = len(given & wanted) / len(given) if given else 0.0, len(given & wanted) / len(wanted)
        f1s.append(_f1(p, r))
        for measure, value in (("precision", p), ("recall", r), ("f1", f1s[-1])):
            scores[name + (measure[0].upper() + measure[1:] if name else measure)] = value
    scores["combinedF1"] = sum(f1s) / 4
    return scores


def _repair(data: dict[str, Any], text: str) -> Scores:
    block = re.search(r"```[^\n]*\n(.*?)```", text, re.DOTALL)
    document = block[1].strip() if block else text.strip()
    question, reference = data["task"].strip(), data["optimal"].strip()
    r = difflib.SequenceMatcher(None, document, reference).ratio()
    q = difflib.SequenceMatcher(None, question, reference).ratio()
    likeness = 0.2 + 0.8 * (r - q) / (1 - q) if r >= q else 0.2 * r / q
    scores: Scores = {
        "brevity": (len(block[0]) if block else 0) / len(text.strip()),
        "strSimilarity": likeness,
        "parsableSyntax": 0,
        "combined": 0.1 * likeness,
    }
    given = _nt_lines(document, data["graphFormat"])
    if given is None:
        return scores
    wanted = _nt_lines(reference, data["graphFormat"])
    assert wanted is not None
    precision, recall = len(given & wanted) / len(given), len(given & wanted) / len(wanted)
    f1 = _f1(precision, recall)
    content = {"contentPrecision": precision, "contentRecall": recall, "contentF1": f1}
    return {**scores, "parsableSyntax": 1, "combined": 0.1 * likeness + 0.2 * 1 + 0.7 * f1, **content}


def _nt_lines(text: str, form: str) -> set[str] | None:
    try:
        graph = Graph().parse(data=text, format=form)
    except Exception:  # noqa: BLE001  (any exception means: no RDF)
        return None
    if form == "turtle" and re.search(r"[\"']@[A-Za-z0-9-]+\^\^", text):
        return None
    return set(re.sub(r"_:\w+", "_:", graph.serialize(format="nt")).split("\n"))


def _find(text: str) -> str | None:
    blocks = re.findall(r"```[^\n`]*\n(.*?)```", text, re.DOTALL)
    return next((block.strip() for block in blocks if re.search(r"\bselect\b", block, re.IGNORECASE)), None)


def _parses(query: str | None) -> bool:
    if query is None:
        return False
    try:
        parseQuery(query)
    except Exception:  # noqa: BLE001  (any exception means: no query)
        return False
    return True


def _query(prompt: str, data: dict[str, Any], task: str, text: str) -> Scores:
    query = _find(text)
    if query is None or not _parses(query):
        return {"answerParse": 0.0, "combined": 0.0}
    if "graphTurtle" in data:
        turtle = data["graphTurtle"]
        prefixes = {"": _base(turtle), "rdfs": WRONG["rdfs"]}
    else:
        turtle = prompt.rstrip().removesuffix("```").rpartition("```")[2].partition("\n")[2]
        prefixes = dict(WRONG)
    graph = Graph().parse(data=turtle, format="turtle")
    if "graphTurtle" not in data:
        prefixes |= {name: str(ns) for name, ns in graph.namespaces() if name in {"ns1", "ns2"}}
    values: set[Any] = set()
    try:
        rows = list(graph.query(query, initNs=prefixes))
    except Exception:  # noqa: BLE001  (any exception means: an empty result)
        rows = []
    for row in rows:
        for term in row:  # type: ignore[union-attr]  # a row of a SELECT query
            if term is not None:
                values.add(_shown(term, {**dict(graph.namespaces()), **prefixes}))
    _names(query), _names(data["refSparql"])
    return _compared(values, data["refResultSet"])


def _query_fix(data: dict[str, Any], text: str, info: dict[str, Any]) -> Scores:
    query = _find(text)
    if query is None or not _parses(query):
        return {"answerParse": 0.0, "combined": 0.0}
    _names(query), _names(data["refSparql"])
    return _compared(set(info["answerSet"]), data["refResultSet"])


def _compared(values: set[Any], reference: list[str]) -> Scores:
    right = set(reference)
    p = len(values & right) / len(values) if values else 1.0
    r = len(values & right) / len(right)
    f1 = _f1(p, r)
    return {"answerParse": 1.0, "combined": 0.2 * 1.0 + 0.8 * f1, "f1measure": f1, "precision": p, "recall": r}


def _shown(term: Any, prefixes: dict[str, Any]) -> Any:
    if isinstance(term, Literal):
        return str(term) if term else term
    fitting = [(len(ns), name) for name, ns in prefixes.items() if ns and str(term).startswith(ns)]
    return f"{max(fitting)[1]}:{term[max(fitting)[0] :]}" if fitting else f"<{term}>"


def _names(query: str) -> set[str]:
    """The IRIs of a query, for the published observations on them."""
    found: set[str] = set()
    todo: list[Any] = [parseQuery(query)[1]]
    while todo:
        part = todo.pop()
        if isinstance(part, CompValue) and part.name == "pname":
            found.add(f"{part.get('prefix') or ''}:{part['localname']}")
        elif isinstance(part, URIRef):
            found.add(f"<{part}>")
        elif isinstance(part, dict):
            todo.extend(part.values())
        elif isinstance(part, (list, tuple)) or type(part).__name__ == "ParseResults":
            todo.extend(part)
    return found


def _dialogue(turns: list[Scores], aggregated: set[str]) -> Scores:
    scores: Scores = {str(number): turn for number, turn in enumerate(turns)}
    extended = turns + [turns[-1]] * (3 - len(turns))
    names = {name for turn in turns for name in turn} & aggregated
    for key, values, reduce in (("mean", turns, _mean), ("max", turns, max), ("meanExt", extended, _mean)):
        scores[key] = {name: reduce(t.get(name, 0) for t in values) for name in names}
    return {**scores, "last": turns[-1]}


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)
