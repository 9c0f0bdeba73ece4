"""Joints of MJCF files that follow other joints."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pinocchio as pin

from trajopt.robots.xml_elements import read_xml
from trajopt.types import Reals

_LOG = logging.getLogger(__name__)


def has_mimic(model: pin.Model) -> bool:
    """Whether joints of a model follow others: Pinocchio 4.1 crashes on them after a pickle of the model."""
    return any(joint.shortname() == "JointModelMimic" for joint in model.joints)


def with_equalities(model: pin.Model, path: Path) -> pin.Model:
    """Model whose joints follow others as the file's equalities of joints say, y = c_0 + c_1 x.

    An equality that is not linear, has one joint only, or couples joints of other kinds is left out, with a warning.

    Args:
        model: Model of the file.
        path: The MJCF file.
    """
    root, uncoupled = read_xml(path), model
    elements = [] if root is None else [*root.every()]
    references = {e.attributes.get("name"): e.attributes.get("ref", "0") for e in elements if e.tag == "joint"}
    for element in elements:
        if element.tag != "joint" or element.parent is None or element.parent.tag != "equality":
            continue
        own = element.attributes
        if own.get("active", "true") != "true":
            continue
        reason = _reason(model, own, references)
        if reason:
            names = " and ".join(own[key] for key in ("joint1", "joint2") if key in own)
            _LOG.warning("mimic: the equality of %s is left out, because %s", names, reason)
        else:
            model = _coupled(model, own)
    limit_leaders(model, uncoupled)
    return model


def limit_leaders(model: pin.Model, uncoupled: pin.Model) -> None:
    """Narrows the limits of joints q to those of the joints y = a q + b that follow them, in place.

    Limits of a follower that would leave no range are left out, with a warning. Limits of 0 and 0 are none.

    Args:
        model: Model with mimic joints.
        uncoupled: The same model without them, which has the limits of all joints.
    """
    for index in model.mimicking_joints:
        name, mimic = model.names[index], model.joints[index].extract()
        free = uncoupled.joints[uncoupled.getJointId(name)]
        if free.nq != 1 or not mimic.scaling:
            continue
        own = np.sort((_position_limits(uncoupled, free.idx_q) - mimic.offset) / mimic.scaling)
        lower, upper = np.clip(_position_limits(model, mimic.idx_q), *own)
        if lower >= upper:
            _LOG.warning("mimic: the limits of %s are left out, as the joint that it follows would have no range", name)
        elif np.isfinite(own).any():
            model.lowerPositionLimit[mimic.idx_q], model.upperPositionLimit[mimic.idx_q] = lower, upper
        fastest = np.array([uncoupled.velocityLimit[free.idx_v] / abs(mimic.scaling), model.velocityLimit[mimic.idx_v]])
        model.velocityLimit[mimic.idx_v] = min(fastest[fastest > 0.0], default=0.0)


def _position_limits(model: pin.Model, place: int) -> Reals:
    """Limits (2,) of a coordinate; infinite ones for 0 and 0, as files have that set none."""
    limits = np.array([model.lowerPositionLimit[place], model.upperPositionLimit[place]])
    return limits if limits.any() else np.array([-np.inf, np.inf])


def _coupled(model: pin.Model, own: Mapping[str, str]) -> pin.Model:
    """Model whose first joint of an equality follows the second, with smaller reference configurations."""
    follower, leader = (model.getJointId(own[key]) for key in ("joint1", "joint2"))
    offset, scaling = _coefficients(own)[:2]
    place = model.joints[follower].idx_q
    references = {entry.key(): np.delete(np.array(entry.data()), place) for entry in model.referenceConfigurations}
    coupled = pin.transformJointIntoMimic(model, leader, follower, scaling, offset)
    for name, q in references.items():
        coupled.referenceConfigurations[name] = q
    return coupled


def _coefficients(own: Mapping[str, str]) -> list[float]:
    """The five coefficients of an equality, those of y = x by default."""
    given = [float(number) for number in own.get("polycoef", "").split()]
    return (given + [0.0, 1.0, 0.0, 0.0, 0.0][len(given) :])[:5]


def _reason(model: pin.Model, own: Mapping[str, str], references: Mapping[str | None, str]) -> str:
    """Why an equality can't be a mimic joint; empty if it can."""
    for name in (own.get("joint1"), own.get("joint2")):
        if name is None:
            return "it names one joint only"
        if not model.existJointName(name):
            return f"there is no joint {name!r}"
        joint = model.joints[model.getJointId(name)]
        if (joint.nq, joint.nv) != (1, 1):
            return f"{name!r} follows another joint, or has more than one coordinate"
        if float(references.get(name, "0")):
            return f"{name!r} has a reference position"
    return "it is not linear" if any(_coefficients(own)[2:]) else ""
