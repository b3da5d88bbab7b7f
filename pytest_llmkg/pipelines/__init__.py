"""The retrieval pipeline around a model: examples and schema in, query out, checked and corrected on the way.

Every part (index, retrieve, prompt, validate, refine) is a plain function with a switch of its own in
`PipelineSettings`. After SPARQL-LLM (Emonet et al., 2024 and 2025), whose parts are rebuilt here in own words;
`pytest_llmkg.connectors.rag` makes it a model under test.
"""

from __future__ import annotations

from pytest_llmkg.pipelines.settings import PipelineSettings, settings_from

__all__ = ["PipelineSettings", "settings_from"]
