"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# No test may fail because the machine is busy; hypothesis would otherwise fail an example that takes 0.2 s.
settings.register_profile("llmkg", deadline=None)
settings.load_profile("llmkg")
