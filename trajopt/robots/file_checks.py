"""Check of numbers in robot files: Pinocchio reads many mistakes as 0 or as other values, in silence."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.parsers import expat

import numpy as np

from trajopt.errors import InvalidArgumentError, shown
from trajopt.robots.mjcf_checks import check_mjcf
from trajopt.robots.parameters import MOST
from trajopt.robots.xml_elements import ACTUATORS, XmlElement, parse_xml, read_xml

_logger = logging.getLogger(__name__)

_LEAST = 1e-6  # negative principal moments down to -1e-6 count as rounded if all are < 1; Tiago has -4e-8 [kg m²]
_FAR = 50.0  # largest distance of a joint from its parent, or of a centre of mass, that is rather in metres [m]
_TINY = 1e-12  # moments below this are placeholders [kg m²]
_MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")  # of joints of a URDF
_TURNS_OR_SLIDES = ("revolute", "continuous", "prismatic", "hinge", "slide")

Counts = Mapping[str, Mapping[str, int | None]]

_URDF: Counts = {
    "mass": {"value": 1},
    "inertia": dict.fromkeys(_MOMENTS, 1),
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "limit": dict.fromkeys(("lower", "upper", "effort", "velocity"), 1),
    "mimic": {"multiplier": 1, "offset": 1},
    "dynamics": {"damping": 1, "friction": 1},
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "mesh": {"scale": 3},
}
"""How many numbers the attributes of elements inside the links and joints of a URDF have; None for any."""

_POSE: dict[str, int | None] = {"pos": 3, "quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}
_MJCF: Counts = {
    "option": {"gravity": 3},
    "compiler": {"inertiagrouprange": 2, "settotalmass": 1},
    "body": _POSE,
    "inertial": _POSE | {"mass": 1, "diaginertia": 3, "fullinertia": 6},
    "joint": {
        "pos": 3,
        "axis": 3,
        "range": 2,
        "ref": 1,
        "armature": 1,
        "damping": None,
        "frictionloss": 1,
        "stiffness": None,
    },
    "geom": _POSE | {"size": None, "fromto": 6, "mass": 1, "density": 1},
    "site": _POSE | {"size": None, "fromto": 6},
    **{kind: {"gear": None, "ctrlrange": 2, "forcerange": 2, "gainprm": None} for kind in ACTUATORS},
}
"""The same for elements of an MJCF."""


def check_file(path: Path) -> XmlElement | None:
    """Checks the numbers of a URDF or MJCF file; returns its content, None if only Pinocchio's parser can read it.

    A moment of inertia above the sum of the two others belongs to no body. Files in use have such moments, so they are
    only logged.

    Raises:
        InvalidArgumentError: A value is no number, not finite or impossible: a mass or a principal moment < 0, an axis
            of zeros, a lower limit above the upper one, a geom without size; links and joints of a URDF are no tree:
            a name occurs twice, a joint has an unknown type or link; or Pinocchio misreads a part of an MJCF. The
            message names the link or the joint, the element and its line.
    """
    root = read_xml(path)
    if root is None:
        return None
    if root.tag == "robot":
        _check_tree(root)
        elements = [e for part in root.children if part.tag in ("link", "joint") for e in part.every()]
        _check_numbers(elements, _URDF)
    else:
        elements = [
            e
            for e in root.every()
            if _above(e, ("worldbody", "default", "actuator")) or e.tag in ("option", "compiler")
        ]
        _check_numbers(elements, _MJCF)
        check_mjcf(root)
    for element in elements:
        if element.tag == "inertial":
            _check_inertial(element)
        elif element.tag == "joint":
            _check_joint(element)
    _check_lengths(elements)
    return root


def _check_lengths(elements: list[XmlElement]) -> None:
    """Logs a distance between joints, or to a centre of mass, that looks like one in millimetres, the largest of all.

    Joints of a root may be anywhere in the world. All joints of example-robot-data are within 0.9 m of their parents.
    """
    children = {child.attributes.get("link") for element in elements for child in element.all("child")}
    lengths = dict[XmlElement, float]()
    for element in elements:
        above, key = element.parent, "xyz" if element.tag == "origin" else "pos"
        nested = above is not None and above.tag == "inertial"
        if above is not None and above.tag == "joint" and (parent := above.first("parent")) is not None:
            nested = parent.attributes.get("link") in children
        if nested or element.tag == "inertial" or (element.tag == "body" and above is not None and above.tag == "body"):
            lengths[element] = float(np.linalg.norm(element.numbers(key) or 0.0))
    farthest = max(lengths, key=lambda element: lengths[element], default=None)
    if farthest is not None and lengths[farthest] > _FAR:
        _logger.warning(
            "%s: its origin is %.4g m away (line %d of %s); if the file is in millimetres, divide its lengths by 1,000 "
            "and moments of inertia in kg mm² by 1e6",
            farthest.owner,
            lengths[farthest],
            farthest.line,
            farthest.path,
        )


def broken(path: Path) -> str:
    """Reason why a file is no XML, which Pinocchio's parser writes to the terminal alone; empty if it is."""
    try:
        parse_xml(path)
    except (expat.ExpatError, LookupError, ValueError) as error:
        return f"XML that cannot be read: {error}"
    return ""


