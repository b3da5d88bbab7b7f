"""Model tables, and what ``--models`` may name.

A table is TOML: ``[models.<alias>]`` in ``llmkg.toml``, ``[tool.pytest_llmkg.models.<alias>]`` in
``pyproject.toml``. An alias with a dot needs quotes there: ``[models."qwen2.5-7b"]``. Settings are the fields
of `ModelSpec`; ``model`` is required unless the alias is known from an earlier table, whose other settings
then stay. Keys never stand in a table: they come from the environment.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import tomllib
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pytest_llmkg.data_files import fixtures_root
from pytest_llmkg.errors import ModelFileError, RecordError, UserError
from pytest_llmkg.plain import to_plain
from pytest_llmkg.records import ModelSpec
from pytest_llmkg.registry import unknown_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["load_model_table", "model_table_paths", "read_settings_table", "resolve_models"]

Kind = Literal["text", "whole", "number", "table", "address"]

# The smallest value that makes sense stands beside the kind of the numbers.
_SETTINGS: Mapping[str, tuple[Kind, int]] = {
    "model": ("text", 0),
    "connector": ("text", 0),
    "api_base": ("address", 0),
    "temperature": ("number", 0),
    "max_tokens": ("whole", 1),
    "top_p": ("number", 0),
    "seed": ("whole", 0),
    "extra": ("table", 0),
    "max_concurrency": ("whole", 1),
    "rpm": ("whole", 1),
    "price_in": ("number", 0),
    "price_out": ("number", 0),
    "context": ("whole", 1),
    "family": ("text", 0),
    "parameters": ("text", 0),
}
_TABLES = ("models", "endpoints")
_DEFAULT_CONNECTOR = "litellm"
_LOOKS_LIKE_A_KEY = re.compile(
    r"(^|[_-])(api[_-]?key|key|token|secret|password|passwd|authorization|credentials?)$", re.IGNORECASE
)
_LITELLM_ID = re.compile(r"[A-Za-z][\w.-]*/\S+")


def model_table_paths(root: Path | None = None) -> tuple[Path, ...]:
    """The tables that exist, from the weakest: the shipped one, ``root``'s llmkg.toml, its pyproject.toml."""
    own = () if root is None else (root / "llmkg.toml", root / "pyproject.toml")
    return (fixtures_root() / "models.toml", *(path for path in own if path.is_file()))


def load_model_table(paths: Iterable[Path]) -> dict[str, ModelSpec]:
    """All aliases of ``paths`` with their specs, in order of first appearance.

    An entry of a later table replaces the earlier one of the same alias if it names a ``model``; without, it
    changes only the settings that it holds.

    Raises:
        ModelFileError: a table that cannot be read, an unknown setting or a wrong value; names the place.
    """
    settings: dict[str, dict[str, Any]] = {}
    for path in paths:
        for alias, entry in _read_entries(path).items():
            place = f"{path}: model {alias!r}"
            checked = _check_entry(alias, entry, place)
            merged = checked if "model" in checked else settings.get(alias, {}) | checked
            if "model" not in merged:
                raise ModelFileError(f"{place}: setting 'model' is missing, e.g. model = \"openai/gpt-4o\"")
            if ("price_in" in merged) != ("price_out" in merged):
                raise ModelFileError(f"{place}: 'price_in' and 'price_out' must be given together")
            settings[alias] = merged
    return {alias: _spec(alias, entry) for alias, entry in settings.items()}


def resolve_models(
    text: str | Sequence[str], table: Mapping[str, ModelSpec], schemes: Collection[str]
) -> tuple[ModelSpec, ...]:
    """The models that ``--models`` names, in its order, each once.

    Args:
        text: names separated by commas, or a list of such texts.
        table: the aliases, see `load_model_table`.
        schemes: names of the registered connectors.

    Raises:
        UnknownNameError: neither an alias, nor ``scheme`` or ``scheme:argument``, nor a litellm id
            ``provider/model``; or an alias whose connector does not exist.
        UserError: ``text`` names no model at all.
    """
    texts = [text] if isinstance(text, str) else list(text)
    names = [name for part in texts for name in map(str.strip, part.split(",")) if name]
    if not names:
        raise UserError("no model is named; give e.g. --models=symbolic or --models=gpt-4o,qwen2.5-7b")
    return tuple(_resolve(name, table, schemes) for name in dict.fromkeys(names))


def _resolve(name: str, table: Mapping[str, ModelSpec], schemes: Collection[str]) -> ModelSpec:
    if name in table:
        if table[name].connector not in schemes:
            raise unknown_name(f"connector of model {name!r}:", table[name].connector, schemes)
        return _with_scheme(table[name], schemes)
    scheme, _, argument = name.partition(":")
    if scheme in schemes:
        return ModelSpec(id=name, model=argument, connector=scheme)
    if _LITELLM_ID.fullmatch(name):
        return ModelSpec(id=name, model=name, connector=_DEFAULT_CONNECTOR)
    if ":" in name and difflib.get_close_matches(scheme, list(schemes), n=1):
        raise unknown_name("connector", scheme, schemes)
    # The user's own aliases come last in the table, and first here: a list of all would be cut before them.
    raise unknown_name("model", name, [*reversed(list(table)), *schemes])


