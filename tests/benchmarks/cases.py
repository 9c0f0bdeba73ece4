"""What is measured: each problem of ours beside the name that it has in `peers/crocoddyl_problems.py`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tests.support import flying_arm, legged_problems, limited_problems
from trajopt import ControlParametrizationPolyOne, problems
from trajopt.problems import ProblemCase
from trajopt.shooting import ShootingProblem
from trajopt.solvers import (
    BoxDDPOptions,
    BoxFDDPOptions,
    DDPOptions,
    FDDPOptions,
    SolverAbstract,
    SolverBoxDDP,
    SolverBoxFDDP,
    SolverDDP,
    SolverFDDP,
)

Reals = npt.NDArray[np.float64]

MAX_ITERATIONS = 200  # as the peer's

# How many times faster than the peer a part must be, and how many times we aim for [-].
ARM_BARS = {"calc_diff": (6.0, 10.0), "iteration": (7.5, 9.0)}
WALK_BARS = {"calc_diff": (7.0, 12.0), "iteration": (9.5, 11.0)}
TROT_BARS = {"calc_diff": (7.0, 12.0), "iteration": (6.5, 8.0)}
BIPED_BARS = {"calc_diff": (7.0, 12.0), "iteration": (5.5, 7.0)}
HUMANOID_BARS = {"calc_diff": (4.0,), "iteration": (6.5, 8.0)}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A problem, from the same guess and with the same algorithm on both sides.

    Attributes:
        load: Builds it.
        peer: Its name on the other side.
        solver: The solver, with Crocoddyl's options.
        zero_guess: Whether the guess is the state's zero at every knot, knot 0 included, and no control, which is
            Crocoddyl's own; else x0 at every knot and the controls that hold it there.
        options: Options of the solver; Crocoddyl's by default.
        bars: What must be reached, for some parts.
        longest: Time of an iteration that must be kept, if there is such a bar [µs].
    """

    load: Callable[[], ProblemCase]
    peer: str
    solver: type[SolverAbstract] = SolverFDDP
    zero_guess: bool = False
    options: DDPOptions | None = None
    bars: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    longest: float | None = None

    def guess(self, problem: ShootingProblem) -> tuple[Reals, Reals]:
        """States (T + 1, nx) and controls (T, nu)."""
        if self.zero_guess:
            return np.tile(problem.state.zero(), (problem.T + 1, 1)), np.zeros((problem.T, problem.nu))
        xs = np.tile(problem.x0, (problem.T + 1, 1))
        return xs, problem.quasi_static(xs[:-1])

    def make_solver(self, problem: ShootingProblem) -> SolverAbstract:
        """A solver with Crocoddyl's algorithm and values."""
        options = self.solver.options_type
        assert issubclass(options, DDPOptions)
        return self.solver(problem, self.options or options.crocoddyl(max_iterations=MAX_ITERATIONS))


def _case(name: str, **options: object) -> Callable[[], ProblemCase]:
    return functools.partial(problems.load, name, **options)  # type: ignore[arg-type]


def _legged(name: str, bars: Mapping[str, tuple[float, ...]]) -> Case:
    """A gait or a humanoid, with the options of its trace."""
    return Case(
        load=functools.partial(_legged_case, name), peer=name, options=legged_problems.options_of(name), bars=bars
    )


def _legged_case(name: str) -> ProblemCase:
    problem = legged_problems.problem_of(name)
    options = legged_problems.options_of(name)
    return ProblemCase(name=name, description=name, problem=problem, solver=SolverFDDP, options=options)


def _flight(name: str, control: type | None, integrator: str) -> Case:
    """A flight with thrusters."""

    def load() -> ProblemCase:
        problem = flying_arm.flight(control, integrator)
        options = FDDPOptions.crocoddyl(max_iterations=MAX_ITERATIONS)
        return ProblemCase(name=name, description=name, problem=problem, solver=SolverFDDP, options=options)

    return Case(load=load, peer=name, zero_guess=True)


def _limited(name: str, make: Callable[[], ShootingProblem], solver: type[SolverAbstract], **start: float) -> Case:
    """A problem with control limits that are kept."""
    kind = BoxDDPOptions if solver is SolverBoxDDP else BoxFDDPOptions
    options = kind.crocoddyl(max_iterations=MAX_ITERATIONS, **start)

    def load() -> ProblemCase:
        return ProblemCase(name=name, description=name, problem=make(), solver=solver, options=options)

    return Case(load=load, peer=name, solver=solver, options=options)


CASES = {
    "arm_t100": Case(load=_case("arm-reach-crocoddyl"), peer="arm-t100", bars=ARM_BARS),
    "arm_seed_rk4": Case(
        load=_case("arm-reach-seed", integrator="rk4"), peer="arm-seed-rk4", solver=SolverDDP, bars=ARM_BARS
    ),
    "arm_seed": Case(load=_case("arm-reach-seed"), peer="arm-seed-fddp"),
    "arm_kinova": Case(load=_case("arm-reach-crocoddyl", robot="kinova"), peer="arm-kinova", zero_guess=True),
    "unicycle_t200": Case(
        load=_case("unicycle", T=200, start=(1.0, 0.0, 0.0)), peer="unicycle-t200-fddp", zero_guess=True
    ),
    "unicycle_t20": Case(load=_case("unicycle"), peer="unicycle-t20-fddp", zero_guess=True, longest=25.0),
    "hyq_walk": _legged("hyq-walk", WALK_BARS),
    "hyq_trot": _legged("hyq-trot", TROT_BARS),
    "talos_legs_walk": _legged("talos-legs-benchmark", BIPED_BARS),
    "humanoid_reach": _legged("humanoid-reach", HUMANOID_BARS),
    "arm_limits": _limited("arm-limits-box-ddp", limited_problems.arm, SolverBoxDDP),
    "anymal_walk_limits": _limited(
        "anymal-walk-limits-box-fddp", limited_problems.walk, SolverBoxFDDP, initial_regularization=0.1
    ),
    "flying_arm": _flight("flying-arm", None, "EULER"),
    "flying_arm_rk4": _flight("flying-arm-rk4", ControlParametrizationPolyOne, "CLASSICAL"),
}
