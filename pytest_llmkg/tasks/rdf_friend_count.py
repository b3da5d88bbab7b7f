"""RdfFriendCount: name the node with the most incoming edges of a generated graph.

Rules as published with LLM-KG-Bench 3 (task version 4.4), and corrected ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.cases.generators import FriendGraph, friend_graph
from pytest_llmkg.contracts import KgEngine, Task
from pytest_llmkg.kg.formats import format_named
from pytest_llmkg.metrics.mentions import final_mention, match_mentions, room_for
from pytest_llmkg.records import Answer, Case, Evaluation, Number, Outcome, Prompt, ScoreSet, TaskInfo
from pytest_llmkg.signature import build_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.plain import Json

__all__ = ["TASK"]

INFO = TaskInfo(
    name="RdfFriendCount",
    version="1.0",
    family="RDF",
    summary="Finds the person whom most others know in a generated graph.",
    headline="f1",
    bloom=("Apply",),
    knowledge=("Procedural",),
    complexity="Low",
)

_PROMPT = """\
Below is an RDF graph in {title}. Find the person whom the largest number of persons know, i.e. the node that is the \
object of the most foaf:knows triples.

```{fence}
{graph}
```

Reply with the complete IRI of that person and with nothing else: no prefix, no explanation."""


def generate(entry: Mapping[str, Json], seed: int) -> Mapping[str, Json]:
    """The graph of an entry of parameters (see `pytest_llmkg.cases.generators.friend_graph`), with its right answer."""
    graph: FriendGraph = friend_graph(entry, seed)
    return {
        **entry,
        "graph": graph.text,
        "triples": graph.triples,
        "specialNodeIri": graph.special_node,
        "specialFriends": list(graph.special_friends),
    }


def prompt(case: Case, _kg: KgEngine) -> Prompt:
    """Shows the graph and asks for the best known person."""
    form = format_named(case.text("format"))
    return Prompt.user(_PROMPT.format(title=form.title, fence=form.fence, graph=case.text("graph").rstrip("\n")))


def evaluate(case: Case, answer: Answer, _kg: KgEngine) -> Evaluation:
    """Scores the persons that the answer mentions; corrected (``f1@2``): whether its final answer is right."""
    special, friends = case.text("specialNodeIri"), case.texts("specialFriends")
    match = match_mentions(answer.text, special.rpartition("/")[2])
    named_friends = sum(friend in answer.text for friend in friends)
    values: dict[str, Number] = {
        "recall": match.recall,
        "brevity": room_for(special, answer.text),
        "precision": match.precision,
        "f1": match.f1,
        "noSpecialFriends": 1 - named_friends / len(friends) if friends else 1,
    }
    info: dict[str, Json] = {
        "persons": case.integer("n"),
        "triples": case.integer("triples"),
        "graphSizeChar": len(case.text("graph")),
        "specialNode": special,
        "answerPersonCount": len(match.mentioned),
        "specialFriendsInAnswer": named_friends,
        "personsInAnswer": list(match.mentioned),
    }
    right = int(final_mention(answer.text) == special.rpartition("-")[2].lstrip("0"))
    notes = ("mentions",) if abs(match.f1 - right) > 1e-9 else ()
    outcome: Outcome = "scored" if match.mentioned else "unparsable"
    if not answer.text.strip():
        outcome, values = "no_answer", dict.fromkeys(values, 0)
    score_sets = (
        ScoreSet(build_signature(INFO, "published"), values),
        ScoreSet(build_signature(INFO, "corrected"), {"f1@2": right}, notes),
    )
    return Evaluation(outcome, score_sets, info)


TASK = Task(
    info=INFO,
    fields={
        "format": "text",
        "n": "integer",
        "knowsCount": "integer",
        "specialIndex": "integer",
        "specialAddKnowsCount": "integer",
    },
    prompt=prompt,
    evaluate=evaluate,
    generate=generate,
)
