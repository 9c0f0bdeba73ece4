"""Rotations, poses, products, and states that a user writes with four methods."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest
from casadi import SX

import trajopt
from tests.support.own_states import StateCircle, StateOwnRotation, StateTwistedPlane, StateWrong
from trajopt.errors import InvalidArgumentError
from trajopt.states import StateAbstract, StateMultibody, StateProduct, StateSE3, StateSO3, StateVector

Array = npt.NDArray[np.float64]
ANGLES = (0.0, 1e-12, 1e-8, 1e-4, 2e-3, 0.03, 0.19, 0.21, 1.0, 3.0, np.pi - 1e-4, np.pi - 1e-9)


def twist_of(angle: float) -> Array:
    twist = np.array([0.8, -0.5, 0.3, 0.6, -0.4, 0.7])
    twist[3:] *= angle / np.linalg.norm(twist[3:])
    return twist


# --- rotations and poses against Pinocchio ---------------------------------------------------------------------------


@pytest.mark.parametrize("angle", ANGLES)
def test_poses_equal_pinocchio(angle: float) -> None:
    state, dx = StateSE3(), twist_of(angle)
    x = state.rand(3)
    start, move = pin.XYZQUATToSE3(x), pin.exp6(dx)
    end = state.integrate(x, dx)
    np.testing.assert_allclose(state.body_poses(end[None])[0], (start * move).homogeneous, rtol=0, atol=2e-13)
    np.testing.assert_allclose(state.difference(x, end), dx, rtol=0, atol=1e-14)
    near_pi = 1e-12 if angle < 3.1 else 1e-6  # Pinocchio's logarithm of a matrix loses digits there
    np.testing.assert_allclose(state.difference(x, end), pin.log6(start.actInv(start * move)), rtol=0, atol=near_pi)
    first, second = state.jintegrate(x, dx)
    np.testing.assert_allclose(first, move.inverse().action, rtol=0, atol=1e-13)
    np.testing.assert_allclose(second, pin.Jexp6(dx), rtol=0, atol=1e-8)  # Pinocchio's own error at small angles: 4e-9
    first, second = state.jdifference(x, end)
    np.testing.assert_allclose(second, pin.Jlog6(move), rtol=0, atol=max(1e-8, near_pi))
    np.testing.assert_allclose(first, -pin.Jlog6(move.inverse()), rtol=0, atol=max(1e-8, near_pi))


@pytest.mark.parametrize("angle", ANGLES)
def test_rotations_equal_pinocchio(angle: float) -> None:
    state, dx = StateSO3(), twist_of(angle)[3:]
    x = state.rand(4)
    end = state.integrate(x, dx)
    matrices = [pin.Quaternion(q).toRotationMatrix() for q in (x, end)]
    np.testing.assert_allclose(matrices[1], matrices[0] @ pin.exp3(dx), rtol=0, atol=1e-14)
    np.testing.assert_allclose(state.difference(x, end), dx, rtol=0, atol=1e-14)
    first, second = state.jintegrate(x, dx)
    np.testing.assert_allclose(first, pin.exp3(dx).T, rtol=0, atol=1e-14)
    np.testing.assert_allclose(second, pin.Jexp3(dx), rtol=0, atol=1e-8)
    first, second = state.jdifference(x, end)
    near_pi = 1e-8 if angle < 3.1 else 1e-6
    np.testing.assert_allclose(second, pin.Jlog3(pin.exp3(dx)), rtol=0, atol=near_pi)
    np.testing.assert_allclose(first, -pin.Jlog3(pin.exp3(-dx)), rtol=0, atol=near_pi)


def test_a_pose_is_a_free_flyer() -> None:
    """The same bits as the expressions of a robot that floats, and the same values as its numbers."""
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    robot, body = StateMultibody(trajopt.Robot(model)), StateProduct(StateSE3(), StateVector(6))
    x, dx = SX.sym("x", 13), SX.sym("dx", 12)
    for name, arguments in (("sx_integrate", (x, dx)), ("sx_jintegrate", (x, dx)), ("sx_tangent_basis", (x,))):
        values = [getattr(state, name)(*arguments) for state in (robot, body)]
        texts = [ca.Function("f", arguments, v if isinstance(v, tuple) else [v]).serialize() for v in values]
        assert texts[0] == texts[1]
    assert robot.coordinate_units[:7] == body.coordinate_units[:7] == ["m"] * 3 + ["-"] * 4
    np.testing.assert_allclose(robot.integrate(robot.rand(0), np.ones(12)), body.integrate(robot.rand(0), np.ones(12)))


def test_rotation_matrix_of_an_expression() -> None:
    for state in (StateSO3(), StateSE3()):
        x, symbol = state.rand(5), SX.sym("x", state.nx)
        actual = ca.Function("R", [symbol], [state.sx_rotation(symbol)])(x).full()
        np.testing.assert_allclose(actual, pin.Quaternion(x[-4:]).toRotationMatrix(), rtol=0, atol=1e-15)
        with pytest.raises(InvalidArgumentError, match=r"x: expected a casadi.SX of shape \(., 1\), got \(3, 1\)"):
            state.sx_rotation(SX.sym("x", 3))


def test_differences_are_at_most_half_a_turn() -> None:
    state, x = StateSO3(), StateSO3().rand(0)
    for turn in (np.pi + 1e-6, 4.0, 2 * np.pi - 1e-9, 2 * np.pi):
        back = state.difference(x, state.integrate(x, [turn, 0, 0]))
        np.testing.assert_allclose(back, [turn - 2 * np.pi, 0, 0], rtol=0, atol=1e-14)


def test_quaternions_are_checked() -> None:
    with pytest.raises(
        InvalidArgumentError,
        match=r"x0: expected the quaternion xyzw \(indices 3 to 6\) to have norm 1 within 1e-06, got 2;.*normalize",
    ):
        StateSE3().check([0, 0, 0, 0, 0, 0, 2], "x0")
    with pytest.raises(InvalidArgumentError, match=r"indices 0 to 3"):
        StateSO3().check([0, 0, 0, 1.0000011])
    with pytest.raises(InvalidArgumentError, match=r"x: expected shape \(7,\), got \(4,\); .*qx, qy, qz, qw"):
        StateSE3().check([0, 0, 0, 1])
    with pytest.raises(InvalidArgumentError, match=r"x: expected a nonzero quaternion, got zeros"):
        StateSO3().normalize(np.zeros(4))
    np.testing.assert_array_equal(StateSE3().normalize([1, 2, 3, 0, 0, -3, 4]), [1, 2, 3, 0, 0, -0.6, 0.8])
    rows = np.array([StateSE3().rand(i) for i in range(3)])
    assert StateSE3().are_states(rows)
    rows[1, 6] += 0.1
    assert not StateSE3().are_states(rows)


# --- products --------------------------------------------------------------------------------------------------------


def test_products_act_on_each_part() -> None:
    parts = (StateSE3(), StateCircle(), StateMultibody(trajopt.load_robot("cart-pole")))
    state = StateProduct(*parts)
    x, dx = state.rand(1), np.linspace(-0.5, 0.5, state.ndx)
    moved = state.integrate(x, dx)
    ends = np.cumsum([0, *(p.ndx for p in parts)])
    for part, a, b, i, j in zip(parts, state.split(x), state.split(moved), ends, ends[1:]):
        np.testing.assert_array_equal(b, part.integrate(a, dx[i:j]))
        np.testing.assert_array_equal(state.difference(x, moved)[i:j], part.difference(a, b))
        for whole, own in zip(state.jdifference(x, moved), part.jdifference(a, b)):
            np.testing.assert_array_equal(whole[i:j, i:j], own)
            assert np.count_nonzero(whole[i:j]) == np.count_nonzero(own)
    np.testing.assert_array_equal(state.lower[-4:], parts[2].lower)
    assert state.at_rest(x)[-1] == 0.0
    np.testing.assert_array_equal(state.at_rest(x)[:-2], x[:-2])
    np.testing.assert_array_equal(state.split(np.array([x, moved]))[1], [x[7:9], moved[7:9]])


def test_a_product_of_products_is_one_product() -> None:
    flat = StateProduct(StateSE3(), StateSO3(), StateVector(2))
    nested = StateProduct(StateProduct(StateSE3(), StateSO3()), StateVector(2))
    x, dx = flat.rand(0), np.linspace(-1, 1, flat.ndx)
    np.testing.assert_array_equal(nested.rand(0), x)
    np.testing.assert_array_equal(nested.integrate(x, dx), flat.integrate(x, dx))
    for a, b in zip(nested.jintegrate(x, dx), flat.jintegrate(x, dx)):
        np.testing.assert_array_equal(a, b)
    assert nested != flat
    assert nested == pickle.loads(pickle.dumps(nested))
    assert StateProduct(StateSE3(), StateCircle()) != StateProduct(StateSE3(), StateCircle(upper=2.0))


def test_names_of_a_product() -> None:
    twist = StateVector(2, names=["vx", "vy"], units=["m/s", "m/s"])
    state = StateProduct(StateVector(2, names=["px", "py"], units=["m", "m"]), twist)
    assert state.coordinate_names == state.tangent_names == ["px", "py", "vx", "vy"]
    assert state.coordinate_units == ["m", "m", "m/s", "m/s"]
    assert StateProduct(StateVector(1), StateVector(2)).coordinate_names == ["0.x0", "1.x0", "1.x1"]
    named = StateProduct(StateVector(1), StateSO3(), labels=["arm", "body"])
    assert named.tangent_names == ["arm.x0", "body.rx", "body.ry", "body.rz"]
    assert repr(named) == "StateProduct(StateVector(1), StateSO3(), labels=['arm', 'body'])"
    with pytest.raises(InvalidArgumentError, match="labels: expected 2, one per part, got 1"):
        StateProduct(StateVector(1), StateSO3(), labels=["arm"])


def test_arguments_of_a_product() -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"states: expected one or more, got none; write StateProduct\(StateSE3\(\)"
    ):
        StateProduct()
    with pytest.raises(InvalidArgumentError, match=r"states\[1\]: expected a state such as StateSE3\(\).*got 6"):
        StateProduct(StateSE3(), 6)  # type: ignore[arg-type]
    with pytest.raises(
        InvalidArgumentError, match=r"states\[0\]: .*<class 'trajopt.*StateSE3'.*; call it: StateSE3\(...\)"
    ):
        StateProduct(StateSE3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"states\[0\]: .*; pass the parts one by one"):
        StateProduct([StateSE3(), StateVector(6)])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"labels: expected different names, got \['a', 'a'\]"):
        StateProduct(StateSE3(), StateSO3(), labels=["a", "a"])
    state = StateProduct(StateVector(2), StateSO3())
    for x in (np.zeros(5), np.zeros((6, 2)), 3.0, "text"):
        with pytest.raises(InvalidArgumentError, match=r"x: expected shape \(6,\) or \(n, 6\), got"):
            state.split(x)  # type: ignore[type-var]
    with pytest.raises(InvalidArgumentError, match=r"x: expected a casadi.SX of shape \(6, 1\), got \(5, 1\)"):
        state.split(SX.sym("x", 5))
    with pytest.raises(InvalidArgumentError, match=r"xs: expected shape \(7,\) or \(n, 7\), got \(2, 6\)"):
        StateSE3().body_poses(np.zeros((2, 6)))
    with pytest.raises(InvalidArgumentError, match=r"x0\[2:6\]: expected the quaternion .* got 0"):
        state.check(np.zeros(6), "x0")
    with pytest.raises(
        InvalidArgumentError, match=r"xs: .*\(6,\), got \(5,\); .*StateVector\(2\) with 2, StateSO3\(\) with 4"
    ):
        state.check(np.zeros(5), "xs")


def test_poses_of_a_body() -> None:
    state = StateProduct(StateVector(1), StateProduct(StateSE3(), StateVector(6)))
    xs = np.array([state.rand(i) for i in range(4)])
    poses = state.body_poses(xs)
    assert poses is not None
    for pose, x in zip(poses, xs):
        np.testing.assert_allclose(pose, pin.XYZQUATToSE3(x[1:8]).homogeneous, rtol=0, atol=1e-15)
    assert StateProduct(StateVector(2), StateCircle()).body_poses(xs[:, :4]) is None


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (StateVector(4), True),
        (StateVector(3), False),
        (StateSE3(), False),
        (StateProduct(StateSE3(), StateVector(6)), True),
        (StateProduct(StateVector(6), StateSE3()), False),
        (StateProduct(StateSO3(), StateVector(4)), False),
        (StateProduct(StateSE3(), StateVector(6), StateSE3(), StateVector(6)), False),
        (StateProduct(StateSE3(), StateSE3(), StateVector(12)), True),
        (StateProduct(StateCircle(), StateVector(1)), True),
        (StateProduct(StateVector(1), StateCircle()), False),
        (StateMultibody(trajopt.load_robot("hector")), True),
    ],
    ids=repr,
)
def test_which_states_end_in_velocities(state: StateAbstract, expected: bool) -> None:
    assert state.has_velocities is expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (StateVector(3), []),
        (StateSO3(), [0, 1, 2]),
        (StateProduct(StateVector(2), StateSE3()), [5, 6, 7]),
        (StateCircle(), [0]),
        (StateMultibody(trajopt.load_robot("hector")), [3, 4, 5]),
        (StateMultibody(trajopt.load_robot("planar-2r")), []),
    ],
    ids=repr,
)
def test_curved_directions_are_those_of_rotations(state: StateAbstract, expected: list[int]) -> None:
    assert np.flatnonzero(state.curved_directions).tolist() == expected
    with pytest.raises(ValueError, match="read-only"):
        state.curved_directions[0] = True


# --- a state of one's own --------------------------------------------------------------------------------------------


def test_four_methods_make_a_state() -> None:
    own = {name for name in vars(StateCircle) if callable(getattr(StateCircle, name))}
    assert own == {"__init__", "zero", "sx_integrate", "sx_difference"}
    assert StateAbstract.__abstractmethods__ == {"zero", "sx_integrate", "sx_difference"}


@pytest.mark.parametrize("angle", ANGLES)
def test_derived_jacobians_equal_closed_forms(angle: float) -> None:
    own, known, dx = StateOwnRotation(), StateSO3(), twist_of(angle)[3:]
    x = known.rand(2)
    end = known.integrate(x, dx)
    for a, b in zip(own.jintegrate(x, dx), known.jintegrate(x, dx)):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
    for a, b in zip(own.jdifference(x, end), known.jdifference(x, end)):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_derived_jacobians_keep_structural_zeros() -> None:
    state, x, dx = StateTwistedPlane(), SX.sym("x", 3), SX.sym("dx", 3)
    assert state.sx_tangent_basis(x).nnz() == 5
    assert state.sx_jdifference(x, state.sx_integrate(x, dx))[1].nnz() == 5
    assert StateProduct(state, StateVector(3)).sx_jintegrate(SX.sym("x", 6), SX.sym("dx", 6))[0][3:, 3:].is_eye()


def test_own_states_are_normalised_and_checked() -> None:
    state = StateCircle()
    np.testing.assert_allclose(state.normalize([3.0, -4.0]), [0.6, -0.8], rtol=0, atol=1e-15)
    state.check([0.6, -0.8])
    with pytest.raises(InvalidArgumentError, match=r"x0: expected a state of StateCircle\(nx=2, ndx=1\).*normalize"):
        state.check([0.6, -0.9], "x0")
    with pytest.raises(InvalidArgumentError, match=r"x0: expected a state of .* got \[0.0, 0.0\]"):
        state.check([0.0, 0.0], "x0")
    assert state.are_states(np.array([[1.0, 0.0], [0.0, -1.0]]))
    assert not state.are_states(np.array([[1.0, 0.0], [0.0, -1.1]]))
    with pytest.raises(InvalidArgumentError, match=r"x: expected shape \(2,\), got \(3,\); .* cos, sin"):
        state.check(np.zeros(3))


def test_own_states_compare_by_their_formulas() -> None:
    assert StateTwistedPlane(1.0) == StateTwistedPlane(1.0)
    assert StateTwistedPlane(1.0) != StateTwistedPlane(2.0)
    again = pickle.loads(pickle.dumps(StateTwistedPlane(2.0)))
    assert again == StateTwistedPlane(2.0)
    with pytest.raises(ValueError, match="read-only"):
        again.lower[0] = 0.0


def _norm(x: SX) -> SX:
    return ca.norm_2(x)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "size of integrate": (
        {"integrate": lambda x, dx: x[0] + dx},
        r"sx_integrate: expected shape \(2, 1\), got \(1, 1\)",
    ),
    "size of difference": (
        {"difference": lambda x0, x1: x1 - x0},
        r"sx_difference: expected shape \(1, 1\), got \(2, 1\)",
    ),
    "size of zero": ({"zero": [1.0, 0.0, 0.0]}, r"zero\(\): expected shape \(2,\), got \(3,\)"),
    "integers": ({"zero": [1, 0]}, r"zero\(\): expected an array of floats, got array\(\[1, 0\]\)"),
    "zero": (
        {"zero": [2.0, 0.0], "integrate": lambda x, dx: x / _norm(x) + 0 * dx},
        r"sx_integrate: expected x ⊕ 0 = x",
    ),
    "not inverse": (
        {"integrate": lambda x, dx: StateCircle.sx_integrate(None, x, 2 * dx)},  # type: ignore[arg-type]
        r"sx_difference: expected \(x ⊕ dx\) ⊖ x = dx .* must undo each other",
    ),
    "order": (
        {"difference": lambda x0, x1: StateCircle.sx_difference(None, x1, x0)},  # type: ignore[arg-type]
        r"sx_difference: expected \(x ⊕ dx\) ⊖ x = dx",
    ),
    "singular value": (
        {"integrate": lambda x, dx: StateCircle.sx_integrate(None, x, dx * dx / ca.fabs(dx))},  # type: ignore[arg-type]
        r"sx_integrate: expected x ⊕ 0 = x at x = zero\(\), got \[nan, nan\]; guard the formula",
    ),
    "singular derivative": (
        {"difference": lambda x0, x1: ca.sign(x0[0] * x1[1] - x0[1] * x1[0]) * ca.acos(ca.dot(x0, x1))},
        r"sx_difference: expected d\(x' ⊖ x\)/dx' = 1 at x' = x = zero\(\), got .*; guard the formula",
    ),
    "stranger": (
        {"integrate": lambda x, dx: x + SX.sym("a") * ca.vertcat(dx, dx)},
        r"one with a; replace it by a number",
    ),
    "bounds": ({"lower": [1.0], "upper": [0.0]}, r"lower: expected lower <= upper, got 1.0 > 0.0 for 'dx0'"),
    "names": ({"names": ["x"]}, r"names: expected 2, one per coordinate, got 1"),
    "a string": ({"names": "xy"}, r"names: expected a list of .*, got 'xy'"),
    "numbers": ({"units": [3]}, r"units: expected a list of .*, got \[3\]"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_formulas_are_refused_by_the_constructor(name: str) -> None:
    arguments, message = WRONG[name]
    with pytest.raises(InvalidArgumentError, match=message):
        StateWrong(**arguments)


def test_errors_inside_of_a_formula_say_what_is_expected() -> None:
    with pytest.raises(InvalidArgumentError, match="StateWrong.sx_integrate: it raised .*are casadi.SX symbols"):
        StateWrong(integrate=lambda x, dx: np.array(x) @ "a")


def test_attributes_are_set_before_the_constructor_of_the_base() -> None:
    class Late(StateCircle):
        def __init__(self) -> None:
            super().__init__()
            self.radius = 1.0

    with pytest.raises(AttributeError, match=r"cannot set 'radius'.* before super\(\).__init__"):
        Late()
    with pytest.raises(InvalidArgumentError, match="ndx: expected at most nx = 1 tangent coordinates, got 2"):
        type("Wide", (StateCircle,), {"__init__": lambda self: StateAbstract.__init__(self, 1, 2)})()
