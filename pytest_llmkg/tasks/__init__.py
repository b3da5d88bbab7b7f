"""The built-in tasks, one file each.

Every module of this folder that holds a ``TASK`` is found by itself, so that a new task is one new file.
"""

from __future__ import annotations

import importlib
import pkgutil
from importlib import metadata
from typing import TYPE_CHECKING

from pytest_llmkg.registry import Registry

if TYPE_CHECKING:
    from pytest_llmkg.contracts import Task

__all__ = ["discover_tasks"]


def discover_tasks() -> Registry[Task]:
    """All tasks: the built-in ones by file name, then those of entry points of the group ``pytest_llmkg.tasks``."""
    registry: Registry[Task] = Registry("task")
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        task = getattr(importlib.import_module(f"{__name__}.{module.name}"), "TASK", None)
        if task is not None:
            registry.add(task.info.name, task)
    for entry in sorted(metadata.entry_points(group="pytest_llmkg.tasks"), key=lambda e: e.name):
        task = entry.load()
        registry.add(task.info.name, task)
    return registry
