"""Valid arguments of integrators, with rows at stages and controls that change within a step."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import trajopt
from tests.fuzz.worlds import Swinging, World, world

RK = trajopt.IntegratedActionModelRK
CONTROLS = (trajopt.ControlParametrizationPolyZero, trajopt.ControlParametrizationPolyOne)


def bounded(w: World, rng: Random) -> Any:
    """Dynamics with constraint rows on states and controls."""
    rows = w.constraints(rng).add("force", trajopt.ResidualModelControl(w.state), lower=-5.0, upper=5.0)
    if w.kind == "vector":
        return Swinging(w.state, 1, w.costs(rng), constraints=rows)
    return trajopt.DifferentialActionModelFreeFwdDynamics(w.state, w.actuation(rng), w.costs(rng), constraints=rows)


def stage_knot(w: World, rng: Random) -> Any:
    """A step with rows at its stages."""
    tableau = rng.choice([trajopt.Tableau.HEUN, trajopt.Tableau.MIDPOINT, trajopt.Tableau.CLASSICAL])
    return RK(bounded(w, rng), 0.05, tableau=tableau, rows="stages")


def stage_problem(w: World, rng: Random) -> trajopt.ShootingProblem:
    """A problem of such steps; that of an arm in a world of legs."""
    w = world("arm") if w.legged else w
    return trajopt.ShootingProblem(w.state.zero(), [stage_knot(w, rng)] * 3, w.costs(rng, control=False))


def any_problem(w: World, rng: Random) -> trajopt.ShootingProblem:
    """A problem with or without rows at stages."""
    return rng.choice([stage_problem, World.problem])(w, rng)


def _differential(w: World, rng: Random) -> Any:
    return w.differential(rng) if w.legged else rng.choice([bounded, World.differential])(w, rng)


def _control(w: World, rng: Random) -> Any:
    return rng.choice([None, *(kind(w.nu) for kind in CONTROLS)])


STEPPED: dict[str, Callable[[World, Random], Any]] = {
    **{
        f"{model}.{name}": maker
        for model in ("IntegratedActionModelRK", "IntegratedActionModelRK4", "IntegratedActionModelImplicit")
        for name, maker in {
            "differential": _differential,
            "control": _control,
            "rows": lambda w, rng: rng.choice(["knot", "stages"]),
            "method": lambda w, rng: rng.choice(["midpoint", "euler"]),
        }.items()
    },
    "SolverSQP.problem": any_problem,
}
"""By door and argument."""

FIXED_STEPPED: dict[str, Callable[[World, Random], Any]] = {
    "IntegratedActionModelRK": lambda w, rng: stage_knot(world("arm") if w.legged else w, rng),
    "ShootingProblem": any_problem,
}
"""Objects to call methods on."""
