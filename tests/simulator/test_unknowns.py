"""Columns of unknown parameters of the simulator: all modes and contact states against differences."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import trajopt
from tests.simulator.bodies import block, corners, state
from tests.simulator.test_action import WAYS, model
from tests.support.slow_twin import STEP, directions
from trajopt.actions.freed import ActionModelFreed
from trajopt.kernels.steps import Iteration
from trajopt.model.programs import outputs_at
from trajopt.simulator import Simulator
from trajopt.types import Reals

OF_ROBOT = [f"box.{name}" for name in ("mass", "com", "inertia")] + ["tip.mass"]
OF_ROBOT += [f"arm.{name}" for name in ("damping", "friction", "armature", "translation", "rotation")]


def standing() -> Reals:
    """The block at rest, at a depth where each corner could carry it alone."""
    x = state(0.0, tilt=0.0)
    x[2], x[8:] = 0.05 - 1e-3, 0.0
    return x


def moving(height: float, *velocity: float) -> Reals:
    """The same above its standing height [m], with a velocity (3,)."""
    x = standing()
    x[2] += height
    x[8:11] = velocity
    return x


STATES = {
    "standing": standing(),
    "sliding": moving(-5e-4, 2.0, 0.7, 0.0),
    "separating": moving(0.0, 0.1, 0.0, 1.0),
    "landing on two corners": np.append(state(2e-3, tilt=0.1)[:7], [0.999, 0.3, -0.2, -0.8, 0.5, -0.4, 0.3, 2.0]),
    "in the air": moving(0.2, 0.1, 0.2, 0.3),
}


@cache
def freed(mode: str, variant: str = "projected") -> ActionModelFreed:
    """The block with a pendulum, all parameters free; costs and rows read forces and accelerations if the mode can."""
    free = trajopt.Robot(block()).with_parameters(OF_ROBOT)
    stops = {"arm": (-1.0, 1.0)} if mode.endswith("RK1F") else None
    options = {"variant": variant, "joint_friction": trajopt.SmoothFriction(0.1), "joint_stops": stops}
    limits = np.array([9.0, 1.5, 9.0, 9.0, 9.0, 9.0, 0.4])
    sim = Simulator(free, corners(), mode, torque_limits=limits, **options)
    told = mode != "BACKWARD_RK1I" and (variant == "projected" or (mode, variant) == ("FORWARD_RK1I", "readme"))
    action = model(sim, forces=told)
    own = {name: p for name, p in action.simulator.parameters().items() if name != "tolerance"}
    sizes = {name: p.size for name, p in own.items()}
    return ActionModelFreed(action, {name: [f"{name}[{i}]" for i in range(size)] for name, size in sizes.items()})


QUICK = ("FORWARD_RK1F", "FORWARD_RK1I")
MARKED = [way if way[0] in QUICK else pytest.param(*way, marks=pytest.mark.slow) for way in WAYS]


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize(("mode", "variant"), MARKED)
def test_columns_of_unknowns(mode: str, variant: str, name: str) -> None:
    whole = freed(mode, variant)
    inner, n = whole.model, whole.model.state.ndx
    theta = np.concatenate([inner.parameters()[each].default.ravel() for each in whole.sizes])
    theta = np.where(theta == 0.0, 1e-3, theta)
    x, u, own = np.concatenate([STATES[name], theta]), np.array([1.0, -2.0, 0.5]), slice(n, n + len(theta))
    xnext, _, F, g, _, *rows = outputs_at(whole, whole.program("calc_diff"), x, u)
    columns = [F[:n, own], g.T[:, own], *([rows[1][:, own]] if whole.nc else [])]
    along = np.abs(theta)[:, None] * directions(len(theta)) * np.sqrt(len(theta))

    def at(change: Reals) -> list[Reals]:
        after, *others = outputs_at(whole, whole.program("calc"), np.concatenate([STATES[name], theta + change]), u)
        return [whole.state.difference(xnext.ravel(), after.ravel())[:n], *(each.ravel() for each in others)]

    ends = [(at(STEP * d), at(-STEP * d)) for d in along.T]
    for i, exact in enumerate(columns):
        numeric = np.array([(forth[i] - back[i]) / (2 * STEP) for forth, back in ends]).T
        assert np.abs(exact @ along - numeric).max() <= 1e-6 * max(1.0, np.abs(numeric).max())


def test_contact_states() -> None:
    """The states above are what they are called."""
    sim, tau = freed("FORWARD_RK1F").model.make_simulator(), np.array([1.0, -1.5, 0.0, 0.0, 0.0, 0.0, 0.4])
    forces = {name: np.array([*sim.contact_forces(5e-3, x, tau).values()]) for name, x in STATES.items()}
    after = {name: sim.simulate(5e-3, x, tau)[0][8:] for name, x in STATES.items()}
    assert forces["standing"][:, 2].min() > 1.0
    assert np.abs(after["standing"][:3]).max() < 1e-3
    tangent, normal = np.linalg.norm(forces["sliding"][:, :2], axis=1), forces["sliding"][:, 2]
    assert np.all(tangent > 0.99 * 0.7 * np.cos(np.pi / 6) * normal)
    assert after["sliding"][0] > 1.0
    assert np.abs(forces["separating"]).max() < 0.1
    assert after["separating"][2] > 0.9
    assert forces["landing on two corners"][3, 2] > 100.0
    assert after["landing on two corners"][6] < 0.5  # the stop
    assert np.abs(forces["in the air"]).max() < 1e-6


def test_columns_take_no_further_iteration() -> None:
    """They are right-hand sides of the step's own equations."""
    whole = freed("FORWARD_RK1F")
    repeated = [
        sum(isinstance(step, Iteration) for step in model.program("calc_diff").steps) for model in (whole.model, whole)
    ]
    assert repeated[0] == repeated[1] > 0
