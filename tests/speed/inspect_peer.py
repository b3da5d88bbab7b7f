"""inspect_ai on the same server; run by the Python of a virtual environment of its own, so it imports nothing of ours.

    python inspect_peer.py --calls 500 --in-flight 50 --prompt FILE [--no-realtime-log]

The address comes from MOCK_BASE_URL. A task of one turn with a scorer that looks for a text in the answer; the log is
written into the working directory. Every sample must have been scored.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, required=True)
    parser.add_argument("--in-flight", type=int, required=True)
    parser.add_argument("--prompt", type=Path, required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--no-realtime-log", action="store_true")
    options = parser.parse_args()

    # Found at run time: it is not among the libraries of this project.
    inspect, dataset, scorer, solver = (
        importlib.import_module(f"inspect_ai{name}") for name in ("", ".dataset", ".scorer", ".solver")
    )
    prompt = options.prompt.read_text(encoding="utf-8")
    samples = [dataset.Sample(input=prompt, target=options.target, id=number + 1) for number in range(options.calls)]
    logs = inspect.eval(
        inspect.Task(dataset=dataset.MemoryDataset(samples), solver=solver.generate(), scorer=scorer.includes()),
        model="openai-api/mock/mock",
        display="none",
        log_dir="logs",
        max_connections=options.in_flight,
        max_samples=options.in_flight,
        max_retries=0,
        **({"log_realtime": False} if options.no_realtime_log else {}),
    )
    results = logs[0].results
    if logs[0].status != "success" or results is None or results.completed_samples != options.calls:
        raise SystemExit(f"inspect_ai ended with {logs[0].status}: {logs[0].error}")


if __name__ == "__main__":
    main()