def _check_tree(root: XmlElement) -> None:
    """Checks that links and joints of a URDF are a tree: of others Pinocchio reads a part, or does not say why."""
    links, joints = root.all("link"), root.all("joint")
    why = _twice(links) or _twice(joints) or _bad_joint(joints, links) or _no_tree(joints, links)
    if why:
        raise InvalidArgumentError(f"source: expected a valid robot in {str(root.path)!r}, got: {why}")


def _twice(elements: Sequence[XmlElement]) -> str:
    """Sentence on a link or joint with the name of another one."""
    first = dict[str | None, XmlElement]()
    for element in elements:
        other = first.setdefault(element.attributes.get("name"), element)
        if other is not element:
            return f"{element.owner} in line {element.line}, a name that is taken in line {other.line}; rename one"
    return ""


def _bad_joint(joints: Sequence[XmlElement], links: Sequence[XmlElement]) -> str:
    """Sentence on a joint whose type or one of whose links does not exist, or that lacks limits."""
    names = {link.attributes.get("name") for link in links}
    for joint in joints:
        if (kind := joint.attributes.get("type")) not in _TYPES:
            return f"{joint.owner} in line {joint.line} has the type {kind!r}; expected one of {', '.join(_TYPES)}"
        limit = joint.first("limit")
        needs = (
            kind in ("revolute", "prismatic") if limit is None else not {"effort", "velocity"} <= set(limit.attributes)
        )
        if needs:
            other = "; a joint that turns without limits is 'continuous'" if kind == "revolute" else ""
            return f"{joint.owner} in line {joint.line} has no <limit> with effort and velocity{other}"
        for end in (*joint.all("parent"), *joint.all("child")):
            name = end.attributes.get("link")
            if name not in names:
                return f"{joint.owner} in line {end.line} has the {end.tag} {name!r}, and there is no such link"
    return ""


def _no_tree(joints: Sequence[XmlElement], links: Sequence[XmlElement]) -> str:
    """Sentence on links that are children of two joints or of none, or on a loop."""
    parents = dict[str | None, str | None]()
    for joint in joints:
        above, below = (
            end.attributes.get("link") if (end := joint.first(tag)) else None for tag in ("parent", "child")
        )
        if below in parents:
            return (
                f"{joint.owner} in line {joint.line} has the child {below!r}, as another joint has: links form a tree"
            )
        parents[below] = above
    roots = [name for link in links if (name := link.attributes.get("name")) not in parents]
    if len(roots) > 1:
        few = ", ".join(map(repr, roots[:5]))
        return (
            f"{len(roots)} links that are the child of no joint, {few}: join them, or remove all but one with its tree"
        )
    for name in parents:
        above, steps = name, 0
        while above in parents and steps <= len(parents):
            above, steps = parents[above], steps + 1
        if steps > len(parents):
            return f"a loop of joints above the link {name!r}: links form a tree"
    return ""


