"""Relative placement, look-at and manipulability against closed forms and Pinocchio, and what they refuse."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest
from casadi import Function

import trajopt
from tests.support.model_list import state_of
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.instant import Instant
from trajopt.residuals import ResidualModelAbstract

Reals = npt.NDArray[np.float64]


def value(residual: ResidualModelAbstract, q: Reals) -> Reals:
    """The residual at a configuration (nq,) at rest."""
    instant = Instant(residual.state, 0)
    found = Function("r", [instant.x, residual.layout.symbols], [residual.evaluate(instant)])
    return np.array(found(residual.state.at_rest(q), residual.layout.column())).ravel()


def test_manipulability_of_two_links() -> None:
    """|det J| = l1 l2 |sin q2| with lengths of 0.5 m; near 0 at the stretched arm, less the reference."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    for q in ([0.3, 0.7], [1.0, -2.0], [0.2, np.pi / 2]):
        residual = trajopt.ResidualModelManipulability(state, "tool", (0, 2), reference=0.1)
        assert value(residual, np.array(q))[0] == pytest.approx(0.25 * abs(np.sin(q[1])) - 0.1, abs=1e-9)
    stretched = value(trajopt.ResidualModelManipulability(state, "tool", [0, 2]), np.zeros(2))
    assert 0.0 <= stretched[0] <= 1e-5


def test_looking_at_a_point() -> None:
    """|r| = 2 sin(angle / 2); zero if the axis points at the target, not if it points away from it."""
    state = state_of("talos_arm")
    q = np.random.default_rng(0).uniform(-0.5, 0.5, state.nq)
    placement = state.robot.placement(q, "gripper_left_joint")
    ahead = placement[:3, 3] + 0.7 * placement[:3, 1]
    assert (
        np.abs(value(trajopt.ResidualModelLookAt(state, "gripper_left_joint", ahead, axis=[0, 3, 0]), q)).max() < 1e-9
    )
    away = value(trajopt.ResidualModelLookAt(state, "gripper_left_joint", ahead, axis=[0, -1, 0]), q)
    assert np.linalg.norm(away) == pytest.approx(2.0)
    aside = value(trajopt.ResidualModelLookAt(state, "gripper_left_joint", ahead, axis=[0.0, 1.0, np.tan(0.3)]), q)
    assert np.linalg.norm(aside) == pytest.approx(2.0 * np.sin(0.15))


def test_a_placement_seen_from_another_frame() -> None:
    state = state_of("solo12")
    q = state.rand(4)[: state.nq]
    frame, base = (pin.SE3(state.robot.placement(q, name)) for name in ("FR_FOOT", "HL_FOOT"))
    reference = pin.SE3(pin.exp3(np.array([0.2, -0.1, 0.4])), np.array([0.1, 0.2, -0.3]))
    residual = trajopt.ResidualModelRelativePlacement(state, "FR_FOOT", "HL_FOOT", reference)
    expected = pin.log6(reference.actInv(base.actInv(frame))).vector
    np.testing.assert_allclose(value(residual, q), expected, atol=1e-10)


def test_a_position_seen_from_another_frame() -> None:
    state = state_of("solo12")
    q = state.rand(4)[: state.nq]
    frame, base = (pin.SE3(state.robot.placement(q, name)) for name in ("FR_FOOT", "HL_FOOT"))
    residual = trajopt.ResidualModelRelativeTranslation(state, "FR_FOOT", "HL_FOOT", [0.1, 0.2, -0.3])
    expected = base.actInv(frame).translation - np.array([0.1, 0.2, -0.3])
    np.testing.assert_allclose(value(residual, q), expected, atol=1e-12)


def test_bad_arguments() -> None:
    state = state_of("talos_arm")
    with pytest.raises(
        InvalidArgumentError, match=r"base: expected another frame than 'arm_left_2_joint', got the same"
    ):
        trajopt.ResidualModelRelativePlacement(state, "arm_left_2_joint", "arm_left_2_joint")
    with pytest.raises(
        InvalidArgumentError, match=r"base: expected another frame than 'arm_left_2_joint', .*FrameTranslation"
    ):
        trajopt.ResidualModelRelativeTranslation(state, "arm_left_2_joint", "arm_left_2_joint")
    with pytest.raises(
        InvalidArgumentError, match=r"reference: expected shape \(3,\).* in the axes of 'arm_left_1_lin"
    ):
        trajopt.ResidualModelRelativeTranslation(state, "arm_left_2_joint", "arm_left_1_link", [1.0])
    with pytest.raises(UnknownNameError, match=r"frame 'hand' not found"):
        trajopt.ResidualModelRelativePlacement(state, "arm_left_2_joint", "hand")
    with pytest.raises(
        InvalidArgumentError, match=r"axis: expected a nonzero direction such as \(0, 0, 1\), got \[0.0, 0.0, 0"
    ):
        trajopt.ResidualModelLookAt(state, "arm_left_2_joint", axis=[0, 0, 0])
    with pytest.raises(InvalidArgumentError, match=r"target: expected shape \(3,\)"):
        trajopt.ResidualModelLookAt(state, "arm_left_2_joint", [1.0])
    with pytest.raises(UnknownNameError, match=r"rows 'some' not found.*rotation"):
        trajopt.ResidualModelManipulability(state, "arm_left_2_joint", "some")
    for wrong in ((), (1, 1), (6,), (0.5,)):
        with pytest.raises(InvalidArgumentError, match=r"rows: expected"):
            trajopt.ResidualModelManipulability(state, "arm_left_2_joint", wrong)  # type: ignore[arg-type]
    planar = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    with pytest.raises(InvalidArgumentError, match=r"rows: expected at most 2, .* choose fewer rows such as \(0, 2\)"):
        trajopt.ResidualModelManipulability(planar, "tool", "all")
