"""Small worlds: a state or a robot, and what is made of them for each call."""

from __future__ import annotations

import atexit
import dataclasses
import functools
import shutil
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import casadi as ca
import numpy as np

import trajopt
from trajopt import gaits, solvers
from trajopt.solvers.qp import StageQP
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic

KINDS = ("vector", "vector", "arm", "arm", "quadruped", "biped")  # twice as often those that cost little
QUADRUPED = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
BIPED = ("right_sole", "left_sole")
T = 3


class Swinging(trajopt.DifferentialActionModelSymbolic):
    """A pendulum, as a user writes it."""

    def __init__(self, state: trajopt.StateVector, nu: int, costs: trajopt.CostStack, **options: Any) -> None:
        super().__init__(state, nu, costs, **options)
        self.mass = self.parameter("mass", 1.0)

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u / self.mass - ca.sin(x[0])


class BlackBox(trajopt.ActionModelAbstract):
    """A mass on a line in numpy, as a user writes it."""

    def calc(self, data: trajopt.ActionData, x: Any, u: Any = None) -> None:
        data.xnext = x + 0.1 * np.array([x[1], 0.0 if u is None else u[0]])
        data.cost = float(x @ x + (0.0 if u is None else u @ u))

    def calc_diff(self, data: trajopt.ActionData, x: Any, u: Any = None) -> None:
        data.Fx, data.Fu = [[1.0, 0.1], [0.0, 1.0]], [[0.0], [0.1]]
        data.Lx, data.Lxx = 2 * x, 2 * np.eye(2)
        if u is not None:
            data.Lu, data.Luu = 2 * u, 2 * np.eye(1)


def speed(x: ca.SX, limit: ca.SX) -> ca.SX:
    """A residual that pickles."""
    return x[-1] - limit


