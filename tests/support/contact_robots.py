"""Small robots for the tests of contacts: random bodies, frames away from the joints, every kind of base."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pinocchio as pin

import trajopt
from tests.support.dynamics_models import JOINTS, append, mimic_tree, tree
from trajopt.robots import Robot

Reals = npt.NDArray[np.float64]


def legged(legs: int, joints: list[str], seed: int) -> pin.Model:
    """A free flyer with legs of these joints; the last frame of each leg is its foot."""
    rng, model = np.random.default_rng(seed), pin.Model()
    base = append(model, 0, pin.JointModelFreeFlyer(), "base", rng)
    for leg in range(legs):
        parent = base
        for i, joint in enumerate(joints):
            parent = append(model, parent, JOINTS[joint](rng), f"leg{leg}_{i}", rng)
        model.addFrame(pin.Frame(f"foot{leg}", parent, 0, _placement(rng), pin.FrameType.OP_FRAME))
    model.armature = rng.uniform(0.1, 0.5, model.nv)
    model.damping = rng.uniform(0.1, 1.0, model.nv)
    model.friction = rng.uniform(0.1, 1.0, model.nv)
    return model


def _placement(rng: np.random.Generator) -> pin.SE3:
    return pin.SE3(pin.exp3(rng.normal(size=3)), 0.5 * rng.normal(size=3))


LENGTHS = (0.3, 0.8, 0.6, 0.7)  # crank, coupler, rocker, ground: Grashof's condition holds, the crank turns [m]


def four_bar() -> pin.Model:
    """Crank and coupler in a chain, the rocker beside it, in the x-z plane; "pin" of both bars is to be joined.

    Bars are along x of their frames and turn about -y, so that x and z of the tip are l cos q and l sin q.
    """
    model = pin.Model()
    model.name = "four-bar"
    down = np.array([0.0, -1.0, 0.0])
    crank, coupler, rocker, ground = LENGTHS
    at = {"crank": (0, 0.0), "coupler": (1, crank), "rocker": (0, ground)}
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", rocker)):
        parent, offset = at[name]
        place = pin.SE3(np.eye(3), np.array([offset, 0.0, 0.0]))
        joint = model.addJoint(parent, pin.JointModelRevoluteUnaligned(down), place, name)
        inertia = pin.Inertia(2.0 * length, np.array([0.4 * length, 0.0, 0.0]), 0.1 * length**3 * np.eye(3))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        tip = pin.SE3(np.eye(3), np.array([length, 0.0, 0.0]))
        model.addFrame(pin.Frame(f"{name}_tip", joint, 0, tip, pin.FrameType.OP_FRAME))
    return model


def grounded_tree(names: list[str], seed: int) -> pin.Model:
    """A chain of joints on the world, with a frame "ground" that the world itself carries."""
    model = tree(names, seed, chain=True)
    place = _placement(np.random.default_rng(seed))
    model.addFrame(pin.Frame("ground", 0, 0, place, pin.FrameType.OP_FRAME))
    return model


ROBOTS: dict[str, Callable[[], pin.Model]] = {
    "hopper": lambda: legged(1, ["RX", "RevoluteUnaligned"], 1),
    "biped": lambda: legged(2, ["RX", "RY", "PZ"], 2),
    "quadruped": lambda: legged(4, ["RX", "RY"], 3),
    "arm": lambda: grounded_tree(["Spherical", "Universal", "RX"], 4),
    "slider": lambda: grounded_tree(["Planar", "RUBY", "PrismaticUnaligned"], 5),
    "zoo": lambda: grounded_tree(["Ellipsoid", "SphericalZYX", "Translation"], 6),
    "mimic": lambda: mimic_tree(2),
    "four-bar": four_bar,
    "variable": lambda: legged(1, ["RX"], 7),
}
PARAMETERS = {
    "variable": [
        *("base_frame.mass", "foot0.mass", "foot0.com", "foot0.inertia"),
        *("leg0_0.damping", "leg0_0.friction", "leg0_0.armature", "leg0_0.translation", "leg0_0.rotation"),
        *("foot0.translation", "foot0.rotation"),
    ]
}


@cache
def robot_state(name: str) -> trajopt.StateMultibody:
    """The state of a robot of the list."""
    return trajopt.StateMultibody(Robot(ROBOTS[name](), name=name).with_parameters(PARAMETERS.get(name, ())))


def random_state(name: str, seed: int) -> Reals:
    """A state with configuration and velocity of order 1."""
    state, rng = robot_state(name), np.random.default_rng(seed)
    return state.integrate(state.zero(), rng.normal(size=state.ndx))
