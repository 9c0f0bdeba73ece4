"""exp, log and their Jacobians: round trips, Pinocchio, and series at small angles; also near angle π."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from casadi import SX

from trajopt.lie import (
    exp3,
    exp6,
    jexp3,
    jexp6,
    jlog3,
    jlog6,
    log3,
    log6,
    log6_and_jacobian,
    log_of_motion,
    quaternion_to_rotation,
    skew,
)

R, P, W, XI = SX.sym("R", 3, 3), SX.sym("p", 3), SX.sym("w", 3), SX.sym("xi", 6)
MOTION = ca.vertcat(ca.vec(R), P)
F = {
    "exp3": ca.Function("exp3", [W], [exp3(W)]),
    "jexp3": ca.Function("jexp3", [W], [jexp3(W)]),
    "exp6": ca.Function("exp6", [XI], list(exp6(XI))),
    "jexp6": ca.Function("jexp6", [XI], [jexp6(XI)]),
    "log3": ca.Function("log3", [R], [log3(R)]),
    "jlog3": ca.Function("jlog3", [R], [jlog3(R)]),
    "log6": ca.Function("log6", [R, P], [log6(R, P)]),
    "jlog6": ca.Function("jlog6", [R, P], [jlog6(R, P)]),
}
ANGLES = [0.0, 1e-160, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 0.03, 0.0632, 0.0633, 0.1, 0.316, 0.317, 0.49, 0.51, 1.0, 2.0]
ANGLES += [2.09, 2.1, 3.0, np.pi - 1e-2, np.pi - 1e-5, np.pi - 1e-9]


def call(name: str, *arguments: np.ndarray) -> np.ndarray:
    return np.array(F[name](*arguments))


def twists(angle: float, count: int = 10) -> list[np.ndarray]:
    """Twists of one angle, with the axes of coordinates among the directions."""
    rng = np.random.default_rng(int(1e6 * angle))
    axes = [*np.eye(3), *(rng.normal(size=3) for _ in range(count))]
    return [np.r_[rng.normal(size=3), angle * axis / np.linalg.norm(axis)] for axis in axes]


def rodrigues(w: np.ndarray) -> np.ndarray:
    """exp by the series of the matrix exponential of [w / 2^8], squared eight times: slow and without special cases."""
    small = pin.skew(w) / 256
    term, total = np.eye(3), np.eye(3)
    for k in range(1, 12):
        term = term @ small / k
        total = total + term
    return np.linalg.matrix_power(total, 256)


@pytest.mark.parametrize("angle", ANGLES)
def test_log_inverts_exp_to_13_digits(angle: float) -> None:
    for xi in twists(angle):
        rotation, translation = (np.array(part) for part in F["exp6"](xi))
        assert np.abs(rotation - rodrigues(xi[3:])).max() < 1e-13
        assert np.abs(rotation - call("exp3", xi[3:])).max() == 0.0
        # Near π the opposite vector is as good; its rotation is the same to rounding.
        assert np.abs(call("log6", rotation, translation).ravel() - xi).max() < 1e-13
        assert np.abs(call("log3", rotation).ravel() - xi[3:]).max() < 1e-13


@pytest.mark.parametrize("angle", ANGLES)
def test_jacobians_of_log_and_exp_are_inverse_to_each_other(angle: float) -> None:
    for xi in twists(angle):
        rotation, translation = F["exp6"](xi)
        assert np.abs(call("jlog3", rotation) @ call("jexp3", xi[3:]) - np.eye(3)).max() < 1e-13
        assert np.abs(call("jlog6", rotation, translation) @ call("jexp6", xi) - np.eye(6)).max() < 1e-13


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.02, 0.3, 0.6, 1.5, 2.5, 3.0])
def test_values_match_pinocchio(angle: float) -> None:
    """Pinocchio's own series and closed forms are off by up to 1e-7 around 1e-3 (see the next test)."""
    for xi in twists(angle):
        motion = pin.exp6(xi)
        rotation, translation = motion.rotation, motion.translation
        assert np.allclose(call("exp3", xi[3:]), rotation, atol=1e-13)
        assert np.allclose(np.array(F["exp6"](xi)[1]).ravel(), translation, atol=1e-13)
        assert np.allclose(call("log3", rotation).ravel(), pin.log3(rotation), atol=1e-12)
        assert np.allclose(call("log6", rotation, translation).ravel(), pin.log6(motion).vector, atol=1e-12)
        assert np.allclose(call("jexp3", xi[3:]), pin.Jexp3(xi[3:]), atol=1e-12)
        assert np.allclose(call("jexp6", xi), pin.Jexp6(xi), atol=1e-10)
        assert np.allclose(call("jlog3", rotation), pin.Jlog3(rotation), atol=1e-12)
        assert np.allclose(call("jlog6", rotation, translation), pin.Jlog6(motion), atol=1e-10)


