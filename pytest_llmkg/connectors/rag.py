"""``rag:MODEL`` is the retrieval pipeline around another model: `pytest_llmkg.pipelines`.

The argument is any other entry of ``--models``; the knobs stand in a model table::

    [models."my-rag"]
    connector = "rag"
    model = "gpt-4o"
    extra = { k = 5, validation = false }
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import ConnectorError, UserError
from pytest_llmkg.pipelines import settings_from
from pytest_llmkg.pipelines.retrieval import check_embedding

if TYPE_CHECKING:
    from pytest_llmkg.contracts import Connector, Workbench
    from pytest_llmkg.records import ModelSpec

__all__ = ["CONNECTOR"]


def _check(spec: ModelSpec) -> None:
    if not spec.model:
        raise UserError(f"model {spec.id!r} names no model; write e.g. rag:gpt-4o")
    check_embedding(settings_from(spec.extra, f"model {spec.id!r}").embedding)


def _wrap(spec: ModelSpec, bench: Workbench) -> Connector:
    from pytest_llmkg.pipelines.answering import Pipeline  # a session without pipelines starts faster without it

    return Pipeline(spec.id, settings_from(spec.extra, f"model {spec.id!r}"), bench)


def _make(spec: ModelSpec) -> NoReturn:
    raise ConnectorError(f"{spec.id}: the pipeline needs a model to wrap")


CONNECTOR = ConnectorFactory(
    scheme="rag",
    summary="The retrieval pipeline around another model (rag:MODEL): examples, schema, check and correction.",
    make=_make,
    check=_check,
    wrap=_wrap,
)
