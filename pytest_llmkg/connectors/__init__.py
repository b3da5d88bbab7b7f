"""The connectors: what answers messages. One file each.

A module of this folder with a `ConnectorFactory` called ``CONNECTOR`` is a built-in connector; there is no
other list. Other packages add theirs as entry points of the group ``pytest_llmkg.connectors``, each a
`ConnectorFactory`.
"""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import entry_points

from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import UserError
from pytest_llmkg.registry import Registry

__all__ = ["ENTRY_POINT_GROUP", "builtin_factories", "discover"]

ENTRY_POINT_GROUP = "pytest_llmkg.connectors"


def builtin_factories() -> tuple[ConnectorFactory, ...]:
    """The factories of this folder, in the order of their module names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    found = [getattr(module, "CONNECTOR", None) for module in modules]
    return tuple(factory for factory in found if isinstance(factory, ConnectorFactory))


def discover() -> Registry[ConnectorFactory]:
    """All connectors by scheme: the built-in ones, then those of installed packages by entry point name.

    Raises:
        UserError: an entry point cannot be loaded or is no factory, or two connectors share a scheme.
    """
    registry: Registry[ConnectorFactory] = Registry("connector")
    for factory in builtin_factories():
        registry.add(factory.scheme, factory)
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value)):
        try:
            loaded = point.load()
        except Exception as error:
            raise UserError(f"the connector {point.name!r} ({point.value}) cannot be loaded: {error}") from error
        if not isinstance(loaded, ConnectorFactory):
            raise UserError(f"the connector {point.name!r} ({point.value}) is no ConnectorFactory")
        registry.add(loaded.scheme, loaded)
    return registry
