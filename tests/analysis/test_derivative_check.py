"""The check finds what is wrong in derivatives that users write, names the entry, and accuses no built-in model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support.command_line import CliRunner
from trajopt import problems
from trajopt.analysis.derivative_check import DerivativeCheck
from trajopt.cli import app
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals

X, U = np.array([0.4, -0.7, 0.3]), np.array([0.6, -0.2])
Fault = Callable[[dict[str, Reals]], None]


def next_state(x: Reals, u: Reals) -> Reals:
    return np.array([
        x[0] + 0.1 * x[1] * np.cos(x[2]), x[1] + 0.1 * (u[0] - np.sin(x[0]) * x[2]),
        x[2] + 0.1 * u[1] * x[0] + 0.05 * u[0],
    ])  # fmt: skip


def cost(x: Reals, u: Reals) -> float:
    return float(
        0.5 * (x[0] ** 2 + 3 * x[1] ** 2) + np.cos(x[2]) * x[0] + 0.1 * u[0] ** 2 + u[1] ** 2 * x[1] + u[0] * u[1]
    )


def derivatives(x: Reals, u: Reals) -> dict[str, Reals]:
    s, c = np.sin, np.cos
    return {
        "Fx": np.array([
            [1.0, 0.1 * c(x[2]), -0.1 * x[1] * s(x[2])], [-0.1 * c(x[0]) * x[2], 1.0, -0.1 * s(x[0])],
            [0.1 * u[1], 0.0, 1.0],
        ]),
        "Fu": np.array([[0.0, 0.0], [0.1, 0.0], [0.05, 0.1 * x[0]]]),
        "Lx": np.array([x[0] + c(x[2]), 3 * x[1] + u[1] ** 2, -s(x[2]) * x[0]]),
        "Lu": np.array([0.2 * u[0] + u[1], 2 * u[1] * x[1] + u[0]]),
        "Lxx": np.array([[1.0, 0.0, -s(x[2])], [0.0, 3.0, 0.0], [-s(x[2]), 0.0, -c(x[2]) * x[0]]]),
        "Lxu": np.array([[0.0, 0.0], [0.0, 2 * u[1]], [0.0, 0.0]]),
        "Luu": np.array([[0.2, 1.0], [1.0, 2 * x[1]]]),
    }  # fmt: skip


class Written(trajopt.ActionModelAbstract):
    """A model of which all is written by hand, and one thing may be wrong."""

    def __init__(self, fault: Fault | None = None) -> None:
        super().__init__(trajopt.StateVector(3, names=["a", "b", "c"]), 2, control_names=["f", "g"])
        self._fault = fault

    def calc(self, data: Any, x: Reals, u: Reals | None = None) -> None:
        if u is not None:
            data.xnext = next_state(x, u)
        data.cost = cost(x, np.zeros(2) if u is None else u)

    def calc_diff(self, data: Any, x: Reals, u: Reals | None = None) -> None:
        found = derivatives(x, np.zeros(2) if u is None else u)
        if self._fault is not None and u is not None:
            self._fault(found)
        for name in ("Lx", "Lxx") if u is None else found:
            setattr(data, name, found[name])


def entry(block: str, i: int, j: int | None, change: Callable[[float], float]) -> Fault:
    """A fault of one entry."""

    def apply(found: dict[str, Reals]) -> None:
        at = i if j is None else (i, j)
        found[block][at] = change(found[block][at])

    return apply


def whole(block: str, change: Callable[[Reals], Reals]) -> Fault:
    """A fault of a block."""

    def apply(found: dict[str, Reals]) -> None:
        found[block] = change(found[block])

    return apply


def flipped(value: float) -> float:
    return -value


def twice(value: float) -> float:
    return 2.0 * value


def missing(value: float) -> float:
    return 0.0


TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # a frame that is turned by a right angle
FAULTS: dict[str, tuple[Fault, str, str]] = {  # the fault, its block, and an entry that shows it ("" for any)
    "sign of a coupling": (entry("Fx", 0, 2, flipped), "Fx", "a by c"),
    "sign of gravity": (entry("Fx", 1, 0, flipped), "Fx", "b by a"),
    "sign of a rate": (entry("Fx", 0, 1, flipped), "Fx", "a by b"),
    "factor in the dynamics": (entry("Fx", 1, 2, twice), "Fx", "b by c"),
    "missing term of the dynamics": (entry("Fx", 2, 0, missing), "Fx", "c by a"),
    "missing identity": (entry("Fx", 1, 1, missing), "Fx", "b by b"),
    "transposed Fx": (whole("Fx", lambda F: F.T.copy()), "Fx", ""),
    "Fx in a turned frame": (whole("Fx", lambda F: TURN @ F), "Fx", ""),
    "Fx of turned states": (whole("Fx", lambda F: F @ TURN), "Fx", ""),
    "no time step in Fx": (whole("Fx", lambda F: np.eye(3) + 10.0 * (F - np.eye(3))), "Fx", ""),
    "sign of a motor": (entry("Fu", 1, 0, flipped), "Fu", "b by f"),
    "factor of a motor": (entry("Fu", 2, 0, twice), "Fu", "c by f"),
    "missing motor": (entry("Fu", 2, 1, missing), "Fu", "c by g"),
    "swapped motors": (whole("Fu", lambda F: F[:, ::-1].copy()), "Fu", ""),
    "Fu in a turned frame": (whole("Fu", lambda F: TURN @ F), "Fu", ""),
    "sign of the gradient": (entry("Lx", 1, None, flipped), "Lx", "by b"),
    "factor of the gradient": (entry("Lx", 0, None, twice), "Lx", "by a"),
    "missing term of the gradient": (entry("Lx", 1, None, lambda value: value - 0.04), "Lx", "by b"),
    "turned gradient": (whole("Lx", lambda g: TURN @ g), "Lx", ""),
    "half the gradient": (whole("Lx", lambda g: 0.5 * g), "Lx", ""),
    "sign of the effort": (entry("Lu", 0, None, flipped), "Lu", "by f"),
    "factor of the effort": (entry("Lu", 1, None, twice), "Lu", "by g"),
    "missing product of controls": (entry("Lu", 1, None, lambda value: value - 0.6), "Lu", "by g"),
    "sign of Lxx": (entry("Lxx", 1, 1, flipped), "Lxx", "b by b"),
    "factor of Lxx": (entry("Lxx", 0, 0, twice), "Lxx", "a by a"),
    "missing coupling in Lxx": (entry("Lxx", 2, 0, missing), "Lxx", ""),
    "missing Lxu": (entry("Lxu", 1, 1, missing), "Lxu", "b by g"),
    "sign of Lxu": (entry("Lxu", 1, 1, flipped), "Lxu", "b by g"),
    "factor of Luu": (entry("Luu", 0, 0, twice), "Luu", "f by f"),
    "sign of a coupling in Luu": (entry("Luu", 1, 0, flipped), "Luu", ""),
}


@pytest.mark.parametrize("name", FAULTS)
def test_thirty_faults_are_found_and_named(name: str) -> None:
    fault, block, at = FAULTS[name]
    found = trajopt.check_derivatives(Written(fault), X, U)
    off = [row for row in found.rows if row.verdict != "right"]
    assert off[0].block == block
    assert {row.block for row in off[1:]} <= {"Lxx", "Lxu", "Luu"}, "Hessians are compared with the gradient as written"
    if at:
        assert off[0].entry == at
    assert off[0].verdict == ("unlike" if block in ("Lxx", "Lxu", "Luu") else "wrong")
    assert all(row.verdict == "unlike" for row in off[1:])
    assert off[0].where == "Written"
    assert block in str(found)


def test_what_is_right_is_right() -> None:
    assert len(FAULTS) == 30
    for found in (trajopt.check_derivatives(Written(), X, U), trajopt.check_derivatives(Written())):
        assert {row.verdict for row in found.rows} == {"right"}
        assert found.ok


OTHERS = ("crocoddyl", "walk", "biped", "human", "quadruped-walk", "quadruped-pace", "quadruped-bound")
"""Ready problems whose models are those of others: the trot and the jump have the knots of all gaits."""


@pytest.mark.parametrize("name", [n for n in problems.names() if not n.startswith(OTHERS)])
def test_no_built_in_model_is_accused(name: str) -> None:
    """Gauss-Newton's Hessians of curved residuals are told, and kinks of barriers are right from both sides."""
    found = trajopt.check_derivatives(problems.load(name).problem, points=1)
    assert found.ok, str(found)


