"""Arms, targets and tasks for tests and benchmarks of inverse kinematics."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pinocchio as pin

import trajopt

Reals = npt.NDArray[np.float64]

ARMS = {
    "panda": ("panda", "panda_hand"),
    "iiwa": (str(Path(__file__).with_name("iiwa.urdf")), "contact"),
    "ur10": ("ur10", "tool0"),
    "talos_arm": ("talos_arm", "gripper_left_joint"),
}
"""Robot, or its file, and frame of each arm."""


@cache
def arm(name: str) -> tuple[trajopt.StateMultibody, str]:
    """State and frame of an arm."""
    source, frame = ARMS[name]
    return trajopt.StateMultibody(trajopt.load_robot(source)), frame


def placement_task(state: trajopt.StateMultibody, frame: str, target: object = None) -> trajopt.ConstraintStack:
    """A frame's placement as a hard task, named "tool"."""
    residual = trajopt.ResidualModelFramePlacement(state, frame, target)
    return trajopt.ConstraintStack(state).add("tool", residual, equals=0.0)


def placements(state: trajopt.StateMultibody, frame: str, q: Reals) -> Reals:
    """Placements (n, 4, 4) of a frame at configurations (n, nq), by Pinocchio."""
    data, index = state.model.createData(), state.robot.frame_id(frame)
    result = np.empty((len(q), 4, 4))
    for i, each in enumerate(q):
        pin.framesForwardKinematics(state.model, data, each)
        result[i] = data.oMf[index].homogeneous
    return result


def reachable(state: trajopt.StateMultibody, frame: str, count: int, seed: int) -> Reals:
    """Placements (count, 4, 4) at random configurations within limits."""
    rng = np.random.default_rng(seed)
    return placements(state, frame, np.array([state.rand(rng)[: state.nq] for _ in range(count)]))


def errors(found: Reals, targets: Reals) -> Reals:
    """Largest element of the twist from each target to each placement, (n,) [m, rad]."""
    twists = [pin.log6(pin.SE3(b).actInv(pin.SE3(a))).vector for a, b in zip(found, targets, strict=True)]
    return np.abs(twists).max(axis=1)


def within(state: trajopt.StateMultibody, q: Reals) -> npt.NDArray[np.bool_]:
    """Whether configurations (n, nq) of an arm are within its limits, to the last bit, (n,)."""
    return np.all((q >= state.lower[: state.nv]) & (q <= state.upper[: state.nv]), axis=1)


def three_links(lengths: tuple[float, ...] = (10.0, 10.0, 10.0)) -> trajopt.StateMultibody:
    """A planar arm in the x-y plane with frame "tip", joints within ±3 rad."""
    model, parent, placement = pin.Model(), 0, pin.SE3.Identity()
    model.name = "three-links"
    for i, length in enumerate(lengths):
        parent = model.addJoint(parent, pin.JointModelRZ(), placement, f"joint_{i + 1}")
        model.appendBodyToJoint(parent, pin.Inertia.Random(), pin.SE3.Identity())
        placement = pin.SE3(np.eye(3), np.array([length, 0.0, 0.0]))
    model.addFrame(pin.Frame("tip", parent, 0, placement, pin.FrameType.OP_FRAME))
    model.lowerPositionLimit, model.upperPositionLimit = np.full(3, -3.0), np.full(3, 3.0)
    return trajopt.StateMultibody(trajopt.Robot(model))
