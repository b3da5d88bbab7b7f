"""A workshop in which hostile answers go through everything, watched."""

from __future__ import annotations

import asyncio
import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from pytest_llmkg.cases.files import load_case_files
from pytest_llmkg.contracts import Task
from pytest_llmkg.data_files import fixtures_root
from pytest_llmkg.dialogue import Dialogue, hold_dialogue
from pytest_llmkg.kg import Limits, SandboxPool, process
from pytest_llmkg.records import Answer, Case, Transcript
from pytest_llmkg.registry import Registry
from pytest_llmkg.reporting import html
from pytest_llmkg.tasks import discover_tasks
from tests.hostile.watching import Guard, MemorySampler, Notes, peak_of
from tests.kg.test_kg_isolation import Listener

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_llmkg.contracts import AskRequest

# Small, so that the whole corpus takes little time; what is shown is that they are kept.
LIMITS = Limits(query_seconds=0.5, parse_seconds=0.7, memory_bytes=512 * 1024**2)
LONG = 100_000
FORMS = {"```xml\n<": "xml", "```json\n": "jsonld", "```ntrip": "nt", "```turtl": "turtle"}
# One case of each task; of the repair of documents one in each format. The last one is made here, since no shipped
# case is RDF/XML.
LABELS = (
    "FactExtractStatic",
    "RdfConnectionExplainStatic-turtle",
    "RdfFriendCount-turtle-1",
    "RdfSyntaxFixList-turtle",
    "RdfSyntaxFixList-jsonld",
    "RdfSyntaxFixList-nt",
    "Sparql2AnswerListOrga-turtle",
    "SparqlSyntaxFixingListOrga",
    "Text2AnswerListOrga-turtle",
    "Text2SparqlExecEvalListOrganizational",
    "TurtleErrorsStatic",
    "TurtleSampleGeneration-10",
)
XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.example/">'
    '<rdf:Description rdf:about="http://e.example/a"><e:p>x</e:p></rdf:Description></rdf:RDF>'
)
XML_CASE = Case(
    "xml-missing-end",
    "RdfSyntaxFixList",
    "RdfSyntaxFixList-xml",
    {"format": "xml", "broken": XML.removesuffix("</rdf:RDF>"), "reference": XML},
)
# The shipped graph of this task takes longer to load than hostile texts may.
KGQA_CASE = Case(
    "plants",
    "Text2SparqlKgqa",
    "Text2SparqlKgqa-hostile-en",
    {
        "kg": "hostile",
        "graph": "<a:kelp> a <a:Plant> ; <a:in> <a:bay> . <a:wrack> a <a:Plant> ; <a:in> <a:cove> .",
        "format": "turtle",
        "prefixes": {"": "a:"},
        "language": "en",
        "question": "What grows in the bay?",
        "query": "SELECT ?plant { ?plant :in :bay }",
    },
)
AGENT_CASE = replace(KGQA_CASE, task="Text2SparqlAgent", label="Text2SparqlAgent-hostile-en")


@dataclass(frozen=True)
class Parrot:
    """A connector that gives one answer to everything."""

    text: str

    async def ask(self, request: AskRequest) -> Answer:
        return Answer(self.text, "stop")

    async def close(self) -> None:
        """Holds nothing."""


@dataclass
class Workshop:
    """Cases of all tasks, a pool of watched sandboxes, and what watches them."""

    tasks: Registry[Task]
    cases: tuple[Case, ...]
    kg: SandboxPool
    listener: Listener
    notes: Notes
    guard: Guard
    memory: MemorySampler
    peak_before: int = field(default_factory=peak_of)

    def dialogues(self, text: str, name: str = "parrot") -> tuple[Transcript, ...]:
        """The dialogues in which the model ``name`` says ``text`` whatever it is asked, one on each case.

        Long texts, which cost most, are a repaired document in the format of their block only, else in Turtle.
        """
        form = FORMS.get(text[:8], "turtle")
        left_out = {f"RdfSyntaxFixList-{name}" for name in FORMS.values()} - {f"RdfSyntaxFixList-{form}"}
        cases = [case for case in self.cases if len(text) < LONG or case.label not in left_out]
        return asyncio.run(self._dialogues(text, name, cases))

    async def _dialogues(self, text: str, name: str, cases: Sequence[Case]) -> tuple[Transcript, ...]:
        model = Parrot(text)
        dialogues = [Dialogue(case, self.tasks.get(case.task), name, model) for case in cases]
        return tuple(await asyncio.gather(*(hold_dialogue(dialogue, self.kg) for dialogue in dialogues)))


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    tasks, root = discover_tasks(), fixtures_root()
    shipped = load_case_files([root / "cases"], root / "graphs", tasks, seed=42)
    first = {case.label: case for case in reversed(shipped)}
    notes = Notes(tmp_path_factory.mktemp("notes"))
    listener = Listener()
    with pytest.MonkeyPatch.context() as patch, SandboxPool(2, LIMITS) as pool:
        patch.setattr(process, "_BOOT", notes.boot)
        patch.setattr(html, "_environment", functools.cache(html._environment))  # templates are compiled once
        memory = MemorySampler(lambda: pool.worker_pids)
        cases = (*(first[label] for label in LABELS), XML_CASE, KGQA_CASE, AGENT_CASE)
        yield Workshop(tasks, cases, pool, listener, notes, Guard(), memory)
        memory.stop()
    listener.server.close()
    notes.close()
