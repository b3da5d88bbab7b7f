"""What every score of the shipped tasks means, where it lies, by whose rules it is made and where these are published.

A test holds that the tasks give no score that is not described here. The same name may mean different things in
different tasks (``f1``), so an entry names its tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["REDUCERS", "ScoreEntry", "score_entries"]

Bounds = tuple[float | None, float | None]

_BENCH = "LLM-KG-Bench 3"
_BENCH_2023 = "LLM-KG-Bench 2023"
_CHALLENGE = "TEXT2SPARQL challenge (its client, on trec_eval's set measures)"
_GRASP = "GRASP, SPINACH (row F1 by assignment)"
_OWN = "pytest-llmkg (corrected counterpart)"
_UNIT: Bounds = (0.0, 1.0)

REDUCERS: Mapping[str, str] = {
    "0_": "value of the first answer; 1_, 2_ ... those of the later ones",
    "last_": "value of the last answer of the dialogue",
    "max_": "largest value of any answer of the dialogue",
    "mean_": "mean over the answers of the dialogue",
    "meanExt_": "mean over as many answers as the task allows, the last one repeated",
}
"""What stands before the name of an answer's score to name one of a whole dialogue, e.g. ``max_combined``."""


@dataclass(frozen=True, slots=True)
class ScoreEntry:
    """One score.

    Attributes:
        name: as in run files and tables.
        meaning: what it measures.
        bounds: lowest and highest value, None where there is none.
        rules: ``published`` or ``corrected``.
        source: where the rules come from.
        tasks: names of the tasks that give it.
        best: the value of a perfect answer.
    """

    name: str
    meaning: str
    bounds: Bounds
    rules: Literal["published", "corrected"]
    source: str
    tasks: tuple[str, ...]
    best: float = 1.0


def score_entries() -> tuple[ScoreEntry, ...]:
    """All scores, by family of tasks; published ones before corrected ones."""
    families = (_syntax_fix, _queries, _lines, _friends, _paths, _turtle_errors, _facts, _samples, _questions)
    found = (sorted(family(), key=lambda entry: entry.rules, reverse=True) for family in families)
    return tuple(entry for entries in found for entry in entries)


@dataclass(frozen=True, slots=True)
class _Family:
    """Makes entries of tasks that share their rules."""

    source: str
    tasks: tuple[str, ...]

    def published(self, name: str, meaning: str, bounds: Bounds = _UNIT, best: float = 1.0) -> ScoreEntry:
        return ScoreEntry(name, meaning, bounds, "published", self.source, self.tasks, best)

    def corrected(self, name: str, meaning: str, bounds: Bounds = _UNIT, best: float = 1.0) -> ScoreEntry:
        return ScoreEntry(f"{name}@2", meaning, bounds, "corrected", _OWN, self.tasks, best)

    def measures(self, names: tuple[str, str, str], of: str, *, corrected: bool = False) -> Iterator[ScoreEntry]:
        """Precision, recall and F1 by their ``names``."""
        made = self.corrected if corrected else self.published
        precision, recall, f1 = names
        yield made(precision, f"share of what was answered that is right: {of}")
        yield made(recall, f"share of what is right that was answered: {of}")
        yield made(f1, f"harmonic mean of {precision} and {recall}")


def _syntax_fix() -> Iterator[ScoreEntry]:
    family = _Family(_BENCH, ("RdfSyntaxFixList",))
    names = ("contentPrecision", "contentRecall", "contentF1")
    yield family.published("parsableSyntax", "1 when the repaired document parses, else 0")
    yield family.published("brevity", "share of the answer that its first code block takes")
    yield family.published("strSimilarity", "likeness to the reference repair; the unchanged document has 0.2")
    yield from family.measures(names, "triples of the repaired document, blank nodes all alike")
    yield family.published("combined", "0.1 strSimilarity + 0.2 parsableSyntax + 0.7 contentF1")
    yield family.corrected("strSimilarity", "likeness by a true edit distance that never passes 1")
    yield from family.measures(names, "triples with their blank nodes matched", corrected=True)
    yield family.corrected("combined", "0.1 strSimilarity@2 + 0.2 parsableSyntax + 0.7 contentF1@2")


def _queries() -> Iterator[ScoreEntry]:
    family = _Family(_BENCH, ("SparqlSyntaxFixingList", "Text2SparqlList"))
    names = ("precision", "recall", "f1measure")
    yield family.published("answerParse", "1 when the answer holds a query that parses, else 0")
    yield from family.measures(names, "values of the query's result as one set; an empty result has precision 1")
    yield family.published("combined", "0.2 answerParse + 0.8 f1measure")
    of = "rows of typed terms against those of the reference query, in order where that orders them"
    yield from family.measures(names, of, corrected=True)
    yield family.corrected("combined", "0.2 answerParse + 0.8 f1measure@2")


def _lines() -> Iterator[ScoreEntry]:
    family = _Family(_BENCH, ("Sparql2AnswerList", "Text2AnswerList"))
    readings = {
        "": "lines as they are, as a set",
        "trim": "lines without white space around them",
        "fixed": "also without quotation marks and angle brackets, and with the base namespace shortened",
        "relaxed": "also without case and colons; a list counts as its length where a number is asked for",
    }
    for reading, of in readings.items():
        parts = ("precision", "recall", "f1") if not reading else ("Precision", "Recall", "F1")
        yield from family.measures((f"{reading}{parts[0]}", f"{reading}{parts[1]}", f"{reading}{parts[2]}"), of)
    yield family.published("brevity", "1 / (1 + number of spaces in the answer)")
    yield family.published("combinedF1", "mean of f1, trimF1, fixedF1 and relaxedF1")
    of = "values in one reading, as a multiset, in order where the query orders its one column"
    yield from family.measures(("precision", "recall", "combinedF1"), of, corrected=True)


