"""Colours of the plots as CSS variables, so that one SVG serves light and dark pages.

Series colours follow Okabe and Ito (Color Universal Design, 2008), darkened for light pages and lightened for dark
ones until each has a contrast of at least 3 to 1 against the page. Markers, dashes and hatches repeat what they say.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HEAT_STEPS", "ROLES", "SERIES", "css_colour", "plot_css", "role_colours"]

HEAT_STEPS = 11
"""Steps of the scale from 0 to 1: one for each tenth."""

SERIES = ("s0", "s1", "s2", "s3", "s4", "s5")
"""Roles of series that must be told apart: blue, vermilion, green, purple, yellow, and the text's own colour."""

_PLAIN = {
    "ink": ("#16202b", "#e6ebf1"),
    "muted": ("#5a6674", "#9aa7b5"),
    "grid": ("#dfe3e8", "#2b343f"),
    "card": ("#ffffff", "#171d25"),
    "faint": ("#b8c0c9", "#55616e"),
    "wash": ("#e8f1fa", "#1b2b3c"),
    "s0": ("#0072b2", "#56b4e9"),
    "s1": ("#c04a00", "#ff9350"),
    "s2": ("#007a5a", "#2fcf9f"),
    "s3": ("#a8467f", "#e79bc4"),
    "s4": ("#8a6500", "#f0c03c"),
    "s5": ("#3d4854", "#d5dce4"),
    "soft0": ("#cfe4f3", "#173f5c"),
    "soft1": ("#fadbc8", "#5a2c10"),
}
_HEAT = (
    ("#f4f1ea", "#cbe1ee", "#86bbd9", "#3380b5", "#0a4878"),
    ("#1d242d", "#173c59", "#1b5f8c", "#66b4df", "#c9e9f8"),
)
# Of black and white, one has a contrast of 4.5 to 1 or more on any ground.
_ON_HEAT = ("#000000", "#ffffff")


@cache
def role_colours() -> Mapping[str, tuple[str, str]]:
    """Role to its colour on a light and on a dark page; ``h0`` to ``h10`` are the scale, ``t0`` ... text on it."""
    found = dict(_PLAIN)
    for step in range(HEAT_STEPS):
        light, dark = (_between(anchors, step / (HEAT_STEPS - 1)) for anchors in _HEAT)
        found[f"h{step}"] = light, dark
        found[f"t{step}"] = _readable(light), _readable(dark)
    return MappingProxyType(found)


ROLES = (*_PLAIN, *(f"h{step}" for step in range(HEAT_STEPS)), *(f"t{step}" for step in range(HEAT_STEPS)))
"""All roles."""


def css_colour(role: str) -> str:
    """What an SVG's style says for ``role``: a variable, with the light page's colour where no page defines it."""
    return "currentColor" if role == "ink" else f"var(--plot-{role}, {role_colours()[role][0]})"


def plot_css() -> str:
    """Style sheet for a page with plots: colours of light and dark mode, and which of two widths is shown.

    Put plots into elements of the class ``plot-box``, so that the few that are too wide for a phone can be scrolled.

    A page with its own switch between light and dark may set ``data-theme`` to ``light`` or ``dark`` on its root.
    """
    colours = role_colours()
    light, dark = (
        " ".join(f"--plot-{role}: {pair[side]};" for role, pair in colours.items() if role != "ink") for side in (0, 1)
    )
    return f"""\
:root {{ {light} }}
@media (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}
:root[data-theme="dark"] {{ {dark} }}
.plot {{ display: block; width: 100%; height: auto; margin: 0 auto; }}
.plot-narrow {{ display: none; }}
.plot-box {{ overflow-x: auto; }}
.plot-scroll {{ min-width: 900px; }}
@media (max-width: 760px) {{
  .plot-narrow {{ display: block; }}
  .plot-wide:not(.plot-scroll) {{ display: none; }}
}}
@media print {{
  .plot {{ break-inside: avoid; min-width: 0; }}
  .plot-wide:not(.plot-scroll) {{ display: block; }}
  .plot-narrow {{ display: none; }}
  :root, :root[data-theme] {{ {light} }}
}}
"""


def _between(anchors: tuple[str, ...], place: float) -> str:
    """The colour at ``place`` (0 to 1) of a line through ``anchors``."""
    position = place * (len(anchors) - 1)
    number = min(int(position), len(anchors) - 2)
    part = position - number
    pairs = zip(_channels(anchors[number]), _channels(anchors[number + 1]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in pairs)


def _readable(ground: str) -> str:
    return max(_ON_HEAT, key=lambda ink: contrast(ink, ground))


def contrast(one: str, other: str) -> float:
    """Contrast of two colours from 1 to 21, by the Web Content Accessibility Guidelines 2.2."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    parts = [c / 255 for c in _channels(colour)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
