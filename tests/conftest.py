"""Settings of all tests."""

from __future__ import annotations

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

# Sessions with several processes of each of these files would take longer than all other tests together; one
# representative of each stays among the others.
_LONG = {
    "test_faults.py",
    "test_plugin_ahead.py",
    "test_plugin_limits.py",
    "test_plugin_resume.py",
    "test_plugin_gate.py",
}
_STAY = {
    "test_faults_and_a_restart_cost_no_dialogue[plain]",
    "test_scores_are_the_same_in_any_number_of_processes",
    "test_max_concurrency_holds_for_all_processes[n2]",
    "test_finished_dialogues_are_kept_and_failed_ones_held_again[n2]",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        takes_long = item.path.name == "test_faults.py" or "n2" in item.name or "worker" in item.name
        if item.path.name in _LONG and takes_long and item.name not in _STAY:
            item.add_marker(pytest.mark.slow)
