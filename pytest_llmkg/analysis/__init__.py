"""Numbers over transcripts: scores of a dialogue, means over dialogues. Never reads a file."""
