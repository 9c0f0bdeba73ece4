"""Our problem for a trace in tests/data/crocoddyl, of those that peers/crocoddyl_legged.py defines."""

from __future__ import annotations

import dataclasses
import functools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

import trajopt
from tests.support.gait_robots import ARGUMENTS
from trajopt import gaits, problems
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import FDDPOptions, SolverFDDP

Reals = npt.NDArray[np.float64]
DATA = Path(__file__).parents[1] / "data" / "crocoddyl"


@dataclass(frozen=True, kw_only=True)
class Gait:
    """How a trace's problem is built.

    Attributes:
        robot: Name in example-robot-data.
        generator: Name of the function in trajopt.gaits.
        arguments: What it takes beside the stance and `ARGUMENTS`.
        integrator: "euler" or "rk4".
    """

    robot: str
    generator: str
    arguments: dict[str, Any] = field(default_factory=dict)
    integrator: str = "euler"

    def after_another(self) -> Gait:
        """The same as a later part of a chain: its first step is a whole one."""
        halves = self.generator in ("quadruped_walk", "quadruped_trot", "quadruped_pace", "biped_walk")
        return dataclasses.replace(self, arguments={**self.arguments, **({"first_step": "full"} if halves else {})})


FEET = {
    "anymal": ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
    "hyq": ("lf_foot", "rf_foot", "lh_foot", "rh_foot"),
    "go2": ("FL_foot", "FR_foot", "RL_foot", "RR_foot"),
    "talos_legs": ("right_sole_link", "left_sole_link"),
}
ANYMAL = {
    name: Gait(robot="anymal", generator=f"quadruped_{name}") for name in ("walk", "trot", "pace", "bound", "jump")
}
HYQ = {
    "walk": {"step_length": 0.25, "step_height": 0.25},
    "trot": {"step_length": 0.15, "step_height": 0.2},
    "pace": {"step_length": 0.15, "step_height": 0.2, "support_knots": 2},
    "bound": {"step_length": 0.007, "step_height": 0.05, "support_knots": 12},
    "jump": {},
}
TALOS = {
    "walk": Gait(robot="talos_legs", generator="biped_walk"),
    "jump": Gait(robot="talos_legs", generator="biped_jump"),
    "walk-again": Gait(robot="talos_legs", generator="biped_walk", arguments={"support_knots": 2}),
}
SMALL = {"step_length": 0.1, "step_height": 0.05}
SLOW = {"dt": 0.0375, "step_knots": 25, "support_knots": 1}
GAITS = {
    **{f"anymal-{name}": gait for name, gait in ANYMAL.items()},
    **{f"anymal-chain-{name}": gait.after_another() for name, gait in ANYMAL.items() if name != "walk"},
    "anymal-walk-rk4": dataclasses.replace(ANYMAL["walk"], integrator="rk4"),
    "anymal-com": Gait(robot="anymal", generator="quadruped_com_shift"),
    **{f"hyq-{n}": Gait(robot="hyq", generator=f"quadruped_{n}", arguments=given) for n, given in HYQ.items()},
    **{f"talos-legs-{name}": TALOS[name] for name in ("walk", "jump")},
    **{f"talos-legs-chain-{name}": TALOS[name].after_another() for name in ("jump", "walk-again")},
    "talos-legs-benchmark": dataclasses.replace(TALOS["walk"], arguments=SLOW),
    **{f"go2-{n}": Gait(robot="go2", generator=f"quadruped_{n}", arguments=SMALL) for n in ("walk", "trot")},
}
HUMANOIDS: dict[str, tuple[str, dict[str, Any]]] = {  # family and options: Crocoddyl's, whose limits are distances
    "humanoid-reach": ("humanoid-reach", {"damping": 0.0, "cone": 0.0}),
    "humanoid-reach-example": ("humanoid-reach", {"damping": 0.0, "cone": 0.0, "limits": "distance"}),
    "humanoid-taichi": ("humanoid-taichi", {"damping": 40.0, "cone": 0.0}),
    "humanoid-taichi-example-fddp": ("humanoid-taichi", {"damping": 40.0, "cone": 0.0, "limits": "distance"}),
}
NAMES = [*GAITS, *HUMANOIDS]


@functools.cache
def trace(name: str) -> dict[str, Any]:
    """A file of tests/data/crocoddyl."""
    content: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text())
    return content


@functools.cache
def models_of(robot: str, integrator: str, dynamics: str = "forward") -> gaits.GaitModels:
    """The models that all gaits of a robot share."""
    loaded = trajopt.load_robot(robot)
    soles = robot == "talos_legs"
    options = gaits.GaitOptions.crocoddyl(soles=soles, integrator=integrator, dynamics=dynamics)
    stance = gaits.Stance.of(loaded, FEET[robot], soles=soles)
    models = gaits.GaitModels(loaded, stance, options)
    if integrator == "rk4":  # Crocoddyl's: its derivatives leave out what a step does to the tangent space
        differential = models.running.differential
        vars(models)["running"] = trajopt.IntegratedActionModelRK4(differential, dt=1e-2, transport=False)
    return models


def problem_of(name: str, dynamics: str = "forward") -> ShootingProblem:
    """The problem of a trace, from the trace's x0."""
    if name in HUMANOIDS:
        family, given = HUMANOIDS[name]
        return problems.load(family, **given).problem
    gait, x0 = GAITS[name], np.array(trace(name)["x0"])
    models = models_of(gait.robot, gait.integrator, dynamics)
    # Crocoddyl's soles are to be as level and straight ahead as at first, wherever they are now.
    now = gaits.Stance.of(models.robot, FEET[gait.robot], x0)
    places = {foot: now.feet[foot].position for foot in FEET[gait.robot]}
    soles = {foot: pin.SE3(np.eye(3), np.array(place)) for foot, place in places.items()}
    stance = gaits.Stance(soles if gait.robot == "talos_legs" else places, now.com)
    return models.problem(getattr(gaits, gait.generator)(stance, **{**ARGUMENTS[gait.generator], **gait.arguments}), x0)


def options_of(name: str) -> FDDPOptions:
    """Crocoddyl's options of a trace."""
    told = trace(name)
    options = FDDPOptions.crocoddyl(
        max_iterations=told["max_iterations"], initial_regularization=told["initial_regularization"]
    )
    return dataclasses.replace(options, tolerance=told["th_stop"])


def guess_of(problem: ShootingProblem) -> tuple[Reals, Reals]:
    """x0 at all knots, and the controls that hold it."""
    xs = np.tile(problem.x0, (problem.T + 1, 1))
    return xs, problem.quasi_static(xs[:-1])


@functools.cache
def solved(name: str) -> Solution:
    """The problem of a trace, solved with Crocoddyl's options from its guess."""
    problem = problem_of(name)
    return SolverFDDP(problem, options_of(name)).solve(*guess_of(problem))
