"""What a run and the server that it asked wrote down, set side by side."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.store import DialogueKey, read_run
from tests.faults.faulty_server import wanted_answer
from tests.faults.square_project import CASES, PLANNED, Log, Request

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pytest_llmkg.records import Answer, FailedCall, Transcript

__all__ = ["Figures", "asked_again", "check_calls", "check_run"]

_DRAWN_AS = {"429 later": "429", "reset": "lost"}


@dataclass(frozen=True)
class Figures:
    """What a run came to.

    Attributes:
        dialogues, lines: dialogues, and lines of transcripts in the run file (those that failed at first are more).
        requests: that came to the server.
        failed: failed calls that are recorded with the answers, by kind.
        tokens: in and out, of the answers.
    """

    dialogues: int
    lines: int
    requests: int
    failed: Mapping[str, int]
    tokens: tuple[int, int]


def check_run(directory: Path, log: Log) -> Figures:
    """Asserts that a run is complete and agrees with the server's log.

    Every planned dialogue stands there as a success exactly once, scored as its answer deserves, with the tokens that
    the server told for that very request and what they cost.
    """
    lines = [json.loads(line) for line in (directory / "run.jsonl").read_text(encoding="utf-8").splitlines()]
    kinds = Counter(line["kind"] for line in lines)
    good = [line for line in lines if line["kind"] == "transcript" and line["error"] is None]
    keys = Counter(DialogueKey(line["label"], line["case"], line["model"], line["iteration"]) for line in good)
    twice = sorted(key for key, times in keys.items() if times > 1)
    assert keys == Counter(PLANNED), f"twice: {twice}, missing: {sorted(PLANNED - set(keys))}"
    assert (kinds["header"], kinds["case"]) == (1, CASES)
    assert not list(directory.glob("run.*.jsonl")), "parts of workers are left"
    requests = {request.id: request for request in log.requests()}
    transcripts = read_run(directory).transcripts
    answers = [_checked_answer(transcript, requests) for transcript in transcripts]
    return Figures(
        dialogues=len(transcripts),
        lines=kinds["transcript"],
        requests=len(requests),
        failed=_by_kind(call for answer in answers for call in answer.failed_calls),
        tokens=(
            sum(answer.usage.input_tokens or 0 for answer in answers),
            sum(answer.usage.output_tokens or 0 for answer in answers),
        ),
    )


def check_calls(directory: Path, log: Log) -> None:
    """Asserts that a run which was never interrupted accounts for every request that the server had.

    What a server sent has come; what it was about to send when it was killed may have come or not. The answers of the
    run are exactly those, so the sums of their tokens are the server's, and the failed calls of every dialogue are
    those that the server made fail, by kind, besides those that found no server at all.
    """
    transcripts, requests = read_run(directory).transcripts, log.requests()
    answers = {int(str(t.turns[0].answer.served_model).removeprefix("request-")): t for t in transcripts}
    certain = {request.id for request in requests if request.fate == "answer" and request.was_sent}
    possible = {request.id for request in requests if request.fate == "answer"}
    assert certain <= set(answers) <= possible, "an answer was lost, or none was sent"
    told = [request.tokens for request in requests if request.id in answers]
    usages = [t.turns[0].answer.usage for t in transcripts]
    assert sum(i for i, _ in told) == sum(usage.input_tokens or 0 for usage in usages)
    assert sum(o for _, o in told) == sum(usage.output_tokens or 0 for usage in usages)
    of_dialogue: defaultdict[tuple[str, str], list[Request]] = defaultdict(list)
    for request in requests:
        of_dialogue[f"c{request.n:03d}", request.model].append(request)
    for transcript in transcripts:
        recorded = _by_kind(transcript.turns[0].answer.failed_calls)
        failures = [r for r in of_dialogue[transcript.case, transcript.model] if r.fate != "answer"]
        sent, came = (_fates(r for r in failures if r.was_sent), _fates(failures))
        for kind in ("429", "500", "garbage"):
            assert sent[kind] <= recorded[kind] <= came[kind], (transcript.case, kind, recorded, came)
        assert sent["lost"] <= recorded["lost"], (transcript.case, recorded, sent)


def asked_again(log: Log, from_request: int, finished: Iterable[DialogueKey]) -> list[DialogueKey]:
    """Those of the ``finished`` dialogues that the server was asked for after its first so many requests."""
    asked = {(request.model, f"c{request.n:03d}") for request in log.requests() if request.id > from_request}
    return [key for key in finished if (key.model, key.case) in asked]


def _checked_answer(transcript: Transcript, requests: Mapping[int, Request]) -> Answer:
    assert transcript.outcome == "scored"
    (turn,) = transcript.turns
    answer, n = turn.answer, int(transcript.case[1:])
    assert answer.text == str(wanted_answer(n))
    assert turn.evaluation.scores() == {"right": int(wanted_answer(n) == n * n)}
    request = requests[int(str(answer.served_model).removeprefix("request-"))]
    assert (request.model, request.n, request.fate) == (transcript.model, n, "answer")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == request.tokens
    assert answer.usage.cost is not None
    assert abs(answer.usage.cost - (request.tokens[0] + 2 * request.tokens[1]) / 1e6) < 1e-12
    return answer


def _by_kind(calls: Iterable[FailedCall]) -> Counter[str]:
    """Recorded failed calls by what the server calls them; ``lost`` also those that found no server."""
    return Counter(
        str(call.status) if call.status is not None else "garbage" if "JSON" in call.error else "lost" for call in calls
    )


def _fates(requests: Iterable[Request]) -> Counter[str]:
    return Counter(_DRAWN_AS.get(request.fate, request.fate) for request in requests)
