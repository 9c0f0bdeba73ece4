"""Wrenches and torques against Pinocchio, closed forms, and one dense system over time."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.inverse_dynamics.support import base_maps, biped, dense_wrenches, random_motion
from trajopt.errors import InvalidArgumentError
from trajopt.inverse_dynamics import (
    ContactInverseDynamics,
    Motion,
    contact_inverse_dynamics,
    inverse_dynamics,
    multiple_contact_inverse_dynamics,
    multiple_contact_inverse_dynamics_over_time,
)

FEET = ["left_sole", "right_sole"]
SINGLE = np.tile([0.01, 0.01, 0.01, 1.0, 1.0, 1.0], 2)


def wrenches_of(found: ContactInverseDynamics) -> np.ndarray:
    return found.wrenches.reshape(len(found.motion), -1)


def single(motion: Motion, **options: object) -> ContactInverseDynamics:
    return multiple_contact_inverse_dynamics(
        motion.robot, motion.positions, motion.velocities, motion.accelerations, FEET, **options
    )


def test_inverse_dynamics_undo_forward_dynamics() -> None:
    motion = random_motion(5)
    forces = inverse_dynamics(motion.robot, motion.positions, motion.velocities, motion.accelerations)
    data = motion.robot.model.createData()
    for q, v, a, force in zip(motion.positions, motion.velocities, motion.accelerations, forces):
        np.testing.assert_allclose(pin.aba(motion.robot.model, data, q, v, force), a, atol=1e-10)
    one = inverse_dynamics(motion.robot, motion.positions[0], motion.velocities[0], motion.accelerations[0])
    np.testing.assert_array_equal(one, forces[0])


def test_one_contact_holds_the_base_up() -> None:
    """Nimble's test: the sum of errors of a random state is below 1e-8."""
    m = random_motion(1)
    found = contact_inverse_dynamics(m.robot, m.positions[0], m.velocities[0], m.accelerations[0], "left_sole")
    A, b = base_maps(m, ["left_sole"])
    np.testing.assert_allclose(found.wrenches[0, 0], np.linalg.solve(A[0], b[0]), rtol=1e-10, atol=1e-10)
    assert found.sum_error() < 1e-8
    assert not found.torques[:, :6].any()
    assert np.abs(found.base_residual).max() < 1e-9


