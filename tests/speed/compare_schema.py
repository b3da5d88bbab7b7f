"""How fast the pipeline's own parts are: schema of a large graph, retrieval, and all of a question but the model.

    python -m tests.speed.compare_schema [--triples 5000000] [--small 30000] [--questions 200] [--quick]

The graph is made by a seeded generator: things of 60 classes, each with a type, a label and six properties that lead to
other things, numbers or texts. Schema: each kind of count in a process of its own, so that memory is that of one count;
"load" is what any engine has to do first. "SELECT with OPTIONAL" is the one query that counts nearly the same in the
plain way. Question: the whole pipeline around a model that answers at once, in one process with a warm index; the first
of two answers does not fit the schema, so each question has two checks and one execution.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_llmkg.contracts import AskRequest, Example, GraphText, Workbench
from pytest_llmkg.kg import Sandbox
from pytest_llmkg.kg.profile import profile_store
from pytest_llmkg.pipelines.answering import Pipeline
from pytest_llmkg.pipelines.settings import PipelineSettings
from pytest_llmkg.records import Answer, Message, Question, Usage
from tests.speed import measuring
from tests.speed.tables import say, table

if TYPE_CHECKING:
    from collections.abc import Iterator

_V, _R = "http://large.example/v/", "http://large.example/r/"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
_INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
_CLASSES, _PROPERTIES, _PER_THING = 60, 150, 6
_PLAIN = """SELECT ?c ?p ?r (COUNT(*) AS ?n) { ?s a ?c ; ?p ?o OPTIONAL { ?o a ?t }
  BIND(COALESCE(?t, DATATYPE(?o)) AS ?r) } GROUP BY ?c ?p ?r"""
_WAYS = ("load", "with ranges", "without ranges", "SELECT with OPTIONAL")


def triples(count: int, seed: int = 1) -> Iterator[str]:
    """About ``count`` lines of N-Triples."""
    rng = random.Random(seed)  # noqa: S311 (no secret)
    for number in range(count // (_PER_THING + 2)):
        kind = min(int(rng.expovariate(0.08)), _CLASSES - 1)
        thing = f"<{_R}{number}>"
        yield f"{thing} {_TYPE} <{_V}Class{kind}> .\n"
        yield f'{thing} {_LABEL} "thing {number}"@en .\n'
        for _ in range(_PER_THING):
            name = (kind * 3 + int(rng.expovariate(0.3))) % _PROPERTIES
            value = (
                f"<{_R}{rng.randrange(number or 1)}>",
                f'"{rng.randrange(10_000)}"^^{_INTEGER}',
                f'"text {rng.randrange(10_000)}"',
            )[name % 3]
            yield f"{thing} <{_V}property{name}> {value} .\n"


def count_in_this_process(way: str, path: Path) -> None:
    """Prints what one way of counting takes, as JSON."""
    from pyoxigraph import RdfFormat, Store

    store, began = Store(), time.perf_counter()
    store.bulk_load(path=str(path), format=RdfFormat.N_TRIPLES)
    loaded = time.perf_counter()
    rows = 0
    if way == "SELECT with OPTIONAL":
        rows = sum(1 for _ in store.query(_PLAIN))  # type: ignore[union-attr, misc]  # a SELECT gives rows
    elif way != "load":
        rows = sum(map(len, profile_store(store, ranges=way == "with ranges").values()))
    ended = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say(
        json.dumps({"load": loaded - began, "count": ended - loaded, "rows": rows, "peak": peak, "triples": len(store)})
    )


def schema_rows(count: int) -> list[list[str]]:
    """A row for each way of counting a graph of ``count`` triples."""
    rows = []
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "large.nt"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(triples(count))
        for way in _WAYS:
            command = [sys.executable, "-m", "tests.speed.compare_schema", "--child", way, str(path)]
            measuring.run(command, Path(work), {"PYTHONPATH": str(Path.cwd())})
            found = json.loads(measuring.output_of(Path(work)).splitlines()[-1])
            rows.append(
                [way, f"{found['triples']:,}", f"{found['load']:.1f}", f"{found['count']:.1f}", f"{found['peak']:.0f}"]
            )
    return rows


class _AtOnce:
    """A model that needs no time: its first query names a class that does not exist, its second one is good."""

    async def ask(self, request: AskRequest) -> Answer:
        again = request.messages[-2].role == "assistant"
        name = "Class3" if again else "Class_3"
        query = f"SELECT ?s ?o {{ ?s a <{_V}{name}> ; <{_V}property9> ?o ; <{_LABEL[1:-1]}> ?l }} # {request.case_key}"
        return Answer(f"```sparql\n{query}\n```", "stop", Usage())

    async def close(self) -> None:
        return None


async def _stages(graph: GraphText, questions: int) -> list[dict[str, float]]:
    rng = random.Random(2)  # noqa: S311 (no secret)

    def question() -> str:
        kinds = " and ".join(f"class {rng.randrange(_CLASSES)}" for _ in range(3))
        return f"Which things of {kinds} have a property {rng.randrange(_PROPERTIES)} below {rng.randrange(100)}?"

    examples = tuple(
        Example(str(i), question(), f"SELECT ?s {{ ?s a <{_V}Class{i % _CLASSES}> # {i}\n}}") for i in range(1000)
    )
    found = []
    with Sandbox() as engine:
        bench = Workbench(_AtOnce(), engine, lambda _request: graph, lambda _request: examples)
        pipeline = Pipeline("rag", PipelineSettings(), bench)
        for number in range(questions + 1):
            request = AskRequest(
                (Message("user", "?"),), f"Speed/{number}", question=Question(question(), "large", "en", None, {})
            )
            began = time.perf_counter()
            answer = await pipeline.ask(request)
            found.append({**answer.stages, "all": time.perf_counter() - began})
    return found


def question_rows(count: int, questions: int) -> list[list[str]]:
    """A row for each stage of a question, in milliseconds."""
    first, *others = asyncio.run(_stages(GraphText("".join(triples(count)), "nt"), questions))
    rows = [["prepare (once)", f"{first['prepare'] * 1000:.0f}", ""]]
    for name in ("retrieve", "validate", "execute", "model", "wait", "all"):
        values = sorted(stages[name] * 1000 for stages in others)
        rows.append([name, f"{statistics.median(values):.2f}", f"{values[int(0.95 * len(values))]:.2f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Times the parts of the retrieval pipeline.")
    parser.add_argument("--triples", type=int, default=5_000_000)
    parser.add_argument("--small", type=int, default=30_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="100,000 triples, 20 questions")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--child", nargs=2, metavar=("WAY", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        count_in_this_process(options.child[0], Path(options.child[1]))
        return
    large, questions = (100_000, 20) if options.quick else (options.triples, options.questions)
    say("Schema of a graph, each way in a process of its own")
    say(table(["way", "triples", "load s", "count s", "peak MiB"], schema_rows(large), markdown=options.markdown))
    say(f"A question on {options.small:,} triples with 1,000 examples, two checks and one execution")
    say(
        table(
            ["stage", "median ms", "95 % below, ms"], question_rows(options.small, questions), markdown=options.markdown
        )
    )


if __name__ == "__main__":
    main()