def _friends() -> Iterator[ScoreEntry]:
    family = _Family(_BENCH, ("RdfFriendCount",))
    yield family.published("precision", "1 / number of persons mentioned when the right one is among them, else 0")
    yield family.published("recall", "1 when the right person is mentioned, else 0")
    yield family.published("f1", "harmonic mean of precision and recall")
    yield family.published("brevity", "1 when the answer is no longer than the IRI, else their ratio")
    yield family.published("noSpecialFriends", "1 - share of those who know the right person that are mentioned")
    yield family.corrected("f1", "1 when the person that the answer settles on is the right one, else 0")


def _paths() -> Iterator[ScoreEntry]:
    family = _Family(_BENCH, ("RdfConnectionExplainStatic",))
    readings = {
        "list": "lines that are an IRI, white space behind it counting; every line counts as answered",
        "listTrim": "lines that are an IRI; every line counts as answered",
        "textHttp": "IRIs anywhere in the answer",
        "textShort": "local names anywhere in the answer",
    }
    for reading, of in readings.items():
        yield from family.measures((f"{reading}Precision", f"{reading}Recall", f"{reading}F1"), of)
    yield family.published("lineBrevity", "share of the lines that are an IRI")
    of = "nodes of the path in their order, without fences, blank lines and list marks"
    yield from family.measures(("listTrimPrecision", "listTrimRecall", "listTrimF1"), of, corrected=True)


def _turtle_errors() -> Iterator[ScoreEntry]:
    family = _Family(_BENCH_2023, ("TurtleErrorsStatic",))
    names = ("normAnswerPrecision", "normAnswerRecall", "normAnswerF1Score")
    only = "1 / (1 + characters around the document)"
    yield family.published("onlyTurtle", only)
    yield family.published("diffRatioRaw", "likeness of the repaired text to the reference repair")
    gain = "gain in likeness: 0 for the unchanged document, below 0 for one made worse"
    yield family.published("diffRatio", gain, (None, 1.0))
    yield from family.measures(names, "triples in normal form, blank nodes all alike")
    yield family.published("normDiffRatio", "likeness of both graphs as sorted text")
    yield family.published("parsableTripleRatio", "number of triples read / number in the reference", (0.0, None))
    yield family.corrected("onlyTurtle", f"{only} of the first code block")
    yield family.corrected("diffRatioRaw", "likeness of the first code block to the reference repair")
    yield family.corrected("diffRatio", "gain in likeness from 0; the unchanged document has 0.2")
    yield from family.measures(names, "triples with their blank nodes matched", corrected=True)
    yield family.corrected("normDiffRatio", "likeness of both graphs as sorted text, without an empty row")
    yield family.corrected("parsableTripleRatio", "number of triples read / number in the reference, at most 1")


def _facts() -> Iterator[ScoreEntry]:
    family = _Family(_BENCH_2023, ("FactExtractStatic",))
    groups = {
        "norm": "triples in normal form",
        "printMat": "values of the first listed property",
        "supportMat": "values of the second listed property",
        "DimValues": "dimensions with their numbers",
        "DimUnit": "dimensions with their units",
    }
    for corrected in (False, True):
        made, rule = (family.corrected, "an empty list has precision 0") if corrected else (family.published, "")
        yield made("diffRatioRaw", "likeness of the text to the reference; for Turtle only")
        yield made("normDiffRatio", "likeness of both graphs as sorted text")
        for name, of in groups.items():
            told = f"{of}; {rule or 'an empty list has precision 1'}"
            measures = (f"{name}_precision", f"{name}_recall", f"{name}_f-measure")
            yield from family.measures(measures, told, corrected=corrected)
        ratio, bounds = "number of triples read / number in the reference", (0.0, 1.0 if corrected else None)
        yield made("parsableTripleRatio", ratio + ", at most 1" * corrected, bounds)


def _samples() -> Iterator[ScoreEntry]:
    family = _Family(_BENCH_2023, ("TurtleSampleGeneration",))
    error = "(persons found - persons asked for) / persons asked for"
    yield family.published("parsable", "1 in every record, whatever the answer")
    yield family.published("persons_relative_error", error, (-1.0, None), 0.0)
    yield family.published("min_friends_ok", "1 when nobody who knows somebody knows too few, else 0")
    yield family.published("max_friends_ok", "1 when nobody knows too many, else 0")
    yield family.corrected("parsable", "1 when the first code block parses without a faulty line, else 0")
    yield family.corrected("persons_relative_error", error, (-1.0, None), 0.0)
    yield family.corrected("persons_accuracy", "1 - size of persons_relative_error@2, at least 0")
    yield family.corrected("min_friends_ok", "1 when every person knows enough other persons of the graph, else 0")
    yield family.corrected("max_friends_ok", "1 when no person knows too many other persons of the graph, else 0")


def _questions() -> Iterator[ScoreEntry]:
    family = _Family(_CHALLENGE, ("Text2SparqlKgqa", "Text2SparqlAgent"))
    names = ("set_P", "set_recall", "set_F")
    yield from family.measures(names, "lexical values over all columns as one set; an empty reference gives 0")
    yield family.published("ndcg", "gain by rank with ties broken by value; for questions that ask for an order")
    rows = _Family(_GRASP, family.tasks)
    yield rows.published("row_f1", "F1 of rows as bags of values, by the best assignment to reference rows")
    of = "rows of typed terms, numbers by value, best choice of columns, ties at a LIMIT free, order where asked for"
    yield from family.measures(names, of, corrected=True)
    yield family.corrected("ndcg", "gain by the real order of rows; for questions that ask for an order")
