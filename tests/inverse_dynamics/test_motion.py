"""Velocities and accelerations from configurations; files; contacts that are found."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.inverse_dynamics.support import biped
from trajopt.errors import InvalidArgumentError
from trajopt.inverse_dynamics import Motion, find_contacts, read_positions
from trajopt.types import Reals


def swung(count: int, dt: float) -> tuple[Reals, Reals, Reals]:
    """Configurations of a smooth motion with its own velocities and accelerations, by steps of a thousandth."""
    robot = biped()
    model, rng = robot.model, np.random.default_rng(0)
    size = rng.uniform(0.1, 0.3, robot.nv)
    q0 = robot.configuration("half_sitting")
    t = dt * np.arange(count)
    joints = np.sin(3.0 * t)[:, None] * size
    q = np.array([pin.integrate(model, q0, np.concatenate([row[:3], 0.0 * row[3:6], row[6:]])) for row in joints])
    turns = np.sin(2.0 * t)  # about one axis, so that the angular velocity is the rate of the angle
    q[:, 3:7] = np.array([pin.Quaternion(pin.exp3(np.array([0.0, 0.0, turn]))).coeffs() for turn in turns])
    v = 3.0 * np.cos(3.0 * t)[:, None] * size
    a = -9.0 * joints
    v[:, 3:6], a[:, 3:6] = 0.0, 0.0
    v[:, 5], a[:, 5] = 2.0 * np.cos(2.0 * t), -4.0 * np.sin(2.0 * t)
    return q, v, a


@pytest.mark.parametrize(("differences", "order"), [("central", 2), ("euler", 1), ("forward", 1)])
def test_differences_have_their_order(differences: str, order: int) -> None:
    errors = []
    for halvings in range(3):
        dt = 0.02 / 2**halvings
        q, v, a = swung(20 * 2**halvings, dt)
        m = Motion.of(biped(), q, dt, differences=differences)
        first = round(m.times[0] / dt)
        inner = slice(first, first + len(m))
        errors.append(
            max(np.abs(m.velocities[:, 6:] - v[inner, 6:]).max(), np.abs(m.velocities[:, 5] - v[inner, 5]).max())
        )
        assert len(m) == len(q) - 2
        exact = a[inner, 6:]
        assert np.abs(m.accelerations[:, 6:] - exact).max() < (0.02 if order == 2 else 10.0 * dt)
    rates = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(np.abs(rates - order) < 0.15), rates


@pytest.mark.slow
def test_splines_take_noise_out() -> None:
    dt, rng = 0.005, np.random.default_rng(3)
    q, _, a = swung(400, dt)
    noisy = q.copy()
    noisy[:, 7:] += 1e-4 * rng.standard_normal(noisy[:, 7:].shape)
    noisy[:, 3:7] += 1e-4 * rng.standard_normal((400, 4))
    noisy[:, 3:7] *= rng.choice([-1.0, 1.0], (400, 1)) / np.linalg.norm(noisy[:, 3:7], axis=1, keepdims=True)
    raw, smooth = (Motion.of(biped(), noisy, dt, smoothing=s) for s in (None, "auto"))
    inner = slice(20, -20)
    errors = [np.abs(m.accelerations[inner, 5:] - a[1:-1, 5:][inner]).max() for m in (raw, smooth)]
    assert errors[0] > 10.0  # [rad/s²]
    assert errors[1] < 0.8


def test_a_solution_goes_through_a_table(tmp_path: Path) -> None:
    robot = biped()
    q, _, _ = swung(6, 0.01)
    names = trajopt.StateMultibody(robot).coordinate_names[: robot.nq]
    order = np.random.default_rng(0).permutation(robot.nq)
    rows = np.column_stack([np.arange(6), 0.01 * np.arange(6), q[:, order]])
    rows = np.insert(rows, 3, rows[3], axis=0)  # a touch-down, whose two states have one time: the second one counts
    rows[3, 2:] += 1.0
    path = tmp_path / "motion.csv"
    head = ",".join(["knot [-]", "time [s]", *(f"{names[i]} [-]" for i in order)])
    np.savetxt(path, rows, delimiter=",", header=head, comments="", fmt="%.17g")
    found, times = read_positions(robot, path)
    np.testing.assert_array_equal(found, q)
    np.testing.assert_allclose(times, 0.01 * np.arange(6))
    np.savez(tmp_path / "motion.npz", xs=np.hstack([q, np.zeros((6, robot.nv))]))
    again, times = read_positions(robot, tmp_path / "motion.npz", dt=0.02)
    np.testing.assert_array_equal(again, q)
    assert times[-1] == pytest.approx(0.1)


def test_a_saved_solution_is_a_motion(tmp_path: Path) -> None:
    case = trajopt.problems.load("arm-reach")
    solution = case.solve()
    robot = case.problem.state.robot
    q, times = read_positions(robot, solution.save(tmp_path / "reach.npz"))
    np.testing.assert_array_equal(q, solution.xs[:, : robot.nq])
    np.testing.assert_array_equal(times, solution.times)


def test_a_motion_of_another_robot_is_refused(tmp_path: Path) -> None:
    """Its first coordinates would look like those of this robot; so would a part of longer rows."""
    solution = trajopt.problems.load("arm-reach", robot="z1", T=5).solve()
    path = solution.save(tmp_path / "reach.npz")
    other = trajopt.load_robot("ur5")
    message = "expected a motion of ur5, got one of another robot, with q:joint1 where ur5 has q:shoulder_pan_joint"
    with pytest.raises(InvalidArgumentError, match=message):
        read_positions(other, path)
    np.savez(tmp_path / "long.npz", times=np.arange(3.0), xs=np.zeros((3, other.nq + other.nv + 2)))
    with pytest.raises(InvalidArgumentError, match=r"'positions' \(n, 6\)"):
        read_positions(other, tmp_path / "long.npz")


def test_wrong_files_are_refused_with_the_expected_content(tmp_path: Path) -> None:
    robot = biped()
    for name, text, wanted in [
        ("a.csv", "time,x\n0,1\n", "but q:root_joint.x, .* is missing"),
        ("b.csv", "time\n", "a header and rows"),
        ("c.csv", ",".join(["t", *("c" * robot.nq)]) + "\n0" + ",nope" * robot.nq, "numbers in every row"),
        ("d.txt", "", ".csv or .npz"),
        ("e.npz", "no zip", "as numpy.savez writes them, got another kind of file"),
        ("i.csv", ",".join(["t", *("c" * robot.nq)]) + "\n0,1\n", f"expected {robot.nq + 1} columns, got 2 in row 2"),
        (
            "j.csv",
            ",".join(["t", *("c" * robot.nq)]) + "\n0" + ",nan" * robot.nq,
            "got nan for coordinate 0 in data row 0",
        ),
        (
            "h.csv",
            ",".join(["t", *("c" * robot.nq)]) + "".join("\n" + t + ",0" * robot.nq for t in "021"),
            "ascending times, got 1 s after 2 s",
        ),
    ]:
        (tmp_path / name).write_text(text)
        with pytest.raises(InvalidArgumentError, match=wanted):
            read_positions(robot, tmp_path / name)
    with pytest.raises(InvalidArgumentError, match="which does not exist"):
        read_positions(robot, tmp_path / "none.csv")
    with pytest.raises(InvalidArgumentError, match="robot: expected a Robot, got 'solo12'; use load_robot"):
        read_positions("solo12", tmp_path / "h.csv")  # type: ignore[arg-type]
    np.savez(tmp_path / "f.npz", positions=np.zeros((3, robot.nq)))
    with pytest.raises(InvalidArgumentError, match=r"pass the time step, --dt \(dt=\)"):
        read_positions(robot, tmp_path / "f.npz")
    np.savez(tmp_path / "g.npz", positions=np.zeros((3, 2)))
    with pytest.raises(InvalidArgumentError, match="dt: expected a number > 0"):
        read_positions(robot, tmp_path / "f.npz", dt=-1)
    with pytest.raises(InvalidArgumentError, match=r"'positions' \(n, 19\)"):
        read_positions(robot, tmp_path / "g.npz")


def test_wrong_motions_are_refused_with_the_expected_value() -> None:
    robot = biped()
    q, _, _ = swung(5, 0.01)
    for positions, times, options, wanted in [
        (q[:2], 0.01, {}, "at least 3 rows"),
        (q[:, :5], 0.01, {}, "positions: expected shape"),
        (np.where(q == q[2, 8], np.nan, q), 0.01, {}, "positions: expected finite"),
        (2.0 * q, 0.01, {}, "rotation of norm 1"),
        (q, 0.0, {}, "times: expected a number > 0"),
        (q, [0.0, 0.01, 0.02, 0.05, 0.06], {}, "even step"),
        (q, [0.0, 0.01, 0.02], {}, "times: expected shape"),
        (q, 0.01, {"differences": "backward"}, "central, euler, forward"),
        (q, 0.01, {"smoothing": "gcv"}, "auto"),
        (q[:4], 0.01, {"smoothing": "auto"}, "at least 5 rows"),
    ]:
        with pytest.raises((InvalidArgumentError, KeyError), match=wanted):
            Motion.of(robot, positions, times, **options)


@pytest.mark.parametrize("times", [[0.0, 0.02, 0.01], [0.0, 0.0, 0.01]])
def test_times_that_do_not_ascend_are_refused(times: list[float]) -> None:
    robot = biped()
    q, still = swung(3, 0.01)[0], np.zeros((3, robot.nv))
    with pytest.raises(InvalidArgumentError, match=r"times: expected ascending times, got 0(\.01)? s after 0"):
        Motion.of(robot, q, times)
    with pytest.raises(InvalidArgumentError, match=r"times: expected ascending times, got 0(\.01)? s after 0"):
        Motion(robot=robot, times=times, positions=q, velocities=still, accelerations=still)


def test_feet_that_are_low_and_slow_stand() -> None:
    """A foot that is lifted, and one that slides."""
    robot, count = biped(), 60
    q = np.tile(robot.configuration("half_sitting"), (count, 1))
    left, right = (robot.model.joints[robot.model.getJointId(f"{side}_knee")].idx_q for side in ("left", "right"))
    lift = 0.5 * np.clip(np.sin(np.linspace(-np.pi, 2.0 * np.pi, count)), 0.0, None)
    q[:, left] += lift
    m = Motion.of(robot, q, 0.01)
    found = find_contacts(m, ["left_sole", "right_sole"])
    heights = robot.placement(m.positions, "left_sole")[:, 2, 3]
    assert found[:, 1].all()
    assert not found[heights > heights.min() + 0.02, 0].any()
    assert found[:18, 0].all()
    q[:, right] = q[0, right]
    q[:, 0] += 0.5 * 0.01 * np.arange(count)  # the whole robot slides at 0.5 m/s
    assert not find_contacts(Motion.of(robot, q, 0.01), ["right_sole"]).any()
