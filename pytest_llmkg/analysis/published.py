"""The published analysis of LLM-KG-Bench 3 over any transcripts: capabilities, combined score, format preference.

It repeats the article's method so that tables can be set side by side; its tests claim more than the data bear, which
every table says in its ``warnings``. Decisions should rest on the paired tests of this package instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.analysis.capabilities import capability_scores, measure
from pytest_llmkg.analysis.format_preference import preference_table
from pytest_llmkg.analysis.published_combined import combined_table
from pytest_llmkg.analysis.published_config import shipped_config
from pytest_llmkg.analysis.published_records import PublishedAnalysis

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_llmkg.analysis.published_config import PublishedConfig
    from pytest_llmkg.records import TaskInfo, Transcript

__all__ = ["analyse_published"]


def analyse_published(
    transcripts: Iterable[Transcript], infos: Iterable[TaskInfo], config: PublishedConfig | None = None
) -> PublishedAnalysis:
    """The published analysis of ``transcripts``; independent of their order.

    Args:
        transcripts: dialogues of any number of models.
        infos: the tasks; dialogues of others are named in the notes.
        config: definitions; the shipped ones by default.

    Raises:
        UserError: the shipped configuration cannot be read.
    """
    config = config or shipped_config()
    measurements = measure(transcripts, infos, config)
    return PublishedAnalysis(
        source=config.source,
        models=tuple(sorted(measurements.by_model)),
        capabilities=capability_scores(config, measurements),
        combined=tuple(
            combined_table(definition, config, measurements) for definition in config.definitions if definition.combined
        ),
        preferences=preference_table(config.preferences, measurements) if config.preferences else None,
        notes=measurements.notes,
    )
