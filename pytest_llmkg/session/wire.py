"""Names under which the processes of one session hand things to each other."""

__all__ = ["DIALOGUES", "INPUT", "MISUSED", "NOT_RUN", "PROBLEMS"]

INPUT = "llmkg"
"""Key of a worker's input: what the controller tells it, `pytest_llmkg.session.workers.WorkerInput` in plain types."""

DIALOGUES = "llmkg_dialogues"
"""Attribute of a report and key of a worker's output: cases and transcripts that the run file lacks, in plain types."""

NOT_RUN = "llmkg_not_run"
"""Attribute of a report: why its dialogue was not run."""

PROBLEMS = "llmkg_problems"
"""Key of a worker's output: sentences for the end of the session."""
MISUSED = "llmkg_misused"
"""On the report of a collection that failed since a mark names something unknown: a usage error."""
