"""Check of the sizes of geoms in MJCF files, from which Pinocchio computes masses and inertias."""

from __future__ import annotations

from trajopt.errors import shown
from trajopt.robots.mjcf_classes import Attributes, with_classes
from trajopt.robots.xml_elements import XmlElement

_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
"""Sizes that a geom of a type has [-]; with `fromto`, the last one follows from that."""


def check_geoms(root: XmlElement) -> None:
    """Checks that each geom has sizes > 0, after the defaults of its class.

    Raises:
        InvalidArgumentError: A size is missing or not > 0, or both ends of a geom are at one point.
    """
    for geom, attributes in with_classes(root, ("geom",)):
        _check(geom, attributes)


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
