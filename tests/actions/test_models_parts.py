"""Residuals and actuations: one battery over all of them, then closed forms and Pinocchio as oracles."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest
from casadi import SX

import trajopt
from tests.support import model_list as models
from tests.support.model_list import ACTUATIONS, RESIDUALS, TIP, points, reference_of, state_of
from tests.support.slow_twin import assert_close, central_differences
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.instant import Instant
from trajopt.model import Parameter, ParameterLayout
from trajopt.residuals import ResidualModelAbstract

Reals = npt.NDArray[np.float64]
NU = 2  # controls of an instant at which residuals are evaluated


def every(family: dict[str, Callable[[], Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("make", family.values(), ids=list(family))


class Numbers:
    """A residual's value and derivative as numbers, with the first values of its parameters.

    Those of forces see a 6D contact "foot" and a motion, z, which are random numbers.
    """

    def __init__(self, residual: ResidualModelAbstract) -> None:
        self.residual, self.state = residual, residual.state
        self.layout = ParameterLayout(residual.parameters_for(NU))
        instant = Instant(residual.state, NU)
        if residual.uses_solution:
            motion = "velocity_after" if isinstance(residual, trajopt.ResidualModelImpulseCoM) else "acceleration"
            instant = Instant(residual.state, NU, forces={"foot": 6}, motion=motion, equations={"foot_contact": 3})
        results = [residual.evaluate(instant), *residual.derivative(instant), residual.solution_derivative(instant)]
        self.nz = instant.solved.numel()
        symbols = [instant.x, instant.u, instant.solved, self.layout.symbols]
        self._function = ca.Function("residual", symbols, results)
        self.z: Reals = np.random.default_rng(7).normal(size=self.nz)

    def _evaluate(self, x: Reals, u: Reals, z: Reals) -> list[Reals]:
        return [value.full() for value in self._function(x, u, z, self.layout.column())]

    def __call__(self, x: Reals, u: Reals) -> tuple[Reals, Reals, Reals]:
        r, by_x, by_u, _ = self._evaluate(x, u, self.z)
        return r.ravel(), by_x, by_u

    def along_solution(self, x: Reals, u: Reals, dz: Reals) -> tuple[Reals, Reals]:
        """The residual at z + dz, and its derivative there by z."""
        r, _, _, by_z = self._evaluate(x, u, self.z + dz)
        return r.ravel(), by_z


# Residuals


@every(RESIDUALS)
def test_residual(make: Callable[[], ResidualModelAbstract]) -> None:
    """Sizes, and derivatives by central differences at random and special points."""
    residual = make()
    numbers, state = Numbers(residual), residual.state
    rng = np.random.default_rng(0)
    for x in points(state):
        for u in (np.zeros(NU), rng.normal(size=NU)):
            r, by_x, by_u = numbers(x, u)
            assert r.shape == (residual.size(NU),)
            assert by_x.shape == (len(r), state.ndx)
            assert by_u.shape == (len(r), NU)
            by_dx = central_differences(lambda dx, x=x, u=u: numbers(state.integrate(x, dx), u)[0], state.ndx)
            assert_close(by_x, by_dx)
            if not residual.uses_control:
                assert not by_u.any()
            else:
                assert_close(by_u, central_differences(lambda du, x=x, u=u: numbers(x, u + du)[0], NU))
            if residual.uses_solution:
                by_z = numbers.along_solution(x, u, np.zeros(numbers.nz))[1]
                assert by_z.any()
                assert_close(
                    by_z, central_differences(lambda dz, x=x, u=u: numbers.along_solution(x, u, dz)[0], numbers.nz)
                )


@every(RESIDUALS)
def test_residual_prints_and_pickles_itself(make: Callable[[], ResidualModelAbstract]) -> None:
    residual = make()
    again = pickle.loads(pickle.dumps(residual))
    x, u = points(residual.state)[0], np.array([0.3, -0.4])
    for a, b in zip(Numbers(residual)(x, u), Numbers(again)(x, u), strict=True):
        np.testing.assert_array_equal(a, b)
    assert repr(again) == repr(residual)
    assert repr(residual).startswith(f"{type(residual).__name__}(state={residual.state!r}")
    assert again.unit == residual.unit != ""


@every(RESIDUALS)
def test_residual_clone_has_parameters_of_its_own(make: Callable[[], ResidualModelAbstract]) -> None:
    residual = make()
    clone = residual.clone()
    assert list(clone.parameters_for(NU)) == list(residual.parameters_for(NU))
    assert_own_symbols(clone.parameters_for(NU), residual.parameters_for(NU))


def assert_own_symbols(mine: dict[str, Parameter], theirs: dict[str, Parameter]) -> None:
    for name, parameter in mine.items():
        np.testing.assert_array_equal(parameter.default, theirs[name].default)
        assert not {s.element_hash() for s in ca.symvar(parameter.symbol)} & {
            s.element_hash() for s in ca.symvar(theirs[name].symbol)
        }


@pytest.mark.parametrize("name", ["ball", "drone", "talos_arm", "solo12"])
def test_residuals_of_robots_agree_with_pinocchio(name: str) -> None:
    state = state_of(name)
    model, data = state.model, state.model.createData()
    frame, reference = model.getFrameId(TIP[name]), models.tip_at_reference(name)
    residuals = {key: Numbers(make()) for key, make in RESIDUALS.items() if key.endswith(f"-{name}")}
    for x in points(state):
        q, v = x[: state.nq], x[state.nq :]
        pin.forwardKinematics(model, data, q, v)
        placement = pin.updateFramePlacement(model, data, frame)
        error = reference.actInv(placement)
        expected = {
            "state": state.difference(reference_of(name), x),
            "placement": pin.log6(error).vector,
            "translation": placement.translation - reference.translation,
            "rotation": pin.log3(error.rotation),
            "com": pin.centerOfMass(model, data, q) - [0.1, -0.2, 0.3],
        }
        for word in ("local", "world", "local_world_aligned"):
            twist = pin.getFrameVelocity(model, data, frame, getattr(pin.ReferenceFrame, word.upper()))
            expected[f"velocity-{word}"] = twist.vector - np.arange(6.0)
        for key, value in expected.items():
            residual = residuals[f"{key}-{name}"]
            np.testing.assert_allclose(residual(x, np.zeros(NU))[0], value, rtol=0, atol=2e-8, err_msg=key)


def test_residuals_of_functions_have_the_values_of_the_functions() -> None:
    x, u = np.array([0.3, -0.5, 0.7]), np.array([0.2, 0.4])
    expected = {
        "symbolic-x": [np.sin(0.3), -0.15],
        "symbolic-xu": [0.2 * np.cos(0.3), -0.5 + 0.06, -0.15],
        "symbolic-xp": [0.3 - 0.3 - (0.03 - 0.1)],
        "symbolic-mx": [0.5 * 0.83, np.exp(0.42)],
        "symbolic-sx": [0.06, 0.12, 0.3, -0.5, 0.7],
    }
    for key, value in expected.items():
        np.testing.assert_allclose(Numbers(RESIDUALS[key]())(x, u)[0], value, rtol=0, atol=1e-15, err_msg=key)
    ball = Numbers(RESIDUALS["symbolic-xup"]())
    y = state_of("ball").rand(0)
    np.testing.assert_allclose(ball(y, u)[0], 2.0 * u * y[-2:], rtol=1e-14)
    p, q = SX.sym("p"), SX.sym("q", 2)  # parameters of a casadi.Function come in the order in which they are given
    two = ca.Function("two", [SX.sym("x", 3), p, q], [ca.vertcat(p, 10 * q)])
    residual = trajopt.ResidualModelSymbolic(state_of("vector"), two, parameters={"a": 1.0, "b": [2.0, 3.0]})
    np.testing.assert_array_equal(Numbers(residual)(x, u)[0], [1, 20, 30])


def test_residuals_with_a_robot_see_its_kinematics() -> None:
    state, x = state_of("drone"), points(state_of("drone"))[0]
    data = state.model.createData()
    pin.framesForwardKinematics(state.model, data, x[: state.nq])
    height = data.oMf[state.model.getFrameId("tip")].translation[2]
    assert Numbers(RESIDUALS["symbolic-robot"]())(x, np.zeros(NU))[0] == pytest.approx(height - 0.1, rel=1e-12)


def test_residuals_are_zero_at_their_reference() -> None:
    for key in ("state-ball", "placement-drone", "rotation-talos_arm", "translation-solo12"):
        name = key.split("-")[1]
        r, *_ = Numbers(RESIDUALS[key]())(reference_of(name), np.zeros(NU))
        assert np.abs(r).max() < 1e-12


def test_control_residual_fits_any_number_of_controls() -> None:
    residual = trajopt.ResidualModelControl(state_of("ball"))
    assert residual.size(3) == 3
    assert residual.parameters_for(3)["reference"].shape == (3,)
    with pytest.raises(InvalidArgumentError, match=r"reference: expected shape \(3,\), got \(2,\)"):
        RESIDUALS["control-reference"]().parameters_for(3)
    with pytest.raises(InvalidArgumentError, match="expected a knot with controls, got one without"):
        residual.evaluate(Instant(residual.state, 0))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: trajopt.ResidualModelState(s, np.zeros(8)), r"reference: expected shape \(7,\), got \(8,\)"),
        (lambda s: trajopt.ResidualModelState(s, 2 * s.zero()), "norm 1"),
        (lambda s: trajopt.ResidualModelFramePlacement(s, "tip", np.eye(3)), "pinocchio.SE3, a matrix"),
        (lambda s: trajopt.ResidualModelFramePlacement(s, "tip", 2 * np.eye(4)), "rotation matrix"),
        (lambda s: trajopt.ResidualModelFramePlacement(s, "tip", [0, 0, 0, 1, 1, 0, 0]), "norm 1.41421; divide"),
        (lambda s: trajopt.ResidualModelFrameRotation(s, "tip", np.diag([1, 1, -1])), "det R = 1"),
        (
            lambda s: trajopt.ResidualModelFrameTranslation(s, "tip", [0, np.nan, 0]),
            "reference: expected finite numbers",
        ),
        (lambda s: trajopt.ResidualModelFrameVelocity(s, "tip", np.zeros(3)), r"expected shape \(6,\), got \(3,\)"),
        (lambda s: trajopt.ResidualModelCoMPosition(s, [1.0]), r"reference: expected shape \(3,\)"),
        (lambda s: trajopt.ResidualModelControl(s, [np.inf]), "reference: expected finite numbers"),
        (lambda s: trajopt.ResidualModelControl(s, 2), r"reference: expected a vector \(nu,\) .* got 2; omit it"),
        (
            lambda s: trajopt.CostStack(s).add("u", trajopt.ResidualModelControl(s, [1.0, 2.0]), 1.0).parameters(3),
            r"reference: expected shape \(3,\), got \(2,\); pass one number for each of the model's 3 controls",
        ),
        (
            lambda _: trajopt.ResidualModelCoMPosition(trajopt.StateVector(3), [0, 0, 0]),
            "needs a StateMultibody, got State",
        ),
        (lambda s: trajopt.ResidualModelSymbolic(s, 3), "expected a Python function or a casadi.Function, got 3"),
        (
            lambda s: trajopt.ResidualModelSymbolic(s, models.above),
            r"got arguments \(x, height, slope\); declare each further",
        ),
        (
            lambda s: trajopt.ResidualModelSymbolic(s, models.swing, parameters={"a": 1}),
            "parameters: expected names of .* arguments .x., got a",
        ),
        (
            lambda s: trajopt.ResidualModelSymbolic(s, lambda x: ca.jtimes(x, x)),
            "function .*lambda.*: it raised NotImplementedError: .*jtimes.*are casadi.SX symbols",
        ),
        (lambda s: trajopt.ResidualModelSymbolic(s, lambda x: x.T), r"expected a column \(nr, 1\), got shape"),
        (lambda s: trajopt.ResidualModelSymbolic(s, lambda x: x if x[0] > 0 else -x), r"write casadi.if_else"),
        (lambda s: trajopt.ResidualModelSymbolic(s, lambda *x: x[0]), "named arguments"),
        (
            lambda s: trajopt.ResidualModelSymbolic(s, lambda x: x[0] + ca.SX.sym("height")),
            r"^function .*lambda.*expected only x, u and parameters .* height; .* parameters=\{name: value\}",
        ),
        (lambda s: trajopt.ResidualModelSymbolic(s, lambda x, u: u * ca.SX.sym("k")).size(3), "symbols k; make"),
        (lambda s: trajopt.ResidualModelSymbolic(s, models.mx_function(), parameters={"p": [0, 0]}), r"with x \(7,\)"),
        (
            lambda _: trajopt.ResidualModelSymbolic(trajopt.StateVector(2), models.tip_height, parameters={"floor": 0}),
            "an argument named robot needs a StateMultibody",
        ),
    ],
)
def test_residuals_refuse(build: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        build(state_of("ball"))


def test_unknown_frame_names_list_the_valid_ones() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'tip'"):
        trajopt.ResidualModelFrameTranslation(state_of("ball"), "tipp", [0, 0, 0])
    with pytest.raises(UnknownNameError, match="local_world_aligned"):
        trajopt.ResidualModelFrameVelocity(state_of("ball"), "tip", reference_frame="body")


def test_a_model_keeps_its_arguments_when_the_user_changes_them() -> None:
    """Pickles and clones are built from the arguments, so a later change of an array must not reach them."""
    place, twist = pin.SE3.Identity(), np.zeros(6)
    placement = trajopt.ResidualModelFramePlacement(state_of("ball"), "tip", place)
    velocity = trajopt.ResidualModelFrameVelocity(state_of("ball"), "tip", twist)
    place.translation, twist[:] = np.ones(3), 7.0
    np.testing.assert_array_equal(placement.clone().parameters()["reference"].default[:, 3], np.zeros(3))
    np.testing.assert_array_equal(velocity.clone().parameters()["reference"].default, np.zeros(6))


# Actuations


@every(ACTUATIONS)
def test_actuation(make: Callable[[], trajopt.ActuationModelFull]) -> None:
    actuation = make()
    nv, nu = actuation.state.nv, actuation.nu
    assert actuation.matrix.shape == (nv, nu)
    assert len(actuation.names) == len(actuation.lower) == len(actuation.upper) == nu
    u = np.random.default_rng(0).normal(size=nu)
    torque = ca.Function("torque", [symbol := SX.sym("u", nu)], [actuation.torque(symbol)])(u)
    np.testing.assert_allclose(torque.full().ravel(), actuation.joint_torques(u), rtol=0, atol=1e-14)
    if actuation.is_linear:
        np.testing.assert_allclose(torque.full().ravel(), actuation.matrix @ u, rtol=0, atol=1e-15)
    again = pickle.loads(pickle.dumps(actuation))
    np.testing.assert_array_equal(again.matrix, actuation.matrix)
    assert repr(again) == repr(actuation)


def test_actuations_have_the_expected_matrix_names_and_limits() -> None:
    floating = ACTUATIONS["floating-solo12"]()
    np.testing.assert_array_equal(floating.matrix, np.vstack([np.zeros((6, 12)), np.eye(12)]))
    assert floating.names[0] == "u:FL_HAA"
    np.testing.assert_array_equal(ACTUATIONS["full-talos_arm"]().matrix, np.eye(7))
    arm = ACTUATIONS["full-talos_arm"]()
    np.testing.assert_array_equal(arm.upper, arm.state.model.upperEffortLimit)
    mixed = trajopt.ActuationModelMatrix(arm.state, np.eye(7)[:, :2] @ [[1, 1], [0, 1]])
    assert mixed.names == [arm.names[0], "u1"]
    assert np.isinf(mixed.upper[1])
    assert mixed.upper[0] == arm.upper[0] == -mixed.lower[0]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: trajopt.ActuationModelFull(trajopt.StateVector(2)), "ActuationModelFull needs a StateMultibody"),
        (
            lambda: trajopt.ActuationModelFull(trajopt.StateMultibody(trajopt.load_robot("small-quadruped"))),
            r"expected a robot with a fixed base, got 'small-quadruped' .*ActuationModelFloatingBase\(state\), or "
            r"ActuationModelMatrix\(state, numpy.eye\(state.nv\)\)",
        ),
        (
            lambda: trajopt.ActuationModelFloatingBase(state_of("talos_arm")),
            "got 'talos_arm' with a fixed base; use ActuationModelFull",
        ),
        (
            lambda: trajopt.ActuationModelMatrix(state_of("cart-pole"), [[1.0]]),
            r"expected shape \(2, nu\) with one row for each joint velocity",
        ),
        (
            lambda: trajopt.ActuationModelMatrix(state_of("cart-pole"), [[1.0], [np.inf]]),
            "matrix: expected finite numbers",
        ),
    ],
)
def test_actuations_refuse(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        build()
