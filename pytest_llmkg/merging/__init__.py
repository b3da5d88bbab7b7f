"""Joining the runs of one suite: the shards of a CI matrix, or a run and what another one added to it.

First a plan is made of the runs' indexes, which tells all that is missing, doubled or odd; then it is written.

What the runs' headers say of themselves, beside the fields of `pytest_llmkg.records.RunHeader`:

* ``suite``: the signature of the suite (`pytest_llmkg.suite_signature`); runs without one are compared by seed,
  iterations, turn limit, models and versions of tasks.
* ``shard``: ``"2/4"`` for the second of four shards, None for a run that was to hold everything.
* ``missing_shards``: of a joined run the shards that were not there, so that whoever judges or shows it can tell.
* ``planned``: how many dialogues *this run* was to hold, by model id and label; of a shard, its share.
"""

from pytest_llmkg.merging.coverage import Gap
from pytest_llmkg.merging.plan import Duplicate, MergePlan, plan_merge, write_merge

__all__ = ["Duplicate", "Gap", "MergePlan", "plan_merge", "write_merge"]
