"""Torque limits of the motors of MJCF files, which Pinocchio does not read."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from trajopt.robots.mjcf_classes import texts, with_classes
from trajopt.robots.mjcf_joints import FileJoint
from trajopt.robots.xml_elements import ACTUATORS, XmlElement

_LOG = logging.getLogger(__name__)


def limit_efforts(model: pin.Model, root: XmlElement, joints: Sequence[FileJoint], *, automatic: bool) -> None:
    """Lowers the effort limits of a model to what the motors of its MJCF file can give.

    A motor gives at most gear · forcerange, and a <motor> or <general> of constant gain at most gear · gain ·
    ctrlrange; motors of one joint add up. Of a range that is not symmetric the smaller end counts. Motors of tendons
    or sites are left out, with a warning.

    Args:
        model: Model of the file.
        root: The file.
        joints: Its joints.
        automatic: Whether a range is a limit without `ctrllimited` or `forcelimited`.
    """
    places = {joint.attributes.get("name"): joint.at_v for joint in joints if joint.kind in ("slide", "hinge")}
    limits: dict[int, float] = {}
    for element, attributes in with_classes(root, ACTUATORS):
        own = texts(attributes)
        limit = _limit(element.tag, own, automatic)
        joint = own.get("joint", own.get("jointinparent"))
        if joint is not None and joint in places:
            limits[places[joint]] = limits.get(places[joint], 0.0) + limit
        elif np.isfinite(limit):
            name = own.get("name", element.tag)
            _LOG.warning(
                "%s: the limit of actuator %r is not used, as it does not move a single joint", root.path.name, name
            )
    for at, limit in limits.items():
        least = min(limit, float(model.effortLimit[at]))
        for name in ("effortLimit", "upperEffortLimit", "lowerEffortLimit"):
            if hasattr(model, name):  # the latter two since Pinocchio 4
                getattr(model, name)[at] = -least if name.startswith("lower") else least


def _limit(tag: str, own: dict[str, str], auto: bool) -> float:
    """Largest force along a joint that an actuator can give, in either direction; infinite without a limit."""
    gear = abs(_numbers(own, "gear", (1.0,))[0])
    least = _end(own, "force", auto)
    gain = _numbers(own, "gainprm", (1.0,))[0] if tag == "general" else 1.0
    follows = tag == "motor" or (tag == "general" and {own.get("gaintype", "fixed")} == {"fixed"})
    if follows and own.get("biastype", "none") == "none":
        least = min(least, abs(gain) * _end(own, "ctrl", auto))
    return gear * least


def _end(own: dict[str, str], name: str, auto: bool) -> float:
    """End of a range of an actuator that is nearer to 0, of those that it can go to; infinite if it has none."""
    limited = own.get(f"{name}limited", "auto")
    if f"{name}range" not in own or limited == "false" or (limited == "auto" and not auto):
        return np.inf
    lower, upper = _numbers(own, f"{name}range", (-np.inf, np.inf))
    if lower == upper == 0.0:  # none, as in MuJoCo
        return np.inf
    return upper if lower >= 0.0 else -lower if upper <= 0.0 else min(-lower, upper)


def _numbers(own: dict[str, str], name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(float(word) for word in own[name].split()) if name in own else default
