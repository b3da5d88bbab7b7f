"""Settings of all tests."""

from __future__ import annotations

# Not used here: these can be loaded only once in a process, and sessions that pytester runs in this one forget them.
import cryptography.hazmat.primitives.ciphers.aead  # noqa: F401
import numpy  # noqa: F401, ICN001
import scipy.special  # noqa: F401
from hypothesis import settings

# No test may fail because the machine is busy; hypothesis would otherwise fail an example that takes 0.2 s.
settings.register_profile("llmkg", deadline=None)
settings.load_profile("llmkg")
