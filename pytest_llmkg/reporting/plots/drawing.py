"""From a sheet to an SVG text: matplotlib draws the outlines, and what it wrote is made small and given its words.

Words never pass through matplotlib, which would read ``$`` as mathematics and measure with a font that the reader does
not have: they become text elements, escaped by the XML writer.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from pytest_llmkg.reporting.formats import visible
from pytest_llmkg.reporting.plots.palette import ROLES, css_colour
from pytest_llmkg.reporting.plots.sheet import NARROW, WIDE, Plot
from pytest_llmkg.reporting.plots.wording import gathered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure

    from pytest_llmkg.reporting.plots.sheet import Layout, Mark, Sheet, Words

__all__ = ["finish", "nothing", "render"]

_NUMBER = re.compile(r"-?\d+\.\d+")
_BETWEEN = re.compile(r"\s*([MLCQz])\s*")
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]")
_HEX = re.compile(r"#[0-9a-f]{6}")
_DEFAULTS = {"stroke-linejoin: miter", "stroke-linecap: butt", "stroke-width: 1", "stroke-miterlimit: 4"}
_SENTINELS = {f"#{number:02x}0000": role for number, role in enumerate(ROLES, start=1)}
_CODES = {role: code for code, role in _SENTINELS.items()}


def finish(
    draw: Callable[[Layout], Sheet], ident: str, title: str, description: str, notes: Sequence[str] = ()
) -> Plot:
    """The plot that ``draw`` makes, for wide and for narrow screens."""
    svgs = tuple(
        render(draw(layout), f"{ident}-{layout.name}", title, description, f"plot plot-{layout.name}")
        for layout in (WIDE, NARROW)
    )
    return Plot(ident, visible(title), visible(description), svgs, None, tuple(map(visible, gathered(notes))))


def nothing(ident: str, title: str, reason: str, notes: Sequence[str] = ()) -> Plot:
    """The plot that cannot be drawn."""
    return Plot(ident, visible(title), "", (), visible(reason), tuple(map(visible, gathered(notes))))


def render(sheet: Sheet, ident: str, title: str, description: str, classes: str) -> str:
    """``sheet`` as an SVG element for a page; the same sheet always gives the same text.

    Characters of ``ident`` other than ASCII letters, digits, ``-`` and ``_`` become ``-``.
    """
    ident = _NOT_IN_IDS.sub("-", ident)
    groups, patterns = _parse(_outlines(sheet))
    root = _root(sheet, ident, title, description, classes)
    styles: dict[str, str] = {}
    names = _add_patterns(root, patterns, ident, styles)
    for number, mark in enumerate(sheet.marks):
        _add_mark(root, groups[f"m{number}"], mark, names, styles)
    for words in sheet.words:
        _add_words(root, words, styles)
    most = 460 if classes.endswith("narrow") else sheet.width
    rules = [f"{{max-width:{_short(most)}px}}", " text{pointer-events:none}", " .tip{pointer-events:auto}"]
    rules += [f" .{name}{{{style}}}" for style, name in styles.items()]
    root[2].text = "".join(f"#{ident}{rule}" for rule in rules)
    return ET.tostring(root, encoding="unicode")


def _parse(drawn: str) -> tuple[dict[str, ET.Element], list[ET.Element]]:
    """Groups by id, and patterns, with tag names that have no namespace."""
    groups: dict[str, ET.Element] = {}
    patterns: list[ET.Element] = []
    for element in ET.fromstring(drawn).iter():  # noqa: S314 - what matplotlib wrote holds no word of others
        element.tag = element.tag.rpartition("}")[2]
        if element.tag == "pattern":
            patterns.append(element)
        elif element.tag == "g":
            groups[element.get("id", "")] = element
    return groups, patterns


def _outlines(sheet: Sheet) -> str:
    """What matplotlib writes: one group ``m<number>`` for each mark, colours standing for roles."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    # Whatever a user's matplotlibrc says, the same sheet gives the same text.
    settings = mpl.rc_context(
        {
            "svg.hashsalt": "pytest-llmkg",
            "svg.fonttype": "none",
            "path.simplify": False,
            "path.snap": False,
            "path.sketch": None,
            "path.effects": [],
            "hatch.linewidth": 1.2,
            "savefig.bbox": None,
            "savefig.transparent": False,
        }
    )
    with settings:
        figure = Figure(figsize=(sheet.width / 72, sheet.height / 72), dpi=72)
        FigureCanvasSVG(figure)
        figure.patch.set_visible(False)
        _add_patches(figure, sheet)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return text.getvalue()


