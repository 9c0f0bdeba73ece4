"""Names of constraint rows: of own residuals, of motors in inverse dynamics, of accelerations."""

from __future__ import annotations

from typing import Any

import casadi as ca
import pytest
from matplotlib.text import Text

import trajopt
from trajopt.analysis import constraint_rows
from trajopt.analysis.row_names import row_names
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import compilations
from trajopt.solution import Solution
from trajopt.solvers import SolverSQP

BOTH = ("left wall", "right wall")


def walls(x: ca.SX) -> ca.SX:
    return ca.vertcat(x[0] + 1.0, 0.25 - x[0])


class Walls(trajopt.ResidualModelAbstract):
    """The same residual as a class."""

    def __init__(self, state: trajopt.StateAbstract) -> None:
        super().__init__(state, 2, unit="m", names=BOTH)

    def evaluate(self, instant: Any) -> ca.SX:
        return walls(instant.x)


def solved(residual: trajopt.ResidualModelAbstract) -> Solution:
    """A mass that starts 0.2 m before the right wall with 1 m/s and stops within 0.25 m."""
    state = residual.state

    class Mass(trajopt.DifferentialActionModelSymbolic):
        def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
            return u

    rows = trajopt.ConstraintStack(state).add("clear", residual, lower=0.0)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), 1.0)
    knot = trajopt.IntegratedActionModelEuler(Mass(state, 1, costs, constraints=rows), dt=0.05)
    end = trajopt.ConstraintStack(state).add("stop", trajopt.ResidualModelState(state, elements=[1]), equals=0.0)
    last = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    return SolverSQP(trajopt.ShootingProblem([0.05, 1.0], [knot] * 10, last)).solve()


def symbolic(names: Any, unit: str = "m") -> trajopt.ResidualModelSymbolic:
    return trajopt.ResidualModelSymbolic(trajopt.StateVector(2), walls, unit=unit, names=names)


@pytest.mark.parametrize("residual", [symbolic(BOTH), Walls(trajopt.StateVector(2))])
def test_rows_of_own_residuals_have_their_names(residual: trajopt.ResidualModelAbstract) -> None:
    solution = solved(residual)
    assert solution.converged
    (clear,) = [rows for rows in constraint_rows(solution) if rows.name == "clear"]
    assert (clear.rows, clear.units, clear.title(1)) == (BOTH, ("m", "m"), "clear[right wall]")
    assert "'clear': right wall at a bound" in solution.explain()
    texts = [text.get_text() for text in trajopt.plotting.plot_constraints(solution).findobj(Text)]
    assert any("right wall" in text for text in texts)
    assert residual.clone().row_names == BOTH
    assert solution.problem is not None
    (row,) = [each for each in trajopt.check_derivatives(solution.problem).rows if each.block == "clear: Cx"]
    assert row.entry.startswith("clear[left wall] by ") or row.entry.startswith("clear[right wall] by ")


def test_names_compile_nothing_and_must_fit() -> None:
    solved(symbolic(None))
    before = compilations()
    solved(symbolic(["a", "b"]))
    assert compilations() == before
    with pytest.raises(InvalidArgumentError, match=r"names: expected 2, one per element, got \('a',\)"):
        symbolic(["a"])
    with pytest.raises(InvalidArgumentError, match="names: expected a list of names, got 'ab'"):
        symbolic("ab")
    moved = trajopt.ResidualModelSymbolic(trajopt.StateVector(2), lambda x, u: ca.vertcat(x, u), names=["a", "b"])
    with pytest.raises(InvalidArgumentError, match="names: expected 3, one per element"):
        moved.size(1)


def test_units_that_differ_are_left_out() -> None:
    assert row_names(symbolic(BOTH, unit="m, rad"), 2) == [("left wall", "-"), ("right wall", "-")]


def test_rows_on_torques_of_inverse_dynamics_are_those_of_joints() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    full = trajopt.ActuationModelFull(state)
    rows = trajopt.ConstraintStack(state)
    rows.add("torques", trajopt.ResidualModelControl(state), lower=-20.0, upper=20.0)
    rows.add("over_gravity", trajopt.ResidualModelControlGrav(state, full), lower=-20.0, upper=20.0)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), 1e-2)
    arm = trajopt.DifferentialActionModelContactInvDynamics(
        state, full, trajopt.ContactStack(state), costs, constraints=rows
    )
    problem = trajopt.ShootingProblem(
        state.zero(), [trajopt.IntegratedActionModelEuler(arm, 0.05)] * 3, trajopt.CostStack(state)
    )
    solution = SolverSQP(problem).solve()
    joints = tuple(state.robot.joint_names)
    for each in constraint_rows(solution):
        assert (each.rows, each.units) == (joints, ("N m", "N m")), each.name


def test_the_unit_tells_limits_of_torques_from_those_of_accelerations() -> None:
    """In inverse dynamics ResidualModelControl is a torque, whatever the name of the constraint."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    full = trajopt.ActuationModelFull(state)
    rows = trajopt.ConstraintStack(state)
    rows.add("of_control", trajopt.ResidualModelControl(state), lower=-90.0, upper=90.0)
    rows.add("acceleration", trajopt.ResidualModelControl(state), lower=2.0, upper=90.0)  # as if u were one
    rows.add("of_joints", trajopt.ResidualModelJointAcceleration(state), lower=-1e4, upper=1e4)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), 1e-2)
    arm = trajopt.DifferentialActionModelFreeInvDynamics(state, full, costs, constraints=rows)
    problem = trajopt.ShootingProblem(
        state.zero(), [trajopt.IntegratedActionModelEuler(arm, 0.05)] * 3, trajopt.CostStack(state)
    )
    solution = SolverSQP(problem).solve()
    units = {each.name: set(each.units) for each in constraint_rows(solution)}
    assert units == {"of_control": {"N m"}, "acceleration": {"N m"}, "of_joints": {"rad/s²"}}
    lines = {name: line for name in units for line in solution.explain().splitlines() if f"{name}'" in line}
    assert lines["of_control"].endswith(" N m)")
    assert lines["of_joints"].endswith(" rad/s²)")
    assert "'acceleration': torques of " in lines["acceleration"]
    for model in (type(arm), trajopt.DifferentialActionModelContactInvDynamics, trajopt.ResidualModelControl):
        assert "ResidualModelJointAcceleration" in (model.__doc__ or "")


def test_rows_on_accelerations_are_those_of_joints() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    names = [(name, "rad/s²") for name in state.robot.joint_names]
    assert row_names(trajopt.ResidualModelJointAcceleration(state), 2) == names


def test_rows_of_placements_are_axes_in_metres_and_radians() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    moves, turns = [(axis, "m") for axis in "xyz"], [(f"rotation {axis}", "rad") for axis in "xyz"]
    tip = state.robot.model.frames[-1].name
    assert row_names(trajopt.ResidualModelFramePlacement(state, tip), 6) == moves + turns
    assert row_names(trajopt.ResidualModelFrameRotation(state, tip), 3) == turns
    rates = [(name, f"{unit}/s") for name, unit in moves + turns]
    assert row_names(trajopt.ResidualModelFrameVelocity(state, tip), 6) == rates
    assert row_names(trajopt.ResidualModelRelativePlacement(state, tip, "universe"), 6) == moves + turns
