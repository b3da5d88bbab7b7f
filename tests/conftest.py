"""Settings of all tests."""

from hypothesis import settings

# No deadlines: these tests say what is right, not how fast, and run on busy machines.
settings.register_profile("llmkg", deadline=None)
settings.load_profile("llmkg")
