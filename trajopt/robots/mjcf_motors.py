"""Torque limits of the motors of MJCF files, which Pinocchio does not read."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pinocchio as pin

from trajopt.robots.xml_elements import ACTUATORS, XmlElement, read_xml

_LOG = logging.getLogger(__name__)

Attributes = Mapping[str, str]


def limit_efforts(model: pin.Model, path: Path) -> None:
    """Lowers the effort limits of a model to what the motors of its MJCF file can give.

    A motor gives at most gear · forcerange, and a <motor> or <general> of constant gain at most gear · gain ·
    ctrlrange; motors of one joint add up. Of a range that is not symmetric the smaller end counts. Motors of tendons
    or sites are left out, with a warning.

    Args:
        model: Model of the file.
        path: The MJCF file.
    """
    root = read_xml(path)
    limits: dict[str, float] = {}
    for tag, own in () if root is None else _actuators(root):
        limit = _limit(tag, own, _on(root, "autolimits"))
        joint = own.get("joint", own.get("jointinparent"))
        if joint is not None and model.existJointName(joint) and model.joints[model.getJointId(joint)].nv == 1:
            limits[joint] = limits.get(joint, 0.0) + limit
        elif np.isfinite(limit):
            name = own.get("name", tag)
            _LOG.warning(
                "%s: the limit of actuator %r is not used, as it does not move a single joint", path.name, name
            )
    for joint, limit in limits.items():
        at = model.joints[model.getJointId(joint)].idx_v
        least = min(limit, float(model.effortLimit[at]))
        for name in ("effortLimit", "upperEffortLimit", "lowerEffortLimit"):
            if hasattr(model, name):  # the latter two since Pinocchio 4
                getattr(model, name)[at] = -least if name.startswith("lower") else least


def _on(root: XmlElement | None, name: str) -> bool:
    """Whether a switch of the compiler is on, as it is by default."""
    compilers = [] if root is None else root.all("compiler")
    return all(compiler.attributes.get(name, "true") == "true" for compiler in compilers)


def _actuators(root: XmlElement) -> Iterator[tuple[str, Attributes]]:
    """Kind and attributes of each actuator, with those of its class."""
    classes = _classes(root)
    for group in root.all("actuator"):
        for element in group.children:
            inherited = classes.get(element.attributes.get("class", "main"), {})
            yield element.tag, {**inherited, **element.attributes}


def _classes(root: XmlElement) -> dict[str, Attributes]:
    """Attributes of actuators by class; the outermost class is "main"."""
    found: dict[str, Attributes] = {}

    def visit(element: XmlElement, inherited: Attributes) -> None:
        own = dict(inherited)
        for child in element.children:
            if child.tag in ACTUATORS:
                own.update({name: text for name, text in child.attributes.items() if name != "class"})
        outermost = element.parent is None or element.parent.tag != "default"
        found["main" if outermost else element.attributes.get("class", "")] = own
        if outermost and "class" in element.attributes:
            found[element.attributes["class"]] = own
        for child in element.all("default"):
            visit(child, own)

    for element in root.all("default"):
        visit(element, found.get("main", {}))
    return found


def _limit(tag: str, own: Attributes, auto: bool) -> float:
    """Largest force along a joint that an actuator can give, in either direction; infinite without a limit."""
    gear = abs(_numbers(own, "gear", (1.0,))[0])
    least = _end(own, "force", auto)
    gain = _numbers(own, "gainprm", (1.0,))[0] if tag == "general" else 1.0
    follows = tag == "motor" or (tag == "general" and {own.get("gaintype", "fixed")} == {"fixed"})
    if follows and own.get("biastype", "none") == "none":
        least = min(least, abs(gain) * _end(own, "ctrl", auto))
    return gear * least


def _end(own: Attributes, name: str, auto: bool) -> float:
    """End of a range of an actuator that is nearer to 0, of those that it can go to; infinite if it has none."""
    limited = own.get(f"{name}limited", "auto")
    if f"{name}range" not in own or limited == "false" or (limited == "auto" and not auto):
        return np.inf
    lower, upper = _numbers(own, f"{name}range", (-np.inf, np.inf))
    return upper if lower >= 0.0 else -lower if upper <= 0.0 else min(-lower, upper)


def _numbers(own: Attributes, name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(float(word) for word in own[name].split()) if name in own else default