class World:
    """Objects of one kind of system; what calls may change is made anew each time.

    Args:
        kind: One of KINDS.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        names = {"arm": "planar-2r", "quadruped": "small-quadruped", "biped": "small-biped"}
        self.robot = trajopt.load_robot(names.get(kind, "planar-2r"))
        self.legged = kind in ("quadruped", "biped")
        self.state = trajopt.StateVector(2) if kind == "vector" else trajopt.StateMultibody(self.robot)
        self.robot_state = trajopt.StateMultibody(self.robot)
        self.nu = 1 if kind == "vector" else self.robot.nv - 6 * self.legged
        self.feet = QUADRUPED if kind == "quadruped" else BIPED
        self.frames = [f.name for f in self.robot.model.frames if f.parentJoint > 0]

    # What is made once

    @functools.cached_property
    def walker(self) -> World:
        """The nearest world with legs."""
        return self if self.legged else world("quadruped")

    @functools.cached_property
    def stance(self) -> gaits.Stance:
        w = self.walker
        return gaits.Stance.of(w.robot, w.feet, soles=w.kind == "biped")

    @functools.cached_property
    def schedule(self) -> gaits.ContactSchedule:
        make = gaits.biped_walk if self.walker.kind == "biped" else gaits.quadruped_trot
        return make(self.stance, step_length=0.02, step_height=0.02, step_knots=2, support_knots=1)

    @functools.cached_property
    def gait_models(self) -> gaits.GaitModels:
        return gaits.GaitModels(self.walker.robot, self.stance)

    @functools.cached_property
    def solution(self) -> trajopt.Solution:
        small = self if not self.legged else world("arm")
        problem = small.problem(Random(0))
        return solvers.SolverFDDP(problem, solvers.FDDPOptions(max_iterations=2)).solve()

    @functools.cached_property
    def solutions(self) -> trajopt.SolutionBatch:
        """Two solves in one call."""
        small = self if not self.legged else world("arm")
        problem = small.problem(Random(0))
        solver = solvers.SolverFDDP(problem, solvers.FDDPOptions(max_iterations=2))
        return solver.solve_batch(x0=np.tile(problem.x0, (2, 1)))

    @functools.cached_property
    def converged_solutions(self) -> trajopt.SolutionBatch:
        """Solutions of a batch as if they had converged, for a library."""
        status = np.full(len(self.solutions), "CONVERGED")
        return dataclasses.replace(self.solutions, status=status)

    @functools.cached_property
    def legged_solution(self) -> trajopt.Solution:
        """A gait's guess as if it were its solution, which compiles nothing."""
        problem = self.gait_models.problem(self.schedule)
        return trajopt.Solution(
            xs=np.tile(problem.x0, (problem.T + 1, 1)),
            us=np.zeros((problem.T, problem.nu)),
            cost=1.0,
            status=trajopt.SolverStatus.CONVERGED,
            iterations=1,
            history=self.solution.history,
            solver="SolverFDDP",
            seconds=0.1,
            x0=problem.x0,
            problem=problem,
            parameters=problem.parameter_values(),
        )

    @functools.cached_property
    def drive(self) -> trajopt.Solution:
        """A solution whose states are poses of a body."""
        model = trajopt.ActionModelUnicycle()
        problem = trajopt.ShootingProblem([1.0, 1.0, 0.0], [model] * T, model)
        return solvers.SolverFDDP(problem, solvers.FDDPOptions(max_iterations=2)).solve()

    @functools.cached_property
    def qp(self) -> StageQP:
        """A quadratic program with bounds on its controls."""
        lq = LinearQuadratic.zeros(T, 2, 1)
        lq.F[:], lq.H[:], lq.terminal_H[:] = [[1.0, 0.1, 0.0], [0.0, 1.0, 0.1]], np.eye(3), np.eye(2)
        lq.f[0] = [1.0, 0.0]
        qp = StageQP.zeros(lq, 1)
        qp.C[:, 0, 2], qp.lower[:T], qp.upper[:T] = 1.0, -0.1, 0.1
        return qp

    # What is made for each call

    def costs(self, rng: Random, state: Any = None, *, control: bool = True) -> trajopt.CostStack:
        state = state or self.state
        costs = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state), 1.0)
        return costs.add("effort", trajopt.ResidualModelControl(state), 0.1) if control else costs

    def actuation(self, rng: Random) -> Any:
        kind = trajopt.ActuationModelFloatingBase if self.legged else trajopt.ActuationModelFull
        return kind(self.robot_state)

    def contacts(self, rng: Random) -> trajopt.ContactStack:
        stack = trajopt.ContactStack(self.robot_state)
        kind = trajopt.ContactModel3D if self.legged else trajopt.ContactModel1D
        return stack.add("touch", kind(self.robot_state, self.frames[-1]))

    def impulses(self, rng: Random) -> trajopt.ImpulseStack:
        stack = trajopt.ImpulseStack(self.robot_state)
        return (
            stack if not self.legged else stack.add("touch", trajopt.ImpulseModel3D(self.robot_state, self.frames[-1]))
        )

    def constraints(self, rng: Random, state: Any = None) -> trajopt.ConstraintStack:
        state = state or self.state
        return trajopt.ConstraintStack(state).add("box", trajopt.ResidualModelState(state), lower=-10.0, upper=10.0)

    def differential(self, rng: Random) -> Any:
        if self.kind == "vector":
            return Swinging(self.state, 1, self.costs(rng))
        return trajopt.DifferentialActionModelFreeFwdDynamics(self.state, self.actuation(rng), self.costs(rng))

    def action(self, rng: Random, *, expressions: bool = False) -> Any:
        if self.kind == "vector" and not expressions and rng.random() < 0.3:
            return BlackBox(self.state, 1)
        return trajopt.IntegratedActionModelEuler(self.differential(rng), 0.05)

    def problem(self, rng: Random, *, expressions: bool = False) -> trajopt.ShootingProblem:
        """A small problem; if `expressions`, none of its models is a black box."""
        if self.legged:
            return world("arm").problem(rng, expressions=expressions)
        running = [self.action(rng, expressions=expressions)] * T
        return trajopt.ShootingProblem(self.state.zero(), running, self.costs(rng, control=False))

    def x(self, rng: Random) -> Any:
        return self.state.rand(rng.randrange(1000))

    def swing(self, rng: Random) -> gaits.Swing:
        return gaits.Swing(rng.choice(self.stance.names), self.foothold(rng))

    def foothold(self, rng: Random) -> gaits.Foothold:
        return gaits.Foothold((rng.random(), rng.random(), 0.0))

    def phase(self, rng: Random) -> gaits.Phase:
        return gaits.Phase(name="stand", knots=rng.randrange(1, 5), stance=self.stance.names)

    def state_for(self, label: str) -> Any:
        """The state that a constructor needs: a robot's, but for what suits every state."""
        anything = (
            "ResidualModelState",
            "ResidualModelControl",
            "ResidualModelSymbolic",
            "CostStack",
            "ConstraintStack",
        )
        if label == "ActuationModelFloatingBase":
            return self.walker.robot_state
        if label == "ActuationModelFull" and self.legged:
            return world("arm").robot_state
        return self.state if label in anything else self.robot_state

    def residual(self, rng: Random) -> Any:
        return trajopt.ResidualModelState(self.state)


@functools.cache
def world(kind: str) -> World:
    """The world of a kind."""
    return World(kind)


@functools.cache
def folder() -> Path:
    """Where pictures and solutions are written."""
    made = Path(tempfile.mkdtemp(prefix="trajopt-fuzz-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