@pytest.mark.parametrize("angle", [1e-9, 1e-4, 1e-3, 0.0632, 0.3, 1.0, 3.0, np.pi - 1e-9])
def test_jacobians_are_the_derivatives(angle: float) -> None:
    """log(M exp(δ)) = log(M) + jlog6 δ by differentiating the expressions, to 12 digits also where Pinocchio has 7."""
    columns = ca.Function("c", [R, P], [ca.jacobian(log6(R, P), MOTION)])
    tangent = np.zeros((12, 6))
    for xi in twists(angle, 4):
        rotation, translation = (np.array(part) for part in F["exp6"](xi))
        for k in range(3):
            tangent[9:, k] = rotation[:, k]
            tangent[:9, 3 + k] = (rotation @ pin.skew(np.eye(3)[k])).ravel(order="F")
        derivative = np.array(columns(rotation, translation)) @ tangent
        assert np.abs(derivative - call("jlog6", rotation, translation)).max() < 1e-12
    w = SX.sym("w", 6)
    turned = ca.Function("t", [w], [ca.jacobian(ca.vertcat(*[ca.vec(x) for x in exp6(w)]), w)])
    for xi in twists(angle, 4):
        rotation = np.array(F["exp6"](xi)[0])
        by_w = np.array(turned(xi))
        twist = np.array([[*(rotation.T @ by_w[9:, k]), *_vee(rotation, by_w[:9, k])] for k in range(6)]).T
        assert np.abs(twist - call("jexp6", xi)).max() < 1e-12


def _vee(rotation: np.ndarray, column: np.ndarray) -> np.ndarray:
    turning = rotation.T @ column.reshape(3, 3, order="F")
    return np.array([turning[2, 1] - turning[1, 2], turning[0, 2] - turning[2, 0], turning[1, 0] - turning[0, 1]]) / 2


HALF_AXES = ([1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0, -0.8], [2 / 3, -1 / 3, 2 / 3])
HALF_TURNS = [np.pi * np.array(axis) for axis in HALF_AXES]


@pytest.mark.parametrize("w", [np.zeros(3), *HALF_TURNS], ids=str)
def test_everything_is_finite_at_the_identity_and_at_half_turns(w: np.ndarray) -> None:
    axis = w / max(np.linalg.norm(w), 1.0)
    rotation = 2 * np.outer(axis, axis) - np.eye(3) if w.any() else np.eye(3)
    result = call("log3", rotation).ravel()
    assert np.abs(np.abs(result) - np.abs(w)).max() < 1e-13
    assert np.abs(rodrigues(result) - rotation).max() < 1e-13
    jacobian = ca.jacobian(ca.vec(jlog6(R, P)), MOTION)
    second = ca.Function("s", [R, P], [ca.jacobian(log6(R, P), MOTION), jacobian])
    assert all(np.isfinite(np.array(value)).all() for value in second(rotation, [1, 2, 3]))
    twice = ca.jacobian(ca.vec(ca.jacobian(ca.vertcat(*[ca.vec(x) for x in exp6(XI)]), XI)), XI)
    assert np.isfinite(np.array(ca.Function("t", [XI], [twice])(np.r_[1, 2, 3, w]))).all()


def test_second_derivatives_are_accurate_near_the_identity() -> None:
    """Hessian of |log3(exp3(w))|² / 2 = |w|² / 2 is 1: noise of a closed form at small angles would show."""
    hessian = ca.Function("h", [W], [ca.hessian(ca.sumsqr(log3(exp3(W))) / 2, W)[0]])
    for angle in (0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.02, 0.0632, 0.1, 1.0):
        for xi in twists(angle, 3):
            assert np.abs(np.array(hessian(xi[3:])) - np.eye(3)).max() < 1e-11


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.02, 0.19, 0.21, 0.5, 1.0, 2.0, 3.0])
def test_curvature_is_the_second_derivative(angle: float) -> None:
    """Hessian of bᵀ log6(M exp6(ξ)) at ξ = 0, by automatic differentiation of the expressions."""
    b = SX.sym("b", 6)
    turned, moved = exp6(XI)
    log = ca.dot(b, log6(R @ turned, P + R @ moved))
    hessian = ca.Function("h", [R, P, b, XI], [ca.hessian(log, XI)[0]])
    curvature = ca.Function("c", [R, P, b], [log_of_motion(R, P).curvature(b)])
    for xi in twists(angle, 4):
        rotation, translation = F["exp6"](xi)
        along = np.linspace(-1.0, 1.5, 6)
        expected = np.array(hessian(rotation, translation, along, np.zeros(6)))
        assert np.abs(np.array(curvature(rotation, translation, along)) - expected).max() < 1e-10


def test_log6_and_jacobian_share_and_agree() -> None:
    both = ca.Function("both", [R, P], list(log6_and_jacobian(R, P)))
    motion = pin.SE3.Random()
    twist, jacobian = both(motion.rotation, motion.translation)
    assert np.array_equal(np.array(twist), call("log6", motion.rotation, motion.translation))
    assert np.array_equal(np.array(jacobian), call("jlog6", motion.rotation, motion.translation))
    assert both.n_instructions() < F["jlog6"].n_instructions() + 20


def test_quaternion_and_skew(rng: np.random.Generator) -> None:
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    expected = pin.Quaternion(q).toRotationMatrix()
    assert np.abs(np.array(ca.DM(quaternion_to_rotation(SX(q)))) - expected).max() < 1e-15
    a, b = rng.normal(size=(2, 3))
    assert np.allclose(np.array(ca.DM(skew(SX(a)))) @ b, np.cross(a, b), atol=1e-15)
