"""Settings of all tests."""

from __future__ import annotations

import gc
import os
import sys

# Not used here: these can be loaded only once in a process, and sessions that pytester runs in this one forget them.
import cryptography.hazmat.primitives.ciphers.aead  # noqa: F401
import matplotlib.backends.backend_svg
import matplotlib.figure  # noqa: F401
import numpy  # noqa: F401, ICN001
import pytest
import scipy.special  # noqa: F401
from hypothesis import settings

# No test may fail because the machine is busy; hypothesis would otherwise fail an example that takes 0.2 s.
settings.register_profile("llmkg", deadline=None)
settings.load_profile("llmkg")

# Sessions with several processes of these files, and answers of a megabyte, would take longer than all other tests
# together; representatives of each stay among the others.
_PROCESSES = {f"test_plugin_{part}.py" for part in ("ahead", "failures", "gate", "kgqa", "limits", "resume")}
_PROCESSES |= {f"test_plugin_{part}.py" for part in ("collection", "hooks", "results")} | {"test_secrets.py"}
_WHOLE = {"test_faults.py", "test_plugin_gateways.py"}
_STAY = {
    "test_faults_and_a_restart_cost_no_dialogue[plain]",
    "test_scores_are_the_same_in_any_number_of_processes",
    "test_max_concurrency_holds_for_all_processes[n2]",
    "test_finished_dialogues_are_kept_and_failed_ones_held_again[n2]",
    "test_two_gateways_record_every_dialogue_once[same checkout]",
    "test_an_answer_through_everything[size-newlines-million]",
    "test_properties_in_json_report[n2]",
    "test_layout_of_the_run_directory[n2]",
}


# Groups of ten hostile answers of which others of the same kind stay.
_FURTHER = (
    "reaching-service-escaped",
    "sparql-cross-product-counted",
    "sparql-values-squared",
    "sparql-random",
    "rdf-turtle-dates",
    "encoding-cr-only",
    "pretence-numbers",
)


def pytest_configure(config: pytest.Config) -> None:
    """Sessions that tests start find the byte code of the first one, even where none may be written beside sources.

    Each would otherwise compile some thousand modules, which takes longer than most of what is tested.
    """
    cache: pytest.Cache | None = getattr(config, "cache", None)  # there is none with -p no:cacheprovider
    if sys.dont_write_bytecode and "PYTHONPYCACHEPREFIX" not in os.environ and cache is not None:
        os.environ["PYTHONPYCACHEPREFIX"] = str(cache.mkdir("bytecode"))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: no garbage collection needs to look at it again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        file, name = item.path.name, item.name
        takes_long = (
            file in _WHOLE
            or (file in _PROCESSES and "n2" in name)
            or (
                file == "test_hostile_answers.py"
                and any(part in name for part in ("[size-", "million", "huge", *_FURTHER))
            )
        )
        if takes_long and name not in _STAY:
            item.add_marker(pytest.mark.slow)
