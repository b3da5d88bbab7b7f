"""How fast dialogues are held: this program beside the ideal, bare loops and inspect_ai, in one run.

    python -m tests.speed.compare_dialogues [--quick] [--plan 500x50 5000x50] [--peers ours aiohttp] [--markdown]

Everybody asks the same server (`mock_server`, a process of its own with a fixed latency) the same number of one-turn
questions of about 2 kB, so many at once:

- ``aiohttp``, ``litellm``: bare loops, see `bare_clients`;
- ``inspect``, ``inspect-quiet``: inspect_ai without display, the second without its realtime log, see `inspect_peer`;
  it is installed by pip into a virtual environment below ``--cache`` when it is not there;
- ``ours``: the whole command ``pytest`` with scoring, run file and leaderboard, see `project`;
- ``ours-litellm``: the same with the model behind litellm instead of the lean client.

Every figure is of a whole command, from its start to its end. The commands of one size take turns, in alternating
order, and medians are shown; absolute seconds differ from machine to machine, so compare within a run. Each run must
have asked exactly so many questions, and each dialogue of ours must be in the run file once and scored. All run as at
a user's: compiled bytecode is kept (below ``--cache``), and pytest loads only our plugin and those that it requires.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tests.speed.dialogue_bench import Bench, inspect_python, running_server
from tests.speed.dialogue_figures import BASES, HEADER, Results, Size, marginal_lines, rows, share_lines
from tests.speed.measuring import alternated
from tests.speed.tables import say, table

if TYPE_CHECKING:
    from collections.abc import Sequence

PEERS = ("aiohttp", "litellm", "inspect", "inspect-quiet", "ours", "ours-litellm")
_PLAN = ("500x10", "500x50", "500x200", "5000x10", "5000x50", "5000x200")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Times dialogues of this program beside its peers.")
    parser.add_argument("--plan", nargs="+", type=Size.parse, help=f"CALLSxIN_FLIGHT (default: {' '.join(_PLAN)})")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--repeats", type=int, default=3, help="of sizes up to 500 calls (default: 3)")
    parser.add_argument("--large-repeats", type=int, default=1, help="of larger sizes (default: 1)")
    parser.add_argument("--inspect-up-to", type=int, default=500, help="calls that inspect_ai is asked at most")
    parser.add_argument("--latency-ms", type=float, default=200.0)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "llmkg-speed-cache")
    parser.add_argument("--quick", action="store_true", help="100 calls at 50, once")
    parser.add_argument("--markdown", action="store_true")
    return parser.parse_args()


def main() -> None:
    options = parsed()
    plan = options.plan or [Size.parse(text) for text in (("100x50",) if options.quick else _PLAN)]
    python = inspect_python(options.cache) if any(p.startswith("inspect") for p in options.peers) else None
    all_results: dict[Size, Results] = {}
    with tempfile.TemporaryDirectory() as work, running_server(options.latency_ms) as server:
        bench = Bench(server, Path(work), options.cache, python)
        bench.prepare(options.peers)
        for size in plan:
            repeats = 1 if options.quick else options.repeats if size.calls <= 500 else options.large_repeats
            peers = [p for p in options.peers if size.calls <= options.inspect_up_to or not p.startswith("inspect")]
            results = all_results[size] = measured(bench, size, peers, repeats)
            say(f"\n{size.calls} calls, {size.in_flight} in flight, {options.latency_ms:g} ms, medians of {repeats}")
            say(f"(the server itself needed {server_ms(size, results):.2f} CPU ms for each call)\n")
            say(table(HEADER, rows(size, results, peers, options.latency_ms / 1000), markdown=options.markdown))
            say("", *share_lines(size, results, bench.agents))
    say("", *marginal_lines(all_results, options.peers))
    say(*(f"{name}: its HTTP client called itself {agent!r}" for name, agent in bench.agents.items()))


def measured(bench: Bench, size: Size, peers: Sequence[str], repeats: int) -> Results:
    """What ``peers`` and what they contain cost at one size."""
    results = Results()

    def measure(name: str) -> None:
        sys.stderr.write(f"  {size.calls} at {size.in_flight}: {name}\n")
        bench.measure(name, size, results)

    alternated([*BASES, *peers], repeats, measure)
    return results


def server_ms(size: Size, results: Results) -> float:
    """Median CPU milliseconds of the server for each call."""
    return median(entry.server_cpu for seen in results.seen.values() for entry in seen) / size.calls * 1000


if __name__ == "__main__":
    main()