def _above(element: XmlElement, tags: tuple[str, ...]) -> bool:
    parent = element.parent
    return parent is not None and (parent.tag in tags or _above(parent, tags))


def _check_numbers(elements: list[XmlElement], counts: Counts) -> None:
    """Checks that attributes have as many numbers as they need, all finite."""
    for element in elements:
        for name, count in counts.get(element.tag, {}).items():
            if name not in element.attributes:
                continue
            numbers, text = element.numbers(name), element.attributes[name]
            if len(numbers) != (len(numbers) or 1 if count is None else count):
                wanted = "numbers" if count is None else "a number" if count == 1 else f"{count} numbers"
                raise element.refusal(f"{wanted} as {name}", shown(text))
            if not np.isfinite(numbers).all():
                cure = ", as a joint without limits is of type 'continuous'" if element.tag == "limit" else ""
                raise element.refusal(f"finite numbers as {name}{cure}", shown(text))


def _check_joint(joint: XmlElement) -> None:
    """Checks axis and limits; a URDF has the elements <axis> and <limit>, an MJCF has attributes."""
    axis, limit = joint.first("axis") or joint, joint.first("limit") or joint
    name = "axis" if axis is joint else "xyz"
    moves = joint.attributes.get("type", "hinge") in _TURNS_OR_SLIDES
    if moves and name in axis.attributes and not any(axis.numbers(name)):
        raise axis.refusal("an axis other than 0", shown(axis.attributes[name]))
    if limit is joint:
        lower, upper = joint.numbers("range") or (0.0, 0.0)
    else:
        lower, upper = (limit.numbers(end)[0] if end in limit.attributes else 0.0 for end in ("lower", "upper"))
    if lower > upper:
        raise limit.refusal("lower limit <= upper limit", f"{lower:g} > {upper:g}")


def _check_inertial(entry: XmlElement) -> None:
    """Checks an <inertial>; a URDF has the elements <mass> and <inertia>, an MJCF has attributes."""
    mass, inertia = entry.first("mass"), entry.first("inertia")
    is_urdf = entry.parent is not None and entry.parent.tag == "link"
    if is_urdf and (mass is None or "value" not in mass.attributes):
        raise (mass or entry).refusal("a <mass value>", "none, so that Pinocchio reads the link without mass")
    if is_urdf and (inertia is None or not all(name in inertia.attributes for name in _MOMENTS)):
        have = [] if inertia is None else [name for name in _MOMENTS if name in inertia.attributes]
        raise (inertia or entry).refusal(
            f"an <inertia> with {', '.join(_MOMENTS)}",
            f"{', '.join(have) or 'none'}, so that Pinocchio reads the link without inertia",
        )
    (kg,) = (entry.numbers("mass") if mass is None else mass.numbers("value")) or (0.0,)
    if kg < 0.0:
        raise (mass or entry).refusal("a mass >= 0", f"{kg:g} kg")
    _check_moments(entry, inertia, kg)


def _check_moments(entry: XmlElement, inertia: XmlElement | None, mass: float) -> None:
    if inertia is None:
        numbers = entry.numbers("fullinertia") or entry.numbers("diaginertia")
    else:
        numbers = [inertia.numbers(name)[0] for name in _MOMENTS]
    xx, yy, zz, xy, xz, yz = [*numbers, *[0.0] * 6][:6]
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if moments[0] < -_LEAST * max(1.0, moments[-1]):
        raise (inertia or entry).refusal("an inertia whose principal moments are >= 0", f"{moments[0]:.6g} kg m²")
    if mass > 0.0 and moments[0] > _TINY and moments[2] > MOST * (moments[0] + moments[1]):
        _logger.warning(
            "%s: no body has the principal moments %s kg m², as the largest is above the sum of the others (line %d of "
            "%s); the motion may be wrong",
            entry.owner,
            np.array2string(moments, precision=3),
            entry.line,
            entry.path,
        )
