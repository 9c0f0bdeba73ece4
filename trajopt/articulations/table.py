"""Table of a robot's joints: types, sizes, positions in q and v, axes, limits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from trajopt.actuation.base import NO_LIMIT
from trajopt.articulations.joints import STRAIGHT, AxesJoint, Joint, joints_of
from trajopt.articulations.maximal import body_names
from trajopt.checks import check_flag
from trajopt.robots import Robot
from trajopt.types import Reals

TYPES = {
    "revolute": "revolute",
    "unbounded": "revolute",
    "prismatic": "prismatic",
    "helical": "helical",
    "spherical": "ball",
    "translation": "d6",
    "planar": "planar",
    "free_flyer": "free",
}
"""Type of a joint with a single part, by the kind of the part."""


@dataclass(frozen=True, kw_only=True)
class JointRow:
    """A joint of a robot.

    Attributes:
        name: Name of the joint.
        type: "revolute", "prismatic", "helical", "ball", "planar", "free", "distance", "universal", "d6" or "fixed".
        parent: Name of the body that carries it; "world" if there is none.
        child: Name of the body that it moves.
        nq: Number of coordinates [-].
        nv: Number of velocities [-].
        q_start: Index of its first coordinate in q [-].
        v_start: Index of its first velocity in v [-].
        n_linear: Number of sliding axes, which come first in v [-].
        n_angular: Number of rotation axes [-].
        axes: Axes at q = 0, in the frame of the joint on its parent (nv, 3) [-].
        lower: Lower limits of the coordinates (nq,) [rad, m]; -inf for no limit and for coordinates that are neither
            angles nor lengths.
        upper: Upper limits, likewise (nq,) [rad, m].
        velocity: Largest velocities, inf for no limit (nv,) [rad/s, m/s].
        effort: Largest torques and forces, inf for no limit (nv,) [N m, N].
        distance: Bounds of the distance of a distance joint [m]; None for other joints.
    """

    name: str
    type: str
    parent: str
    child: str
    nq: int = 0
    nv: int = 0
    q_start: int
    v_start: int
    n_linear: int = 0
    n_angular: int = 0
    axes: Reals = field(default_factory=lambda: np.zeros((0, 3)))
    lower: Reals = field(default_factory=lambda: np.zeros(0))
    upper: Reals = field(default_factory=lambda: np.zeros(0))
    velocity: Reals = field(default_factory=lambda: np.zeros(0))
    effort: Reals = field(default_factory=lambda: np.zeros(0))
    distance: tuple[float, float] | None = None


def joint_table(robot: Robot, *, fixed: bool = False) -> tuple[JointRow, ...]:
    """Rows that describe the joints of a robot, parents before children.

    Args:
        robot: The robot.
        fixed: Whether to include joints without coordinates; each follows the joint that moves its parent.

    Raises:
        InvalidArgumentError: `robot` is not a Robot.
        UnsupportedOperationError: The type of a joint is not supported.
    """
    bodies = ("world", *body_names(robot))
    model = robot.model
    rows = _fixed_rows(robot.model, 0) if check_flag("fixed", fixed) else []
    for i, joint in enumerate(joints_of(model), start=1):
        own = model.joints[i]
        q, v = slice(own.idx_q, own.idx_q + own.nq), slice(own.idx_v, own.idx_v + own.nv)
        axes, sliding = _axes(joint)
        plain = own.nq == own.nv
        lower, upper = (np.array(limit[q]) for limit in (model.lowerPositionLimit, model.upperPositionLimit))
        velocity, effort = (np.array(limit[v]) for limit in (model.upperVelocityLimit, model.upperEffortLimit))
        rows.append(
            JointRow(
                name=model.names[i],
                type="distance" if model.names[i] in robot.distances else _type(joint),
                parent=bodies[model.parents[i]],
                child=bodies[i],
                nq=own.nq,
                nv=own.nv,
                q_start=q.start,
                v_start=v.start,
                n_linear=sliding,
                n_angular=own.nv - sliding,
                axes=axes,
                lower=np.where(plain & (lower > -NO_LIMIT), lower, -np.inf),
                upper=np.where(plain & (upper < NO_LIMIT), upper, np.inf),
                velocity=np.where((velocity > 0) & (velocity < NO_LIMIT), velocity, np.inf),
                effort=np.where((effort > 0) & (effort < NO_LIMIT), effort, np.inf),
                distance=robot.distances.get(model.names[i]),
            )
        )
        rows += _fixed_rows(model, i) if fixed else []
    return tuple(rows)


def _fixed_rows(model: pin.Model, joint: int) -> list[JointRow]:
    """Rows of the fixed joints on the body that a joint moves; joint 0 is the world."""
    own, frames = model.joints[joint], list(model.frames)
    q, v = (own.idx_q + own.nq, own.idx_v + own.nv) if joint else (0, 0)
    return [
        JointRow(
            name=frame.name,
            type="fixed",
            parent=_link(frames, frame.parentFrame),
            child=next((f.name for f in frames if f.parentFrame == i and f.type == pin.FrameType.BODY), frame.name),
            q_start=q,
            v_start=v,
        )
        for i, frame in enumerate(frames)
        if i and frame.type == pin.FrameType.FIXED_JOINT and frame.parentJoint == joint
    ]


def _link(frames: list[pin.Frame], index: int) -> str:
    """Name of the link at a frame, or of the nearest link above it."""
    while index and frames[index].type != pin.FrameType.BODY:
        index = frames[index].parentFrame
    return str(frames[index].name) if index else "world"


def _type(joint: Joint) -> str:
    if not isinstance(joint, AxesJoint):
        return TYPES[joint.parts[0].kind]
    if len(joint.turning) == 1 and len(joint.sliding) == 2:
        return "planar" if np.abs(joint.slides @ joint.turns[0]).max() < STRAIGHT else "d6"
    return "universal" if len(joint.turning) == 2 and not joint.sliding else "d6"


def _axes(joint: Joint) -> tuple[Reals, int]:
    """Axes (nv, 3), and the number of sliding ones."""
    if isinstance(joint, AxesJoint):
        return np.vstack([joint.slides, joint.turns]), len(joint.slides)
    part = joint.parts[0]
    turned = part.before.R[:, :, 0]
    if part.kind in ("revolute", "unbounded", "helical", "prismatic"):
        return turned[:, 2][None].copy(), int(part.kind == "prismatic")
    axes = {"spherical": "xyz", "translation": "xyz", "planar": "xyz", "free_flyer": "xyzxyz"}[part.kind]
    sliding = {"spherical": 0, "translation": 3, "planar": 2, "free_flyer": 3}[part.kind]
    return np.array([turned[:, "xyz".index(axis)] for axis in axes]), sliding