def _add_patches(figure: Figure, sheet: Sheet) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D

    upright = Affine2D().scale(1, -1).translate(0, sheet.height)
    for number, mark in enumerate(sheet.marks):
        vertices = mark.outline.vertices
        path = Path([(x, y) for x, y, _ in vertices], [code for _, _, code in vertices])
        patch = PathPatch(
            path,
            transform=upright,
            facecolor=_CODES[mark.fill] if mark.fill else "none",
            edgecolor=_CODES[mark.line] if mark.line else "none",
            linewidth=mark.width if mark.line and not mark.hatch else 0,
            linestyle=(0, mark.dash) if mark.dash else "solid",
            hatch=mark.hatch,
            alpha=None if mark.opacity == 1 else mark.opacity,
            capstyle="round" if not mark.dash else "butt",
            gid=f"m{number}",
            clip_on=False,
        )
        figure.add_artist(patch)


def _root(sheet: Sheet, ident: str, title: str, description: str, classes: str) -> ET.Element:
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "id": ident,
            "class": classes,
            "viewBox": f"0 0 {_short(sheet.width)} {_short(sheet.height)}",
            "width": "100%",
            "role": "img",
            "aria-labelledby": f"{ident}-title {ident}-desc",
            "font-family": "system-ui, sans-serif",
        },
    )
    for tag, text in (("title", title), ("desc", description)):
        ET.SubElement(root, tag, {"id": f"{ident}-{tag}"}).text = _clean(text, 6000)
    ET.SubElement(root, "style")
    return root


def _add_patterns(root: ET.Element, patterns: list[ET.Element], ident: str, styles: dict[str, str]) -> dict[str, str]:
    """Hatches, with ids of this plot; returns old names to new ones."""
    if not patterns:
        return {}
    place = ET.SubElement(root, "defs")
    names = {}
    for number, pattern in enumerate(patterns):
        names[pattern.get("id", "")] = name = f"{ident}-h{number}"
        new = ET.SubElement(place, "pattern", dict(pattern.attrib) | {"id": name})
        for child in pattern:
            part = ET.SubElement(new, child.tag, {k: v for k, v in child.attrib.items() if k not in ("style", "fill")})
            if "d" in child.attrib:
                part.set("d", _compact(child.get("d", "")))
            style = child.get("style") or f"fill: {child.get('fill')}"
            part.set("class", _class(style, {}, styles))
    return names


def _add_mark(root: ET.Element, group: ET.Element, mark: Mark, names: dict[str, str], styles: dict[str, str]) -> None:
    for child in group:
        if "d" not in child.attrib:
            continue
        name = _class(child.get("style", ""), names, styles)
        path = ET.SubElement(root, "path", {"class": name, "d": _compact(child.get("d", ""))})
        if mark.tip:
            ET.SubElement(path, "title").text = _clean(mark.tip)


def _add_words(root: ET.Element, words: Words, styles: dict[str, str]) -> None:
    style = f"font-size:{_short(words.size)}px;fill:{css_colour(words.color)}"
    style += f";text-anchor:{words.anchor}" if words.anchor != "start" else ""
    style += ";font-weight:600" if words.bold else ""
    if words.halo:
        style += f";paint-order:stroke;stroke-linejoin:round;stroke-width:3px;stroke:{css_colour('card')}"
    name = styles.setdefault(style, f"c{len(styles)}")
    element = ET.SubElement(root, "text", {"class": f"{name} tip" if words.tip else name})
    x, y = _short(words.x), _short(words.y)
    element.attrib.update({"x": x, "y": y})
    if words.angle:
        element.set("transform", f"rotate({_short(words.angle)} {x} {y})")
    element.text = _clean(words.text)
    if words.tip:
        ET.SubElement(element, "title").text = _clean(words.tip)


def _class(style: str, names: dict[str, str], styles: dict[str, str]) -> str:
    """The class for ``style``, which is added to ``styles`` when it is new."""
    for old, new in names.items():
        style = style.replace(f"url(#{old})", f"url(#{new})")
    parts = [part.strip() for part in style.split(";")]
    text = ";".join(part.replace(": ", ":") for part in parts if part and part not in _DEFAULTS)
    text = _HEX.sub(lambda match: css_colour(_SENTINELS[match[0]]), text)
    return styles.setdefault(text, f"c{len(styles)}")


def _compact(outline: str) -> str:
    return _BETWEEN.sub(r"\1", _NUMBER.sub(lambda match: _short(float(match[0])), outline)).strip()


def _short(number: float) -> str:
    """At most one decimal: a tenth of a pixel."""
    text = f"{number:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _clean(text: str, most: int = 400) -> str:
    """``text`` on one line, cut where no one would read on."""
    short = " ".join(text[: 2 * most].split())[:most]
    return visible(short if len(text) <= most else f"{short}\N{HORIZONTAL ELLIPSIS}")
