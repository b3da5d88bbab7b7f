"""Many dialogues at once: ahead of their tests, within limits, with patience for endpoints that fail."""
