"""A gait for an untuned robot, walked by dynamics that share no code with ours: feet stay, cones hold, states agree."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from tests.support import untuned_gait
from tests.support.contact_stepper import Step, Stepper, Touch
from trajopt.gaits import ContactSchedule, GaitOptions, holding_gains
from trajopt.solution import Solution

Reals = npt.NDArray[np.float64]

SLIP, FORCE, HEIGHT, STATE = 1e-4, 0.0, 0.05, 1e-9  # [m], [N], [m], [-]
MU = GaitOptions().mu


@dataclass(frozen=True, kw_only=True)
class Walk:
    """What came of stepping.

    Attributes:
        qs: Configurations (T + 1, nq), each from the last with the solution's feedback.
        vs: Velocities (T + 1, nv).
        forces: Force on each foot that stands (3,) [N], of each knot; impulses [N s] at touch-downs.
        apart: Largest difference of a step from the solution's state to its next one [-].
    """

    qs: Reals
    vs: Reals
    forces: list[dict[str, Reals]]
    apart: float


@functools.cache
def solved() -> tuple[ContactSchedule, Solution]:
    return untuned_gait.trot()


@functools.cache
def walked() -> Walk:
    """Steps the solution's controls and gains knot by knot."""
    schedule, solution = solved()
    model = pin.Model(solution.problem.state.model)  # type: ignore[union-attr]
    stepper, nq = Stepper(model), model.nq
    q, v = solution.x0[:nq], solution.x0[nq:]
    qs, vs, forces, apart = [q], [v], [], 0.0
    stiffness, damping = holding_gains(schedule.dt)
    for t in range(schedule.T):
        places = schedule.stances[schedule.phase_of_knot[t]].feet
        standing = [foot for foot, on in zip(schedule.feet, schedule.active[t]) if on]
        touches = [Touch(frame=f, kp=stiffness, kd=damping, place=places[f].position) for f in standing]

        def step(q: Reals, v: Reals, t: int = t, touches: list[Touch] = touches) -> Step:
            if schedule.touchdowns[t]:
                return stepper.touch_down(q, v, touches)
            x = solution.xs[t]
            error = np.concatenate([pin.difference(model, x[:nq], q), v - x[nq:]])
            torque = np.concatenate([np.zeros(6), solution.us[t] - solution.K[t] @ error])
            return stepper.slide(q, v, torque, touches, schedule.dt)

        ours, after = step(solution.xs[t, :nq], solution.xs[t, nq:]), solution.xs[t + 1]
        distance = [pin.difference(model, after[:nq], ours.q), ours.v - after[nq:]]
        apart = max(apart, float(np.abs(np.concatenate(distance)).max()))
        took = step(q, v)
        q, v = took.q, took.v
        qs.append(q)
        vs.append(v)
        forces.append(took.forces)
    return Walk(qs=np.array(qs), vs=np.array(vs), forces=forces, apart=apart)


def stances(schedule: ContactSchedule, foot: int) -> list[tuple[int, int]]:
    """First and last state of each stance of a foot; the touch-downs of others take no time and end none."""
    found, first = [], None
    for t in range(schedule.T + 1):
        instant = t < schedule.T and schedule.touchdowns[t] and not schedule.active[t, foot]
        stands = t < schedule.T and (schedule.active[t, foot] or (instant and first is not None))
        if stands and first is None:
            first = t
        elif not stands and first is not None:
            found.append((first, t))
            first = None
    return found if first is None else [*found, (first, schedule.T)]


def test_a_gait_of_an_untuned_robot_takes_fewer_than_15_lines() -> None:
    lines = inspect.getsource(untuned_gait).split('"""', 2)[2].splitlines()
    code = [line for line in lines if line.strip() and not line.strip().startswith(('"""', "#"))]
    assert len(code) < 15, code


def test_the_gait_of_an_untuned_robot_converges() -> None:
    _, solution = solved()
    assert solution.converged, solution
    np.testing.assert_allclose(solution.gaps(), 0.0, atol=1e-9)


def test_every_next_state_is_ours() -> None:
    assert walked().apart < STATE


def test_the_whole_walk_is_ours() -> None:
    """With the feedback of the solution, errors do not grow over the steps."""
    _, solution = solved()
    model, walk = solution.problem.state.model, walked()  # type: ignore[union-attr]
    for x, q, v in zip(solution.xs, walk.qs, walk.vs):
        assert np.abs(pin.difference(model, x[: model.nq], q)).max() < 1e-7
        assert np.abs(x[model.nq :] - v).max() < 1e-6


def test_feet_that_stand_stay_where_they_are() -> None:
    schedule, solution = solved()
    stepper = Stepper(solution.problem.state.model)  # type: ignore[union-attr]
    for i, foot in enumerate(schedule.feet):
        places = np.array([stepper.place(foot, q).translation for q in walked().qs])
        assert stances(schedule, i)
        for first, last in stances(schedule, i):
            moved = np.linalg.norm(places[first : last + 1] - places[first], axis=1).max()
            assert moved < SLIP, f"{foot} slips by {1e3 * moved:.2f} mm from knot {first} to {last}"


def test_forces_are_in_the_friction_cone() -> None:
    schedule, _ = solved()
    for t, forces in enumerate(walked().forces):
        for foot, force in {} if schedule.touchdowns[t] else forces.items():
            excess = np.hypot(force[0], force[1]) - MU * force[2]
            assert excess < FORCE, f"knot {t}: {foot} is {excess:.2f} N outside of its cone with {force} N"


def test_the_base_keeps_its_height() -> None:
    heights = walked().qs[:, 2]
    assert np.abs(heights - heights[0]).max() < HEIGHT


def test_contact_forces_match_independent_dynamics() -> None:
    schedule, solution = solved()
    told = solution.contact_forces()
    for t, forces in enumerate(walked().forces):
        for foot, force in {} if schedule.touchdowns[t] else forces.items():
            np.testing.assert_allclose(told[foot][t], force, rtol=0, atol=1e-4)


def test_feet_land_on_the_scheduled_footholds() -> None:
    schedule, solution = solved()
    stepper = Stepper(solution.problem.state.model)  # type: ignore[union-attr]
    for foot, place in schedule.end.feet.items():
        start = schedule.start.feet[foot].position
        path = np.array([stepper.place(foot, q).translation for q in walked().qs])
        np.testing.assert_allclose(path[-1], place.position, atol=1e-4)
        assert path[:, 2].max() - start[2] > 0.049, "lifted by 5 cm"
        assert place.position[0] - start[0] > 0.1, "and ahead"
