"""Functions whose second argument is not the control, and references of a wrong size."""

from __future__ import annotations

import casadi as ca
import pytest

import trajopt
from trajopt.errors import InvalidArgumentError
from trajopt.residuals.symbolic import CONTROLS

STATE = trajopt.StateVector(2)


def test_a_second_argument_that_is_no_control_is_to_be_declared() -> None:
    def height(x: ca.SX, floor: ca.SX) -> ca.SX:
        return x[0] - floor

    with pytest.raises(InvalidArgumentError, match=r"argument 2, 'floor', is neither .*parameters=\{'floor': value\}"):
        trajopt.ResidualModelSymbolic(STATE, height)
    declared = trajopt.ResidualModelSymbolic(STATE, height, parameters={"floor": 0.1})
    assert not declared.uses_control


def test_the_place_of_an_undeclared_argument_counts_the_robot_too() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    with pytest.raises(InvalidArgumentError, match=r"argument 3, 'target', is neither a parameter nor the control u"):
        trajopt.ResidualModelSymbolic(state, lambda x, robot, target: x[0] - target)


@pytest.mark.parametrize("name", CONTROLS)
def test_names_of_the_control(name: str) -> None:
    found: dict[str, object] = {}
    exec(f"def f(state, {name}): return {name}", found)
    assert trajopt.ResidualModelSymbolic(STATE, found["f"]).uses_control  # type: ignore[arg-type]


def test_a_casadi_function_has_names_of_its_own() -> None:
    x, w = ca.SX.sym("x", 2), ca.SX.sym("w", 1)
    assert trajopt.ResidualModelSymbolic(STATE, ca.Function("f", [x, w], [w])).uses_control


def test_the_reference_of_a_momentum_has_six_elements() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    with pytest.raises(InvalidArgumentError, match=r"reference: expected shape \(6,\), got \(3,\)"):
        trajopt.ResidualModelCentroidalMomentum(state, [0.0, 0.0, 0.0])


@pytest.mark.parametrize("model", [trajopt.ContactModel3D, trajopt.ContactModel6D, trajopt.ImpulseModel3D])
def test_nothing_touches_with_the_world(model: type) -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("small-quadruped"))
    with pytest.raises(InvalidArgumentError, match="frame: expected a frame that moves, got universe"):
        model(state, "universe")


def test_a_chain_is_closed_on_the_world() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("small-quadruped"))
    assert trajopt.ContactModelLoop(state, "universe", "lf_foot").nc == 6
