"""Check of MJCF files: Pinocchio leaves out some of their parts, or reads them as other values, in silence."""

from __future__ import annotations

import numpy as np

from trajopt.errors import shown
from trajopt.robots.mjcf_classes import Attributes, with_classes
from trajopt.robots.xml_elements import XmlElement, read_xml

_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
"""Sizes that a geom of a type has [-]; with `fromto`, the last one follows from that."""

_ANEW = "(mujoco.MjSpec.from_file(path), .compile() and .to_xml() write such a file)"

_LEFT_OUT = {
    "frame": "its content in the body around it, placed by the frame's pose",
    "replicate": "each of its bodies",
    "attach": "the bodies of the attached model",
    "include": f"the content of the included file {_ANEW}",
}
"""What is expected instead of elements that the reader leaves out."""

_PLACED = ("body", "inertial", "geom", "site")
"""Elements whose rotation a robot has."""

_DECOR = {"asset", "visual", "statistic", "size", "custom", "sensor", "option"}
"""Parts of an included file that no robot needs."""


def check_mjcf(root: XmlElement) -> None:
    """Checks that Pinocchio's reader reads a file as MuJoCo does, apart from its joints, see `file_joints`.

    Raises:
        InvalidArgumentError: A part would be left out; a rotation or a mass would be another one; a geom has no size.
    """
    for element in root.every():
        if element.tag in _LEFT_OUT and not _is_decor(element):
            raise element.refusal(_LEFT_OUT[element.tag], f"<{element.tag}>, which Pinocchio's reader leaves out")
        if any(element.numbers("gravcomp")):
            raise element.refusal("no gravcomp", "one, which Pinocchio's reader leaves out")
        norm = np.linalg.norm(element.numbers("axisangle")[:3])
        if "axisangle" in element.attributes and element.tag in _PLACED and not np.isclose(norm, 1.0, atol=1e-5):
            raise element.refusal("an axis of norm 1 as axisangle", f"{norm:.6g}")
    classes = {"main", *(part.attributes.get("class") for part in root.every() if part.tag == "default")}
    for element in (each for part in root.children if part.tag != "default" for each in part.every()):
        for name in ("class", "childclass"):
            if element.attributes.get(name, "main") not in classes:
                raise element.refusal(f"a class of <default> as {name}", shown(element.attributes[name]))
    for again in root.all("default")[1:]:
        raise again.refusal("one <default>", "another one, of which Pinocchio's reader loses a part")
    groups = [0.0, np.inf]
    for compiler in root.all("compiler"):
        turned = any("euler" in element.attributes and element.tag in _PLACED for element in root.every())
        if turned and (order := compiler.attributes.get("eulerseq", "xyz")) != "xyz":
            raise compiler.refusal(f"angles in the order of eulerseq='xyz' or quaternions {_ANEW}", shown(order))
        if any(number > 0.0 for number in compiler.numbers("settotalmass")):
            raise compiler.refusal(f"masses of bodies {_ANEW}", "settotalmass")
        groups = compiler.numbers("inertiagrouprange") or groups
    for geom, attributes in with_classes(root, ("geom",)):
        _check_size(geom, attributes)
        if geom.parent is not None and geom.parent.tag == "body" and geom.parent.first("inertial") is None:
            _check_mass(geom, attributes, *groups)


def _is_decor(element: XmlElement) -> bool:
    """Whether a file is included that says nothing about bodies."""
    content = read_xml(path) if (path := element.path.parent / element.attributes.get("file", "")).is_file() else None
    if content is None or any("gravity" in element.attributes for element in content.every()):
        return False
    return {child.tag for child in content.children} <= _DECOR


def _check_mass(geom: XmlElement, attributes: Attributes, low: float, high: float) -> None:
    """Checks that a geom adds the same mass to its body as in MuJoCo, where its group is between low and high."""

    def number(name: str, default: float) -> float:
        return attributes[name].numbers(name)[0] if name in attributes else default

    wanted = "{}, or an <inertial> in its body"
    weightless, silent = (
        number("mass", number("density", 1.0)) == 0.0,
        number("contype", 1.0) == number("conaffinity", 1.0) == 0.0,
    )
    if weightless and silent:
        return
    if attributes.get("mass", geom) is not geom:
        raise geom.refusal(wanted.format("mass as its own attribute"), "that of its class, which Pinocchio leaves out")
    if weightless:
        return
    if "mesh" in attributes:
        raise geom.refusal("an <inertial> in its body", "a mesh, for which Pinocchio takes a mass of 1 kg")
    if not low <= number("group", 0.0) <= high:
        raise geom.refusal(wanted.format("mass='0'"), "a group outside of inertiagrouprange, where MuJoCo has no mass")
    if silent:
        raise geom.refusal(
            wanted.format("contype or conaffinity > 0, mass='0'"),
            "contype='0' and conaffinity='0', where Pinocchio has no mass",
        )


def _check_size(geom: XmlElement, attributes: Attributes) -> None:
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
