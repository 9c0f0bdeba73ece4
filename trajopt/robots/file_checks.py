"""Check of masses, inertias and axes in robot files: Pinocchio accepts impossible ones, or reads them as 0."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals

_LEAST = 1e-6  # negative principal moments down to -1e-6 count as rounded if all are < 1; Tiago has -4e-8 [kg m²]
_TURNS_OR_SLIDES = ("revolute", "continuous", "prismatic", "hinge", "slide")


def check_file(path: Path) -> None:
    """Checks that a URDF or MJCF file has masses and principal moments >= 0, and axes that are not zero.

    Raises:
        InvalidArgumentError: A value is invalid; the message names the link or the joint.
    """
    root = _read(path)
    for link in [] if root is None else [*root.findall("link"), *root.iter("body")]:
        for entry in link.findall("inertial"):
            _check_inertial(link.get("name", ""), entry, path)
    for name, joint in _joints(root):
        axis = joint.find("axis")
        text = joint.get("axis") if axis is None else axis.get("xyz")
        if text is not None and joint.get("type", "hinge") in _TURNS_OR_SLIDES and _is_zero(text):
            raise InvalidArgumentError(
                f"joint {name!r}: expected an axis other than 0, got {text!r}; correct it in {str(path)!r}"
            )


def _read(path: Path) -> Element | None:
    """XML elements of a file, with prefixes such as xacro: unresolved; None if only Pinocchio's parser can read it."""
    builder, parser = TreeBuilder(), expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError:
        return None
    return builder.close()


def _joints(root: Element | None) -> Iterator[tuple[str, Element]]:
    """Joints of a URDF or MJCF file with their names; a joint without a name gets that of its body."""
    if root is not None:
        yield from ((joint.get("name", ""), joint) for joint in root.findall("joint"))
        for body in root.iter("body"):
            yield from ((joint.get("name", body.get("name", "")), joint) for joint in body.findall("joint"))


def _check_inertial(link: str, entry: Element, path: Path) -> None:
    """Checks an <inertial>; a URDF has the elements <mass> and <inertia>, an MJCF has attributes."""
    mass, inertia = entry.find("mass"), entry.find("inertia")
    text = entry.get("mass", "") if mass is None else mass.get("value", "")
    if (_numbers(text) < 0.0).any():
        raise InvalidArgumentError(
            f"link {link!r}: expected a mass >= 0, got {text} kg; correct its <inertial> in {str(path)!r}"
        )
    if inertia is None:
        numbers = _numbers(entry.get("fullinertia", entry.get("diaginertia", "")))
    else:
        numbers = _numbers(" ".join(inertia.get(key, "0") for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")))
    xx, yy, zz, xy, xz, yz = np.concatenate([numbers, np.zeros(6)])[:6]
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if moments[0] < -_LEAST * max(1.0, moments[-1]):
        raise InvalidArgumentError(
            f"link {link!r}: expected an inertia whose principal moments are >= 0, got {moments[0]:.6g} kg m²; "
            f"correct its <inertial> in {str(path)!r}"
        )


def _is_zero(text: str) -> bool:
    numbers = _numbers(text)
    return len(numbers) == 3 and not numbers.any()


def _numbers(text: str) -> Reals:
    """Numbers in an attribute; empty if a word is not a number, since Pinocchio's parser has accepted it."""
    try:
        numbers = np.array([float(word) for word in text.split()])
    except ValueError:
        return np.empty(0)
    return numbers if np.isfinite(numbers).all() else np.empty(0)
