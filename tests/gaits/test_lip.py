"""The linear inverted pendulum: closed form, capture point, and the plan over a schedule."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tests.support.gait_robots import stance_of
from trajopt import InvalidArgumentError, gaits
from trajopt.gaits import LinearInvertedPendulum

PENDULUM = LinearInvertedPendulum(0.8)
X, V, P = np.array([0.1, -0.05]), np.array([-0.2, 0.3]), np.array([0.02, 0.04])


def test_the_closed_form_solves_the_equation_of_motion() -> None:
    rate = PENDULUM.gravity / PENDULUM.height
    times = np.linspace(0.0, 1.2, 7)
    numerical = solve_ivp(
        lambda _, s: np.concatenate([s[2:], rate * (s[:2] - P)]),
        (0.0, times[-1]),
        np.concatenate([X, V]),
        t_eval=times,
        rtol=1e-12,
        atol=1e-12,
    )
    position, velocity = PENDULUM.motion(X, V, P, times[:, None])
    np.testing.assert_allclose(position.T, numerical.y[:2], rtol=1e-9)
    np.testing.assert_allclose(velocity.T, numerical.y[2:], rtol=1e-9)


def test_the_divergent_component_moves_on_its_own() -> None:
    for t in (-0.3, 0.0, 0.2, 0.7):
        moved = PENDULUM.capture_point(*PENDULUM.motion(X, V, P, t))
        np.testing.assert_allclose(moved, PENDULUM.divergent_motion(PENDULUM.capture_point(X, V), P, t), rtol=1e-12)


def test_support_at_the_capture_point_brings_the_mass_to_rest_above_it() -> None:
    xi = PENDULUM.capture_point(X, V)
    position, velocity = PENDULUM.motion(X, V, xi, 5.0)
    decay = np.exp(-PENDULUM.omega * 5.0)
    np.testing.assert_allclose(position, xi + (X - xi) * decay, atol=1e-9)
    np.testing.assert_allclose(velocity, V * decay, atol=1e-9)
    np.testing.assert_allclose(PENDULUM.divergent_motion(xi, xi, 3.0), xi)


def test_orbital_energy_is_kept() -> None:
    """v² - ω² (x - p)² along each axis."""
    position, velocity = PENDULUM.motion(X, V, P, np.linspace(0, 1, 11)[:, None])
    energy = velocity**2 - PENDULUM.omega**2 * (position - P) ** 2
    np.testing.assert_allclose(energy, np.broadcast_to(energy[0], energy.shape), rtol=1e-10)


def test_the_support_between_two_divergent_components() -> None:
    support = PENDULUM.support_between(X, V, 0.4)
    np.testing.assert_allclose(PENDULUM.divergent_motion(X, support, 0.4), V, rtol=1e-12)
    np.testing.assert_allclose(PENDULUM.divergent_motion(V, support, -0.4), X, rtol=1e-12)


@pytest.mark.parametrize("cycles", [1, 12])
@pytest.mark.parametrize("robot", ["talos_legs", "anymal"])
def test_a_plan_is_a_pendulum_s_motion_that_ends_above_the_feet(robot: str, cycles: int) -> None:
    walk = gaits.biped_walk if robot == "talos_legs" else gaits.quadruped_walk
    stance = stance_of(robot)
    schedule = walk(stance, final_knots=120, cycles=cycles)
    plan = gaits.pendulum_plan(schedule)
    pendulum = LinearInvertedPendulum(stance.com[2] - stance.centre[2])
    for t in range(schedule.T):
        position, velocity = plan.com[t, :2], plan.velocity[t, :2]
        if not schedule.touchdowns[t]:
            position, velocity = pendulum.motion(position, velocity, plan.support[t, :2], schedule.dt)
        np.testing.assert_allclose(plan.com[t + 1, :2], position, atol=1e-9)
        np.testing.assert_allclose(plan.velocity[t + 1, :2], velocity, atol=1e-8)
    divergent = pendulum.capture_point(plan.com, plan.velocity)
    np.testing.assert_allclose(divergent[-1, :2], schedule.end.centre[:2], atol=1e-12)
    np.testing.assert_allclose(plan.com[-1, :2], schedule.end.centre[:2], atol=1e-2)
    np.testing.assert_allclose(plan.com[0], schedule.start.com)
    assert np.abs(plan.velocity[-1]).max() < 1e-2


def test_points_of_support_are_among_the_standing_feet() -> None:
    schedule = gaits.biped_walk(stance_of("talos_legs"))
    plan, right = gaits.pendulum_plan(schedule), schedule.stances[1].feet["right_sole_link"]
    left = schedule.start.feet["left_sole_link"]
    np.testing.assert_allclose(plan.support[schedule.phase_of_knot == 1, :2], [left.position[:2]] * 26)
    np.testing.assert_allclose(plan.support[0, :2], np.mean([left.position[:2], right.position[:2]], axis=0))


def test_wrong_arguments_and_schedules_with_flight_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="height: expected a number > 0"):
        LinearInvertedPendulum(0.0)
    with pytest.raises(InvalidArgumentError, match="t: expected a number > 0"):
        PENDULUM.support_between(X, V, 0.0)
    with pytest.raises(InvalidArgumentError, match="got 'flight' with all feet in the air"):
        gaits.pendulum_plan(gaits.quadruped_jump(stance_of("anymal")))
    bare = gaits.ContactSchedule(
        start={"a": (0, 0, 0)},  # type: ignore[arg-type]
        phases=(gaits.Phase(name="p", knots=3, stance=("a",)),),
        dt=0.1,
    )
    with pytest.raises(InvalidArgumentError, match="com: expected a centre of mass"):
        gaits.pendulum_plan(bare)
