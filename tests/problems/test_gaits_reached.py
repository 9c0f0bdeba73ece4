"""Ready gaits do what they are asked to, and generators with their defaults too: five robots, by Pinocchio."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

import trajopt
from trajopt import gaits, problems
from trajopt.analysis import friction_use, legged_motion, reached, reached_words
from trajopt.analysis.reached import Reached
from trajopt.gaits import ContactSchedule
from trajopt.robots import legged_robot
from trajopt.solution import Solution
from trajopt.solvers import FDDPOptions, SolverFDDP

Reals = npt.NDArray[np.float64]
SHARE, LANDING, DEPTH, MU = 0.05, 1e-3, 5e-4, 0.7  # [-], [m], [m], [-]
QUADRUPEDS, BIPEDS = ("anymal", "small-quadruped"), ("talos_legs", "small-biped")
READY = [
    *((f"quadruped-{gait}", robot) for gait in ("walk", "trot", "pace", "bound", "jump") for robot in QUADRUPEDS),
    *((f"biped-{gait}", robot) for gait in ("walk", "jump") for robot in BIPEDS),
]
GENERATED = [
    *(("solo12", f"quadruped_{gait}") for gait in ("walk", "trot", "pace", "bound", "jump")),
    *((robot, f"biped_{gait}") for gait in ("walk", "jump") for robot in BIPEDS),
]


@functools.cache
def ready(name: str, robot: str) -> Solution:
    case = problems.load(name, robot=robot)
    return case.solve()


@functools.cache
def generated(name: str, generator: str) -> Solution:
    """A gait with the defaults of its generator, from the feet as they are, with the size of the soles alone."""
    robot, about = trajopt.load_robot(name), legged_robot(name)
    schedule = getattr(gaits, generator)(gaits.Stance.of(robot, about.feet, soles=about.sole is not None))
    options = gaits.GaitOptions() if about.sole is None else gaits.GaitOptions(sole=about.sole)
    problem = gaits.gait_problem(robot, schedule, options=options)
    return SolverFDDP(problem, FDDPOptions(max_iterations=150)).solve(*gaits.gait_guess(problem, schedule))


def paths_of(solution: Solution, frames: tuple[str, ...]) -> tuple[dict[str, Reals], Reals]:
    """Paths of the feet and of the centre of mass, (T + 1, 3) each [m]."""
    model = solution.problem.state.model  # type: ignore[union-attr]
    data, feet, com = model.createData(), {name: np.empty((len(solution.xs), 3)) for name in frames}, []
    for t, x in enumerate(solution.xs):
        pin.framesForwardKinematics(model, data, x[: model.nq])
        com.append(pin.centerOfMass(model, data, x[: model.nq]).copy())
        for name in frames:
            feet[name][t] = data.oMf[model.getFrameId(name)].translation
    return feet, np.array(com)


def check(solution: Solution) -> None:
    """Steps, landings, the ground, jumps and friction."""
    assert solution.converged
    schedule = solution.problem.schedule  # type: ignore[union-attr]
    assert schedule is not None
    feet, com = paths_of(solution, schedule.feet)
    landings = check_swings(schedule, feet)
    assert landings == sum(len(phase.swings) for phase in schedule.phases) > 0
    check_ground(schedule, feet)
    check_jump(schedule, com)
    check_friction(schedule, solution)


def check_swings(schedule: ContactSchedule, feet: dict[str, Reals]) -> int:
    first, landings = 0, 0
    for phase, stance in zip(schedule.phases, schedule.stances):
        last = first + phase.knots  # the touch-down, or the first knot on the ground
        for swing in phase.swings:
            path, start = feet[swing.foot], np.array(stance.feet[swing.foot].position)
            goal = np.array(swing.to.position)
            asked, came = np.linalg.norm(goal - start), np.linalg.norm(path[last] - path[first])
            assert abs(came - asked) < max(SHARE * asked, LANDING)
            assert np.linalg.norm(path[last, :2] - goal[:2]) < LANDING
            assert abs(path[last, 2] - goal[2]) < LANDING
            if swing.height is not None:
                risen = path[first : last + 1, 2].max() - start[2]
                assert abs(risen - swing.height) < SHARE * swing.height
            landings += 1
        first += phase.total_knots
    return landings


def check_ground(schedule: ContactSchedule, feet: dict[str, Reals]) -> None:
    """All of it is level here."""
    for name, place in schedule.start.feet.items():
        assert place.position[2] == pytest.approx(schedule.end.feet[name].position[2], abs=1e-12)
        assert feet[name][:, 2].min() - place.position[2] > -DEPTH


def check_jump(schedule: ContactSchedule, com: Reals) -> None:
    """Above where the robot stood, and above where it lifted off."""
    for i, phase in enumerate(schedule.phases):
        if phase.stance:
            continue
        assert phase.rise is not None
        first = int(np.flatnonzero(schedule.phase_of_knot == i)[0])
        top = com[first : first + phase.knots + 1, 2].max()
        assert abs(top - com[0, 2] - phase.rise) < SHARE * phase.rise
        time = phase.knots * schedule.dt
        assert abs(9.81 * time**2 / 8 - phase.rise) < SHARE * phase.rise


def check_friction(schedule: ContactSchedule, solution: Solution) -> None:
    forces, timed = solution.contact_forces(), ~schedule.touchdowns[:-1]
    for i, foot in enumerate(schedule.feet):
        name = foot.replace("-", "_")
        force = forces[name][schedule.active[:-1, i] & timed][:, :3]
        assert len(force) > 10
        assert np.all(np.hypot(force[:, 0], force[:, 1]) < 1.02 * MU * force[:, 2])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "robot"), READY)
def test_ready_gaits_reach_their_references(name: str, robot: str) -> None:
    check(ready(name, robot))


@pytest.mark.parametrize(("robot", "generator"), GENERATED)
def test_generators_with_their_defaults_do_too(robot: str, generator: str) -> None:
    check(generated(robot, generator))


@pytest.mark.parametrize(("name", "robot"), [READY[0], ("quadruped-jump", "anymal"), ("biped-walk", "talos_legs")])
def test_reached_values_match_pinocchio(name: str, robot: str) -> None:
    solution = ready(name, robot)
    schedule = solution.problem.schedule  # type: ignore[union-attr]
    assert schedule is not None
    feet, com = paths_of(solution, schedule.feet)
    rows = reached(solution)
    swings = [(phase, swing) for phase in schedule.phases for swing in phase.swings]
    lengths = [row for row in rows if row.what == "length"]
    landings = [row for row in rows if row.what == "landing"]
    assert [row.of for row in lengths] == [row.of for row in landings] == [swing.foot for _, swing in swings]
    for row, (phase, swing) in zip(landings, swings):
        assert row.phase == phase.name
        assert row.reached == pytest.approx(feet[swing.foot][row.knot, 2] - swing.to.position[2], abs=1e-12)
    for row in rows:
        if row.what == "clearance":
            path = feet[row.of][:, 2] - schedule.start.feet[row.of].position[2]
            assert row.reached == pytest.approx(path[row.knot], abs=1e-9)
            assert row.knot in (path.argmax(), row.knot)
        if row.what == "lowest":
            path = feet[row.of][:, 2] - schedule.start.feet[row.of].position[2]
            assert row.reached == pytest.approx(path.min(), abs=1e-12)
        if row.what == "rise":
            assert row.reached == pytest.approx(com[:, 2].max() - com[0, 2], abs=1e-3)
            assert row.asked == 0.15
    kinds = {"length", "landing", "lowest"} | ({"rise"} if "jump" in name else {"clearance"})
    assert {row.what for row in rows} == kinds | ({"ball"} if robot == "anymal" else set())


def test_the_lowest_point_of_a_ball_is_reported_beside_that_of_its_frame() -> None:
    """ANYmal's feet hold a point 23.2 mm below the centre of a ball, which dips by 23.2 mm (1 - cos) of the tilt."""
    solution = ready("quadruped-jump", "anymal")
    robot, problem = trajopt.load_robot("anymal"), solution.problem
    assert problem is not None
    assert problem.schedule is not None
    rows = {row.of: row for row in reached(solution) if row.what == "ball"}
    assert list(rows) == list(problem.schedule.feet)
    data = robot.model.createData()
    for foot, row in rows.items():
        above = []
        for q in solution.xs[:, : robot.nq]:
            pin.framesForwardKinematics(robot.model, data, q)
            place = data.oMf[robot.frame_id(foot)]
            dip = 0.0232 * (1 - place.rotation[2, 2])
            above.append(place.translation[2] - problem.schedule.start.feet[foot].position[2] - dip)
        assert row.reached == pytest.approx(min(above), abs=1e-5)
        assert row.knot == int(np.argmin(above))
    worst, frame = min(rows.values(), key=lambda row: row.reached), lowest_frame(solution)
    assert reached_words(reached(solution))["lowest"] == (
        f"{-1e3 * worst.reached:.2f} mm below the ground (ball of {worst.of}, knot {worst.knot}); frames of feet "
        f"{-1e3 * frame.reached:.2f} mm below the ground ({frame.of}, knot {frame.knot})"
    )


