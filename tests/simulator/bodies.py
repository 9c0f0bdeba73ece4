"""Small bodies in contact, on which tests of the simulator run."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from trajopt.simulator import MDPContact, Simulator
from trajopt.types import Reals

CORNERS = [(0.1, 0.08, -0.05), (-0.1, 0.08, -0.05), (0.1, -0.08, -0.05), (-0.1, -0.08, -0.05)]
MODES = (
    *("FORWARD_I", "INVERSE_I", "FORWARD_LF", "INVERSE_LF", "FORWARD_RK1F", "BACKWARD_RK1F", "INVERSE_BACKWARD_RK1F"),
    *("FORWARD_RK1I", "FORWARD_RK2I", "FORWARD_RK4I", "BACKWARD_RK1I"),
)


def block() -> pin.Model:
    """A block of 2 kg on a free flyer, with a pendulum of 0.5 kg on its top."""
    model = pin.Model()
    model.name = "block"
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    model.appendBodyToJoint(base, pin.Inertia(2.0, np.zeros(3), np.diag([0.01, 0.02, 0.03])), pin.SE3.Identity())
    model.addFrame(pin.Frame("box", base, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    arm = model.addJoint(base, pin.JointModelRY(), pin.SE3(np.eye(3), np.array([0.02, 0.0, 0.06])), "arm")
    inertia = pin.Inertia(0.5, np.array([0.0, 0.01, 0.1]), np.diag([0.002, 0.003, 0.001]))
    model.appendBodyToJoint(arm, inertia, pin.SE3.Identity())
    tip = pin.SE3(np.eye(3), np.array([0.0, 0.01, 0.15]))
    model.addFrame(pin.Frame("tip", arm, model.getFrameId("arm"), tip, pin.FrameType.OP_FRAME))
    return model


def corners(**options: object) -> list[MDPContact]:
    """Contacts of the block's lower corners, with options of `MDPContact`."""
    return [MDPContact("box", corner, name=f"corner{i}", **options) for i, corner in enumerate(CORNERS)]


def simulator(mode: str = "FORWARD_RK1F", *, strength: float | None = None, **options: object) -> Simulator:
    """The block on the floor; impulses are of other units than forces, and so is their strength."""
    level = 1e6 if mode.endswith("F") else 1e4
    return Simulator(block(), corners(strength=level if strength is None else strength), mode, **options)


def state(depth: float, seed: int = 0, speed: float = 1.0, tilt: float = 0.3) -> Reals:
    """A random state (q, v) of the block, its lowest corner so deep in the floor [m]."""
    rng = np.random.default_rng(seed)
    turn = pin.exp3(tilt * rng.standard_normal(3))
    low = min((turn @ np.array(corner))[2] for corner in CORNERS)
    quaternion = pin.Quaternion(turn).coeffs()
    q = np.concatenate([[0.3, -0.2, -low - depth], quaternion, rng.uniform(-1.0, 1.0, 1)])
    return np.concatenate([q, speed * rng.standard_normal(7)])


def whole_input(sim: Simulator, depth: float, seed: int = 0, speed: float = 1.0) -> Reals:
    """A random input of a mode."""
    x = state(depth, seed, speed)
    more = 0 if sim.mode.name.startswith("FORWARD") else 7
    return np.concatenate([x, np.random.default_rng(seed + 100).standard_normal(more)])
