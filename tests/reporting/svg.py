"""Reading SVG elements of plots."""

from __future__ import annotations

from xml.etree import ElementTree as ET


def parsed(svg: str) -> ET.Element:
    root = ET.fromstring(svg)  # noqa: S314 - the project made it
    for element in root.iter():
        element.tag = element.tag.removeprefix("{http://www.w3.org/2000/svg}")
    return root


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in parsed(svg).iter("text")]