def lowest_frame(solution: Solution) -> Reached:
    return min((row for row in reached(solution) if row.what == "lowest"), key=lambda row: row.reached)


@pytest.mark.slow
def test_a_gait_that_does_something_else_says_so() -> None:
    """Crocoddyl's legs of Talos: feet rise by a fifth to a third, and end 13 mm above the floor."""
    case = problems.load("crocoddyl-biped-walk")
    solution = case.solve()
    assert solution.cost == pytest.approx(case.reference_cost, rel=1e-8)
    words, text = case.report(solution), solution.explain()
    assert words["clearance"] == "18.5 to 32.6 % of the 0.1 m asked for"
    assert words["length"] == "100.0 % of the 0.3 to 0.6 m asked for"
    assert words["landing"] == "+13.39 to +13.42 mm above the footholds"
    assert words["lowest"] == "1.03 mm below the ground (left_sole_link, knot 24)"
    for name in ("clearance", "length", "landing", "lowest"):
        assert f"  {name}: {words[name]}" in text.splitlines()


@pytest.mark.parametrize("name", ["quadruped-trot", "quadruped-jump"])
def test_the_report_gives_the_friction_use(name: str) -> None:
    """The trot's touch-downs are soft; a jump's use more friction than its forces."""
    solution = ready(name, "small-quadruped")
    schedule, forces = solution.problem.schedule, solution.contact_forces()  # type: ignore[union-attr]
    motion = legged_motion(solution)
    assert schedule is not None
    largest = hardest = 0.0
    for i, foot in enumerate(schedule.feet):
        active, hits = schedule.active[:-1, i], schedule.touchdowns[:-1]
        largest = max(largest, ratio(forces[foot][active & ~hits]))
        impulses = forces[foot][active & hits]
        hardest = max(hardest, ratio(impulses[np.linalg.norm(impulses, axis=1) > 1e-3 * motion.weight / 9.81]))
    assert friction_use(motion) == pytest.approx(largest, rel=1e-12)
    assert friction_use(motion, impulses=True) == pytest.approx(hardest, rel=1e-12)
    assert (hardest > 0.0) == (name == "quadruped-jump")
    sudden = f"{hardest:.3g} at touch-downs" if hardest > 0.0 else "without touch-downs, as they are soft"
    said = f"tangential at most {largest:.3g} of the normal force, {sudden}"
    assert problems.load(name, robot="small-quadruped").report(solution)["friction"].endswith(f"; {said}")
    assert f"  friction: {said} (mu = 0.7)" in solution.explain().splitlines()


def ratio(forces: Reals) -> float:
    """Largest ratio of horizontal to vertical force."""
    return float((np.hypot(forces[:, 0], forces[:, 1]) / forces[:, 2]).max(initial=0.0))


def test_a_problem_without_a_schedule_has_no_such_lines() -> None:
    case = problems.load("pendulum")
    solution = case.solve()
    assert reached(solution) == ()
    assert "asked for" not in solution.explain()