def test_a_kink_is_right_from_either_side() -> None:
    state = trajopt.StateVector(1)
    barrier = trajopt.ActivationModelQuadraticBarrier([-0.2], [0.2])
    costs = trajopt.CostStack(state).add("limit", trajopt.ResidualModelState(state), 100.0, barrier)
    problem = trajopt.ShootingProblem([0.2], [], costs)
    assert trajopt.check_derivatives(problem, x=[0.2]).ok


class Tilted(trajopt.ResidualModelAbstract):
    """A residual whose derivative its user wrote with a wrong sign."""

    def __init__(self, state: trajopt.StateVector) -> None:
        super().__init__(state, 1)

    def evaluate(self, instant: Any) -> SX:
        return ca.sin(instant.x[0]) * instant.x[1]

    def derivative(self, instant: Any) -> tuple[SX, SX]:
        x = instant.x
        return ca.horzcat(-ca.cos(x[0]) * x[1], ca.sin(x[0])), SX(1, instant.nu)


class Slanted(trajopt.ActivationModelAbstract):
    """An activation whose gradient lacks a factor."""

    def value(self, r: SX) -> SX:
        return ca.sumsqr(r) ** 2

    def gradient(self, r: SX) -> SX:
        return 2 * ca.sumsqr(r) * r


