"""The template engine, set up once for all pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.reporting import formats

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["new_environment"]


def new_environment() -> Environment:
    """An environment that escapes everything, complains of unknown names and knows the filters that all pages use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pytest_llmkg.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(visible=formats.visible, score=formats.score)
    return environment
