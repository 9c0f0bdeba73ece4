"""Check of the sizes of geoms in MJCF files, from which Pinocchio computes masses and inertias."""

from __future__ import annotations

from collections.abc import Mapping

from trajopt.errors import shown
from trajopt.robots.xml_elements import XmlElement

_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
"""Sizes that a geom of a type has [-]; with `fromto`, the last one follows from that."""

Attributes = Mapping[str, XmlElement]
"""Elements that set each attribute of a geom."""


def check_geoms(root: XmlElement) -> None:
    """Checks that each geom has sizes > 0, after the defaults of its class.

    Raises:
        InvalidArgumentError: A size is missing or not > 0, or both ends of a geom are at one point.
    """
    classes: dict[str, Attributes] = {}
    for entry in root.all("default"):
        _read_class(entry, {}, classes)
    for body in root.all("worldbody"):
        _check_inside(body, "main", classes)


def _read_class(entry: XmlElement, inherited: Attributes, classes: dict[str, Attributes]) -> None:
    own = {name: geom for geom in entry.all("geom") for name in geom.attributes}
    classes[entry.attributes.get("class", "main")] = attributes = {**inherited, **own}
    for child in entry.all("default"):
        _read_class(child, attributes, classes)


def _check_inside(element: XmlElement, name: str, classes: Mapping[str, Attributes]) -> None:
    name = element.attributes.get("childclass", name)
    for child in element.children:
        if child.tag == "geom":
            default = classes.get(child.attributes.get("class", name), {})
            _check(child, {**default, **dict.fromkeys(child.attributes, child)})
        else:
            _check_inside(child, name, classes)


def _check(geom: XmlElement, attributes: Attributes) -> None:
    kind = attributes["type"].attributes["type"] if "type" in attributes else "sphere"
    if kind not in _SIZES or "mesh" in attributes:
        return
    has_ends = "fromto" in attributes and kind != "sphere"
    count = 1 if has_ends else _SIZES[kind]
    sizes = attributes["size"].numbers("size") if "size" in attributes else []
    if len(sizes) < count or not all(size > 0.0 for size in sizes[:count]):
        text = attributes["size"].attributes["size"] if "size" in attributes else "none"
        wanted = "a size > 0" if count == 1 else f"{count} sizes > 0"
        raise geom.refusal(f"{wanted} of a {kind}", shown(text) if sizes else text)
    if has_ends:
        ends = attributes["fromto"].numbers("fromto")
        if ends[:3] == ends[3:]:
            raise geom.refusal("two ends at different points as fromto", str(ends))