def _with_scheme(spec: ModelSpec, schemes: Collection[str]) -> ModelSpec:
    """``spec`` whose ``model`` may be written as in ``--models``: ``model = "rag:gpt-4o"``."""
    scheme, sign, argument = spec.model.partition(":")
    if not sign or spec.connector != _DEFAULT_CONNECTOR or scheme not in schemes:
        return spec
    return dataclasses.replace(spec, model=argument, connector=scheme)


def _spec(alias: str, entry: Mapping[str, Any]) -> ModelSpec:
    return dataclasses.replace(ModelSpec(alias, entry["model"], _DEFAULT_CONNECTOR), **entry)


def read_settings_table(path: Path, name: str) -> dict[str, object]:
    """The table ``name`` (``models`` or ``endpoints``) of a settings file, empty if it has none.

    Raises:
        ModelFileError: the file cannot be read, or has another table, which would be a slip that nobody noticed.
    """
    try:
        data: object = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFileError(f"{path}: the model table cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ModelFileError(f"{path}: not a TOML file: {error}") from error
    except RecursionError as error:
        raise ModelFileError(f"{path}: not a TOML file: nested too deeply") from error
    if path.name == "pyproject.toml":
        data = _sub_table(_sub_table(data, "tool", path), "pytest_llmkg", path)
    for key in data if isinstance(data, dict) else ():
        if key not in _TABLES:
            raise ModelFileError(f"{path}: {unknown_name('table', key, _TABLES)}")
    return _sub_table(data, name, path)


def _read_entries(path: Path) -> dict[str, object]:
    entries = read_settings_table(path, "models")
    for alias in entries:
        if not alias.strip() or "," in alias or alias != alias.strip():
            raise ModelFileError(f"{path}: {alias!r} cannot be an alias: --models could not name it")
    return entries


def _sub_table(data: object, name: str, path: Path) -> dict[str, object]:
    table = data.get(name, {}) if isinstance(data, dict) else {}
    if not isinstance(table, dict):
        raise ModelFileError(f"{path}: {name!r} must be a table, found {table!r:.60}")
    return table


def _check_entry(alias: str, entry: object, place: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise ModelFileError(f"{place}: must be a table of settings, found {entry!r:.60}")
    for name, value in entry.items():
        if _LOOKS_LIKE_A_KEY.search(name):
            raise _key_error(place, name)
        if name not in _SETTINGS:
            hint = ""
            if isinstance(value, dict):
                hint = f'; an alias with a dot needs quotes: [models."{alias}.{name}"]'
            raise ModelFileError(f"{place}: {unknown_name('setting', name, _SETTINGS)}{hint}")
        _check_value(name, value, place)
    return dict(entry)


def _check_value(name: str, value: object, place: str) -> None:
    kind, least = _SETTINGS[name]
    here = f"{place}: setting {name!r}"
    if kind in ("text", "address"):
        if not isinstance(value, str) or not value.strip():
            raise ModelFileError(f"{here} must be a text, found {value!r:.60}")
        if kind == "address":
            _check_address(value, here)
    elif kind == "table":
        if not isinstance(value, dict):
            raise ModelFileError(f"{here} must be a table, found {value!r:.60}")
        _check_extra(value, place, name)
    else:
        _check_number(value, whole=kind == "whole", least=least, here=here)


def _check_number(value: object, *, whole: bool, least: int, here: str) -> None:
    wanted = "a whole number" if whole else "a number"
    allowed = int if whole else int | float
    if not isinstance(value, allowed) or isinstance(value, bool) or not math.isfinite(value):
        raise ModelFileError(f"{here} must be {wanted}, found {value!r:.60}")
    if value < least:
        raise ModelFileError(f"{here} must be at least {least}, found {value}")


def _check_address(value: str, here: str) -> None:
    try:
        parts = urlsplit(value)
    except ValueError as error:
        raise ModelFileError(f"{here} is no address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ModelFileError(f"{here} must begin with http:// or https:// and name a host")
    # Specs are written to run files and reports, so nothing that lets somebody in may stand in them.
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ModelFileError(f"{here} must hold no user, password or query; keys come from the environment")


def _check_extra(value: Mapping[str, object], place: str, path: str) -> None:
    for name, item in value.items():
        if _LOOKS_LIKE_A_KEY.search(name):
            raise _key_error(place, f"{path}.{name}")
        if isinstance(item, dict):
            _check_extra(item, place, f"{path}.{name}")
    try:
        to_plain(value)
    except RecordError as error:
        raise ModelFileError(f"{place}: setting {path!r} cannot be stored: {error}") from error


def _key_error(place: str, name: str) -> ModelFileError:
    return ModelFileError(
        f"{place}: setting {name!r} looks like a key, which a file must not hold; set the provider's "
        "environment variable instead, e.g. OPENAI_API_KEY"
    )