def test_the_parts_of_a_cost_term_are_named() -> None:
    state = trajopt.StateVector(2, names=["angle", "length"])
    costs = trajopt.CostStack(state).add("tilt", Tilted(state), 1.0)
    found = trajopt.check_derivatives(trajopt.ShootingProblem([0.4, 0.8], [], costs))
    assert [row.block for row in found.wrong] == ["Lx", "tilt: residual"]
    assert found.wrong[1].where == "Tilted"
    assert found.wrong[1].entry == "[0] by angle"
    costs = trajopt.CostStack(state).add("slant", trajopt.ResidualModelState(state), 1.0, Slanted())
    found = trajopt.check_derivatives(trajopt.ShootingProblem([0.4, 0.8], [], costs))
    assert [row.block for row in found.wrong] == ["Lx", "slant: slope"]
    assert found.wrong[1].where == "Slanted"


def test_each_constraint_has_its_own_row() -> None:
    state = trajopt.StateVector(2, names=["angle", "length"])
    rows = trajopt.ConstraintStack(state).add("tilt", Tilted(state), equals=0.0)
    rows.add("far", trajopt.ResidualModelState(state, [1e3, 0.0]), lower=-1.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=rows)
    found = trajopt.check_derivatives(trajopt.ShootingProblem([0.4, 0.8], [], end))
    blocks = {row.block: (row.where, row.verdict) for row in found.rows if "C" in row.block}
    assert blocks == {"tilt: Cx": ("Tilted", "wrong"), "far: Cx": ("ResidualModelState", "right")}
    assert found.wrong[0].entry.endswith("by angle")


def test_constraints_on_controls_have_a_row_for_controls() -> None:
    state = trajopt.StateVector(2)
    rows = trajopt.ConstraintStack(state).add("motor", trajopt.ResidualModelControl(state), upper=1.0)
    rows.add("place", trajopt.ResidualModelState(state), lower=-1.0)
    model = trajopt.ActionModelLQR(np.eye(2), np.ones((2, 1)), np.eye(2), np.eye(1), constraints=rows)
    blocks = [row.block for row in trajopt.check_derivatives(model).rows if "C" in row.block]
    assert blocks == ["motor: Cx", "place: Cx", "motor: Cu"]


