"""How the sandbox and its worker talk: frames of JSON over pipes.

Plain JSON, because the worker reads hostile texts: what it sends back must not be able to run anything here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_llmkg.contracts import QueryResult, QueryVerdict, RdfVerdict, Term, TolerantRdf

if TYPE_CHECKING:
    from typing import IO

__all__ = [
    "Frame",
    "packed",
    "query_result",
    "query_verdict",
    "rdf_verdict",
    "read_frame",
    "result_frame",
    "tolerant_rdf",
    "write_frame",
]

Frame: TypeAlias = dict[str, Any]
_LENGTH = 8


def write_frame(stream: IO[bytes], frame: Frame) -> None:
    """Writes one frame and flushes."""
    stream.write(packed(frame))
    stream.flush()


def packed(frame: Frame) -> bytes:
    """The bytes of ``frame``: eight of length, then JSON in ASCII, which keeps lone surrogates."""
    data = json.dumps(frame, separators=(",", ":")).encode("ascii")
    return len(data).to_bytes(_LENGTH, "big") + data


def read_frame(stream: IO[bytes]) -> Frame | None:
    """The next frame; None at the end of the stream.

    Raises:
        ValueError: the bytes are no frame.
    """
    head = stream.read(_LENGTH)
    if len(head) < _LENGTH:
        return None
    length = int.from_bytes(head, "big")
    data = stream.read(length)
    if len(data) < length:
        return None
    frame = json.loads(data)
    if not isinstance(frame, dict):
        raise ValueError("a frame that is no object")
    return frame


def result_frame(result: QueryResult) -> Frame:
    """``result`` as a frame."""
    rows = [[t and [t.kind, t.value, t.datatype, t.language] for t in row] for row in result.rows]
    return {
        "error": result.error,
        "variables": result.variables,
        "rows": rows,
        "boolean": result.boolean,
    }


def query_result(frame: Frame) -> QueryResult:
    """The inverse of `result_frame`."""
    rows = tuple(tuple(t and Term(*t) for t in row) for row in frame["rows"])
    return QueryResult(frame["error"], tuple(frame["variables"]), rows, frame["boolean"])


def rdf_verdict(frame: Frame) -> RdfVerdict:
    """The verdict in ``frame``."""
    return RdfVerdict(frame["error"], tuple(frame["triples"]))


def tolerant_rdf(frame: Frame) -> TolerantRdf:
    """What is left of a text, in ``frame``."""
    return TolerantRdf(tuple(frame["triples"]), tuple(frame["dropped_lines"]), frame["error"])


def query_verdict(frame: Frame) -> QueryVerdict:
    """The verdict in ``frame``."""
    return QueryVerdict(frame["error"], frame["form"], tuple(frame["names"]))