def joint_maps(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Joint torques h - M w of wrenches w: h (N, nv - 6) and M (N, nv - 6, 12), by Pinocchio alone."""
    model, data, h, M = motion.robot.model, motion.robot.model.createData(), [], []
    for q, v, a in zip(motion.positions, motion.velocities, motion.accelerations):
        h.append(pin.rnea(model, data, q, v, a)[6:])
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        J = [pin.getFrameJacobian(model, data, model.getFrameId(f), pin.ReferenceFrame.LOCAL) for f in FEET]
        M.append(np.vstack(J)[:, 6:].T)
    return np.array(h), np.array(M)


@pytest.mark.parametrize("cones", [False, True])
def test_joint_torques_are_least(cones: bool) -> None:
    """Minimise ‖h - M w‖² + 1e-6 ‖w‖² subject to A w = b, by its equations; torque limits take the program of cones."""
    robot = biped()
    q, still = np.tile(robot.configuration("half_sitting"), (3, 1)), np.zeros((3, robot.nv))
    q[:, 7:] += np.random.default_rng(0).normal(0.0, 0.05, (3, robot.nq - 7))
    m = Motion(robot=robot, times=np.arange(3.0), positions=q, velocities=still, accelerations=still)
    small = {"force_weight": 1e-6, "moment_weight": 1e-6}
    found = single(m, joint_weight=1.0, torque_limits=cones, **small)
    (A, b), (h, M) = base_maps(m, FEET), joint_maps(m)
    for i in range(3):
        H = M[i].T @ M[i] + 1e-6 * np.eye(12)
        K = np.block([[H, A[i].T], [A[i], np.zeros((6, 6))]])
        wanted = np.linalg.solve(K, np.concatenate([M[i].T @ h[i], b[i]]))[:12]
        np.testing.assert_allclose(found.torques[i, 6:], h[i] - M[i] @ wanted, atol=1e-4 if cones else 1e-7)
    assert np.linalg.norm(found.torques) < 0.95 * np.linalg.norm(single(m).torques)
    over_time = multiple_contact_inverse_dynamics_over_time(m, FEET, smoothness=0.0, joint_weight=1.0, **small)
    np.testing.assert_allclose(over_time.torques, found.torques, atol=1e-4 if cones else 1e-7)


def test_the_text_tells_residual_torques_and_optimum() -> None:
    found = single(random_motion(2))
    torque, residual = np.abs(found.torques).max(), np.abs(found.base_residual)[:, :3].max()
    assert f"joint torques at most {torque:.4g} N m, base residual {residual:.2g} N, " in repr(found)
    assert repr(found).endswith(" N m, optimal)")
    assert repr(dataclasses.replace(found, optimal=False)).endswith(" N m, not optimal)")


def test_two_contacts_without_guesses_are_those_of_least_moments() -> None:
    m = random_motion(4)
    found = single(m)
    A, b = base_maps(m, FEET)
    wanted = dense_wrenches(A, b, np.tile(SINGLE, (4, 1)), np.zeros((4, 12)), 0.0)
    np.testing.assert_allclose(wrenches_of(found), wanted, atol=1e-8)
    assert found.sum_error() < 1e-8


def test_two_contacts_with_guesses_are_the_nearest() -> None:
    m, guess = random_motion(3), np.random.default_rng(1).standard_normal((3, 2, 6))
    found = single(m, guesses=guess)
    A, b = base_maps(m, FEET)
    flat = guess.reshape(3, 12)
    wanted = flat + np.einsum("nwr,nr->nw", np.linalg.pinv(A), b - np.einsum("nrw,nw->nr", A, flat))
    np.testing.assert_allclose(wrenches_of(found), wanted, atol=1e-8)
    assert found.guess_loss() == pytest.approx(np.sum((wanted - flat) ** 2))
    least, zero = single(m), single(m, guesses=np.zeros((2, 6)))
    moments = [np.linalg.norm(each.wrenches[:, :, 3:]) for each in (least, zero)]
    assert moments[0] <= moments[1]


def test_over_time_is_the_dense_solution() -> None:
    """All terms of Nimble's cost at once."""
    m, rng = random_motion(6), np.random.default_rng(2)
    costs, before, guesses = rng.uniform(0, 1, (6, 2)), rng.standard_normal((2, 6)), rng.standard_normal((6, 2, 6))
    found = multiple_contact_inverse_dynamics_over_time(
        m, FEET, smoothness=0.3, least_wrench=0.5, velocity_penalty=lambda square: 0.1 * square, magnitude_costs=costs,
        previous_wrenches=before, previous_weight=2.0, guesses=guesses, guess_weight=0.2,
    )  # fmt: skip
    A, b = base_maps(m, FEET)
    model, data, speeds = m.robot.model, m.robot.model.createData(), np.empty((6, 2))
    for i, (q, v) in enumerate(zip(m.positions, m.velocities)):
        pin.forwardKinematics(model, data, q, v)
        for j, foot in enumerate(FEET):
            frame = model.getFrameId(foot)
            speeds[i, j] = np.sum(pin.getFrameVelocity(model, data, frame, pin.LOCAL).linear ** 2)
    P = 0.5 * SINGLE + np.repeat(costs + 0.1 * speeds, 6, axis=1) + 0.2
    p = 0.2 * guesses.reshape(6, 12)
    P[0] += 2.0
    p[0] += 2.0 * before.ravel()
    np.testing.assert_allclose(wrenches_of(found), dense_wrenches(A, b, P, p, 0.3), atol=1e-7)
    assert found.sum_error() < 1e-7


def test_smoothness_trades_wrenches_for_changes() -> None:
    m = random_motion(20)
    np.testing.assert_allclose(
        multiple_contact_inverse_dynamics_over_time(m, FEET, smoothness=0.0).wrenches, single(m).wrenches, atol=5e-11
    )
    losses = [
        multiple_contact_inverse_dynamics_over_time(m, FEET, smoothness=s).smoothness_loss()
        for s in (0.0, 0.01, 0.1, 1.0, 10.0)
    ]
    assert all(np.diff(losses) < 0)


def test_a_heavy_weight_pulls_the_first_wrenches_to_those_before() -> None:
    m = random_motion(3)
    before = single(m).wrenches[0] + np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    losses = [
        multiple_contact_inverse_dynamics_over_time(
            m, FEET, smoothness=0.0, previous_wrenches=before, previous_weight=weight
        ).previous_loss()
        for weight in (0.0, 1.0, 100.0)
    ]
    assert losses[0] > losses[1] > losses[2]


def test_wrenches_in_world_axes_are_the_same_turned() -> None:
    m = random_motion(3)
    local, world = single(m), single(m, axes="world")
    np.testing.assert_allclose(local.forces, world.wrenches[:, :, :3], atol=1e-8)
    np.testing.assert_allclose(local.moments, world.wrenches[:, :, 3:], atol=1e-8)
    np.testing.assert_allclose(local.torques, world.torques, atol=1e-8)


def test_feet_in_the_air_do_not_push() -> None:
    m = random_motion(4)
    stands = np.array([[True, True], [True, False], [False, True], [False, False]])
    found = multiple_contact_inverse_dynamics_over_time(m, FEET, stands=stands)
    assert not found.wrenches[~stands].any()
    A, b = base_maps(m, FEET)
    np.testing.assert_allclose(found.wrenches[1, 0], np.linalg.solve(A[1, :, :6], b[1]), atol=1e-8)
    np.testing.assert_allclose(found.base_residual, np.vstack([np.zeros((3, 6)), b[3]]), atol=1e-8)
    forces = inverse_dynamics(m.robot, m.positions, m.velocities, m.accelerations)
    np.testing.assert_allclose(found.torques[3, 6:], forces[3, 6:])


def test_a_motion_of_one_time_gives_the_single_result() -> None:
    m = random_motion(1)
    found = multiple_contact_inverse_dynamics_over_time(m, FEET, smoothness=1.0)
    np.testing.assert_allclose(found.wrenches, single(m).wrenches, atol=1e-9)
    assert found.smoothness_loss() == 0.0


def test_undetermined_wrenches_and_fixed_bases_are_refused() -> None:
    """Nimble gives NaN without weights, and zeros on a fixed base."""
    m, arm = random_motion(2), trajopt.load_robot("ur5")
    with pytest.raises(InvalidArgumentError, match="determine every wrench, got 0 for wrenches and 0 for changes"):
        multiple_contact_inverse_dynamics_over_time(m, FEET, smoothness=0.0, least_wrench=0.0)
    with pytest.raises(InvalidArgumentError, match="robot: expected a floating base, got ur5 with a fixed base"):
        contact_inverse_dynamics(arm, np.zeros(6), np.zeros(6), np.zeros(6), "tool0")
    with pytest.raises(InvalidArgumentError, match="contacts: expected at least one"):
        multiple_contact_inverse_dynamics_over_time(m, [])
    with pytest.raises(InvalidArgumentError, match="contacts: expected distinct frames"):
        multiple_contact_inverse_dynamics_over_time(m, [FEET[0], FEET[0]])


def test_standing_still_shares_the_weight() -> None:
    robot = biped()
    q = robot.configuration("half_sitting")
    found = multiple_contact_inverse_dynamics(robot, q, np.zeros(robot.nv), np.zeros(robot.nv), FEET)
    weight = 9.81 * pin.computeTotalMass(robot.model)
    assert found.forces[0, :, 2].sum() == pytest.approx(weight)
    np.testing.assert_allclose(found.forces[0, 0, 2], found.forces[0, 1, 2], rtol=1e-6)


def test_wrong_options_are_refused_with_the_expected_value() -> None:
    m = random_motion(3)
    wrong: list[tuple[dict[str, object], str]] = [
        ({"stands": "both"}, "stands: expected True or False, got 'both'"),
        ({"velocity_penalty": 3.0}, "velocity_penalty: expected a function of the squared speeds .* got 3.0"),
        ({"velocity_penalty": lambda: 0.0}, "velocity_penalty: expected a function .* the call raised"),
        ({"guess_weight": -1.0}, "guess_weight: expected a number >= 0"),
        ({"previous_weight": -1.0}, "previous_weight: expected a number >= 0"),
        ({"previous_weight": 1.0}, "previous_wrenches: expected wrenches"),
    ]
    for options, words in wrong:
        with pytest.raises(InvalidArgumentError, match=words):
            multiple_contact_inverse_dynamics_over_time(m, FEET, **options)


def test_next_velocities_stand_for_accelerations() -> None:
    """As in Nimble, a = (next_velocity - v) / dt."""
    m, dt = random_motion(3), 0.01
    q, v, a = m.positions, m.velocities, m.accelerations
    later = {"next_velocity": v + dt * a, "dt": dt}
    np.testing.assert_allclose(inverse_dynamics(m.robot, q, v, **later), inverse_dynamics(m.robot, q, v, a), rtol=1e-9)
    pairs = [
        (contact_inverse_dynamics(m.robot, q, v, **later, contact="left_sole"),
         contact_inverse_dynamics(m.robot, q, v, a, "left_sole")),
        (multiple_contact_inverse_dynamics(m.robot, q, v, contacts=FEET, **later), single(m)),
    ]  # fmt: skip
    for found, expected in pairs:
        np.testing.assert_allclose(found.wrenches, expected.wrenches, rtol=1e-6, atol=1e-6)
    for wrong in ({"a": a, **later}, {}, {"next_velocity": v}, {"a": a, "dt": dt}):
        with pytest.raises(
            InvalidArgumentError, match=r"a, next_velocity: expected accelerations a, or next_velocity="
        ):
            inverse_dynamics(m.robot, q, v, **wrong)
    with pytest.raises(InvalidArgumentError, match="dt: expected a number > 0"):
        inverse_dynamics(m.robot, q, v, next_velocity=v, dt=0.0)
    with pytest.raises(InvalidArgumentError, match="next_velocity: expected the shape of v"):
        inverse_dynamics(m.robot, q, v, next_velocity=v[0], dt=0.1)
    with pytest.raises(InvalidArgumentError, match="contact: expected the name of a frame"):
        contact_inverse_dynamics(m.robot, q, v, a)