def test_a_problem_is_checked_at_its_own_values_of_parameters() -> None:
    """A residual of weight 0 has no part in the derivatives of the cost."""
    state = trajopt.StateVector(2)
    costs = trajopt.CostStack(state).add("tilt", Tilted(state), 1.0)
    problem = trajopt.ShootingProblem([0.4, 0.8], [], costs)
    problem.set_parameter("tilt.weight", 0.0)
    assert [row.block for row in trajopt.check_derivatives(problem).wrong] == ["tilt: residual"]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="subject: expected a ShootingProblem, an action model"):
        trajopt.check_derivatives("pendulum")
    with pytest.raises(InvalidArgumentError, match=r"u: expected shape \(2,\), got \(1,\)"):
        trajopt.check_derivatives(Written(), X, [0.0])
    with pytest.raises(InvalidArgumentError, match="u: expected numbers"):
        trajopt.check_derivatives(Written(), X, np.zeros(2, dtype=[("a", "f8")]))
    with pytest.raises(InvalidArgumentError, match="tolerance: expected a number > 0"):
        trajopt.check_derivatives(Written(), tolerance=0.0)


def test_the_command_checks_an_object_of_a_module() -> None:
    done = CliRunner().invoke(app, ["check", "tests.analysis.test_derivative_check:Written"])
    assert done.exit_code == 0, done.output
    assert "all right" in done.output
    done = CliRunner().invoke(app, ["check", "tests.analysis.test_derivative_check:broken"])
    assert done.exit_code == 2
    assert "Fu" in done.output
    for name, words in (
        ("nowhere:x", "cannot import nowhere"),
        ("json:nothing", "json has no nothing"),
        ("json", "expect"),
    ):
        done = CliRunner().invoke(app, ["check", name])
        assert done.exit_code == 1
        assert words in " ".join(done.output.split())


def broken() -> trajopt.ShootingProblem:
    """What a user may write: a function that builds a problem."""
    model = Written(FAULTS["sign of a motor"][0])
    return trajopt.ShootingProblem(X, [model] * 3, model)


def test_an_entry_that_is_too_small_to_tell_is_marked() -> None:
    """Its error of 60 % is within the tolerance, which is for entries of 1."""
    row = trajopt.check_derivatives(Written(), X, U).rows[0]
    small = dataclasses.replace(row, verdict="right", found=5e-6, expected=1.3e-5)
    exact = dataclasses.replace(row, verdict="right", found=1.3e-5, expected=1.3001e-5)
    text = str(DerivativeCheck((small, exact)))
    assert text.splitlines()[1].split()[2] == "right*"
    assert text.splitlines()[2].split()[2] == "right"
    assert text.splitlines()[-1].startswith("*: too small to tell, beside the tolerance")


def stages(name: str) -> trajopt.ActionModelAbstract:
    """A model whose terms read other controls than those of the knot: values within a step, or torques."""
    robot = trajopt.load_robot("planar-2r")
    state = trajopt.StateMultibody(robot)
    gears = trajopt.ActuationModelMatrix(state, [[3.0], [-2.0]])
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state, [0.5]), weight=2.0)
    if name == "inverse":
        return trajopt.IntegratedActionModelEuler(trajopt.DifferentialActionModelFreeInvDynamics(state, gears, costs))
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, gears, costs)
    return trajopt.IntegratedActionModelRK4(model, 0.01, control=trajopt.ControlParametrizationPolyOne(1))


@pytest.mark.parametrize("name", ["inverse", "line"])
def test_terms_are_checked_for_the_controls_that_they_read(name: str) -> None:
    check = trajopt.check_derivatives(stages(name))
    assert check.ok
    row = next(row for row in check.rows if row.block == "effort: residual")
    assert row.entry.endswith("by u0")
    assert row.found == pytest.approx(row.expected) == 1.0
