"""Settings that an endpoint refuses: they are left out, remembered and named, and the call is made again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_llmkg.plain import Json

if TYPE_CHECKING:
    from collections.abc import Collection

    from pytest_llmkg.connectors.failures import Refusal
    from pytest_llmkg.records import ModelSpec

__all__ = ["SentSettings", "Settings", "refused_setting"]

_CODES = ("unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden")
_REFUSED = re.compile(
    r"(un|not |n.t |no longer )support|unrecognized|unrecognised|unknown (name|parameter|argument|field)"
    r"|extra (inputs|fields) (are )?not permitted|unexpected (keyword|parameter|argument|field)|not permitted"
    r"|not (allowed|available|accepted) (for|with|by|in)|is deprecated|cannot (both )?be (specified|used|set)"
    r"|cannot both be",
    re.IGNORECASE,
)
# Who refuses temperature and top_p together means that one is enough.
_ORDER = ("top_p", "temperature", "seed", "max_tokens", "max_completion_tokens")
_MAX_TOKENS, _NEW_NAME = "max_tokens", "max_completion_tokens"


@dataclass(frozen=True, slots=True)
class SentSettings:
    """The settings that one call sends, and the names of those that it goes without."""

    values: Mapping[str, Json]
    dropped: tuple[str, ...] = ()

    def without(self, name: str) -> SentSettings:
        """These settings after the endpoint refused ``name``; ``max_tokens`` first gets its newer name."""
        values = {key: value for key, value in self.values.items() if key != name}
        if name == _MAX_TOKENS and _NEW_NAME not in self.values:
            return SentSettings(values | {_NEW_NAME: self.values[name]}, self.dropped)
        told = _MAX_TOKENS if name == _NEW_NAME else name
        return SentSettings(values, tuple(dict.fromkeys((*self.dropped, told))))


class Settings:
    """The settings of one model, as far as its endpoint has not refused them yet.

    Many calls may be refused at the same time for the same setting, so each tells what it had sent.
    """

    def __init__(self, spec: ModelSpec, extra: Mapping[str, Json]) -> None:
        sampling: dict[str, Json] = {
            "temperature": spec.temperature,
            "max_tokens": spec.max_tokens,
            "top_p": spec.top_p,
            "seed": spec.seed,
        }
        given = {name: value for name, value in sampling.items() if value is not None}
        self.current = SentSettings({**extra, **given})

    def give_up(self, refusal: Refusal, sent: SentSettings) -> bool:
        """Whether ``refusal`` was about a setting of ours, so that the call is worth repeating with `current`."""
        name = refused_setting(refusal, sent.values)
        if name is None:
            return False
        if name in self.current.values:
            self.current = self.current.without(name)
        return True


def refused_setting(refusal: Refusal, names: Collection[str]) -> str | None:
    """Which of ``names`` an endpoint does not take at all; None when it complains of something else.

    A value out of range is the user's mistake and no reason to go without the setting.
    """
    if refusal.status not in (None, 400, 422) or not _is_refused(refusal):
        return None
    root = re.split(r"[.\[]", refusal.parameter)[0]
    if root in names:
        return root
    ordered = [name for name in _ORDER if name in names] + [name for name in names if name not in _ORDER]
    return next((name for name in ordered if _mentions(refusal.message, name)), None)


def _is_refused(refusal: Refusal) -> bool:
    return any(code in refusal.code for code in _CODES) or _REFUSED.search(refusal.message) is not None


def _mentions(message: str, name: str) -> bool:
    quotes = "" if "_" in name or name in _ORDER else "['\"`]"
    return re.search(rf"(?<![\w.]){quotes}{re.escape(name)}{quotes}(?!\w)", message) is not None
