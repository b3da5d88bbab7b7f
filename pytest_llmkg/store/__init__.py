"""Run files: append-only JSON Lines of plain records.

The first line is the header, then follow cases (once each) and transcripts (one for each finished dialogue),
every line an object whose first key ``kind`` says which. Aggregates are never stored, always computed.

What survives what:
    A killed process: all. Each line is one unbuffered write to the operating system before the call returns.
    A power cut: all but the last seconds. A line that is written 5 s or more after the last fsync brings the next
    one, and closing the file brings one always; in between the operating system's own write-back is at work.
    A full disk: all that was written before. The part of a line that found room is cut off again, so that the file
    stays valid and takes lines again as soon as there is room.
    A torn last line (killed while it was written, or a power cut): it is left out when the file is read, and cut off
    when the run goes on. A broken line anywhere else is an error that names it.

Workers of a run write parts (``run.<worker>.jsonl``, without a header) beside the run file; whoever reads a run reads
its parts, too, and `absorb_parts` moves them into the run file. Where a dialogue is held several times, one that was
evaluated counts before one that ended as an error, and else the later one. The others stay in the file, since they
were paid for, too.

A header whose settings hold a `pytest_llmkg.sealing.Lock` as ``sealed_lines`` makes the file keep sealed cases
secret: their lines, and those of their transcripts, are stored as ``{"kind":"sealed","data":"..."}``.
"""

from pytest_llmkg.store.counting import DialogueKey, Entry, key_of
from pytest_llmkg.store.index import RunIndex, index_run, iter_transcripts
from pytest_llmkg.store.lines import FILE_NAME, SCHEMA, SEALED_LINES, Receipt, part_paths, read_transcript
from pytest_llmkg.store.parts import absorb_parts
from pytest_llmkg.store.reading import Run, read_run
from pytest_llmkg.store.writer import SYNC_SECONDS, RunWriter

__all__ = [
    "FILE_NAME",
    "SCHEMA",
    "SEALED_LINES",
    "SYNC_SECONDS",
    "DialogueKey",
    "Entry",
    "Receipt",
    "Run",
    "RunIndex",
    "RunWriter",
    "absorb_parts",
    "index_run",
    "iter_transcripts",
    "key_of",
    "part_paths",
    "read_run",
    "read_transcript",
]
