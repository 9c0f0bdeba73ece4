"""Gaits tracked in MuJoCo: they stay up with feedback, and fall without; docs/simulator-and-mujoco.md has figures."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.unsolved import solution_of
from trajopt import gaits, problems
from trajopt.analysis import Feedback, legged_motion, motion_report, replay, replays
from trajopt.analysis.feedback import usual_kind
from trajopt.analysis.legs import is_legged
from trajopt.analysis.moved import displacement, moved_words
from trajopt.articulations import ArticulationBuilder
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, UnknownNameError, UnsupportedOperationError
from trajopt.mpc import MuJoCoPlant
from trajopt.plotting.ground import gap_to_ground
from trajopt.simulator import ActionModelSimulator, HeightField, MDPContact, Plane, Simulator
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverSQP
from trajopt.types import Reals

pytest.importorskip("mujoco")
pytest.importorskip("example_robot_data")

GAITS = ["quadruped-trot", "quadruped-walk", "biped-walk"]


@functools.cache
def planned(name: str) -> Solution:
    return problems.load(name, limits=True).solve()


def heights(solution: Solution) -> Reals:
    return np.asarray(solution.xs[:, 2])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [*zip(GAITS, ("gains", "springs", "gains")), (GAITS[-1], "springs")])
def test_gaits_within_limits_stay_up_in_mujoco(name: str, kind: str) -> None:
    """To the end, where the base is within 3 cm, with torques within the motors' limits."""
    plan = planned(name)
    motion = replay(plan, plant="mujoco", feedback=kind, clip=True)
    assert heights(motion).min() > 0.98 * heights(plan).min()
    assert np.linalg.norm(motion.xs[-1, :3] - plan.xs[-1, :3]) < 0.03
    motors = plan.problem.running[0].model_parts.actuation
    assert np.all(np.abs(motion.us) <= motors.upper + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "robot", "options", "gains_suffice"),
    [
        ("quadruped-jump", "a1", {"jump_length": (0.4, 0.0, 0.0)}, True),
        ("biped-walk", "small-biped", {}, False),
    ],
)
def test_gaits_stay_up_by_default_also_where_gains_alone_fall(
    name: str, robot: str, options: dict[str, Any], gains_suffice: bool
) -> None:
    """A fifth of the springs is enough: feet that slip or land early move where the gains are unstable."""
    plan = problems.load(name, robot, **options).solve()
    alone = moved_words(replay(plan, plant="mujoco", feedback="gains"))
    assert ("; " not in alone) == gains_suffice  # "; fell" or "; tipped over"
    motion = replay(plan, plant="mujoco")
    assert "; " not in moved_words(motion)
    assert displacement(motion).tilts.max() < np.radians(5.0)
    assert np.linalg.norm(motion.xs[-1, :3] - plan.xs[-1, :3]) < 0.03
    gains, springs, both = (plan.feedback(kind).K for kind in ("gains", "springs", "gains+springs"))
    np.testing.assert_allclose(both, gains + 0.2 * springs)


@pytest.mark.slow
def test_the_usual_feedback_is_that_of_the_motion() -> None:
    """Gaits on feet need springs; motions through a simulator and arms have the gains."""
    assert usual_kind(planned("quadruped-trot")) == "gains+springs"
    problem = problems.load("stand-up").problem
    still = solution_of(problem, np.tile(problem.x0, (problem.T + 1, 1)), np.zeros((problem.T, problem.nu)))
    assert is_legged(still)
    assert usual_kind(still) == "gains"
    assert usual_kind(problems.load("arm-reach", "planar-2r").solve()) == "gains"


@pytest.mark.slow
@pytest.mark.parametrize("name", GAITS[1:])
def test_walks_fall_without_feedback(name: str) -> None:
    """With MuJoCo's default friction, on which standing feet creep."""
    plan = planned(name)
    plant = replays.in_mujoco(plan)
    plant.model.opt.impratio = 1.0
    motion = replay(plan, plant=plant, feedback="open")
    assert heights(motion).min() < 0.8 * heights(plan).min()
    assert re.search("; (fell|tipped over), the base ends ", motion_report(motion)["moved"])
    text = motion.explain()
    assert "-> the robot fell, so lines about feet, limits and goals are those of the fall" in text
    assert "GaitOptions(foot" not in text


@pytest.mark.slow
def test_feet_that_stand_within_their_cones_stand_in_mujoco() -> None:
    """Go2 stands, its feet at 0.3 of their normal force: they crept by 50 mm in 3 s, and nothing said so."""
    robot = trajopt.load_robot("go2")
    feet = [f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR")]
    stance = gaits.Stance.of(robot, feet)
    stand = gaits.Phase(name="stand", knots=51, stance=tuple(feet), com=stance.com)
    schedule = gaits.ContactSchedule(start=stance, phases=(stand,), dt=0.02)
    problem = gaits.gait_problem(robot, schedule, options=gaits.GaitOptions(mu=0.6), limits=gaits.GaitLimits(rest=True))
    plan = SolverSQP(problem).solve(*gaits.gait_guess(problem, schedule))
    assert plan.converged
    motion = replay(plan, plant="mujoco")
    legs = legged_motion(motion)
    assert max(map(legs.slip, legs.feet)) < 3e-3
    (line,) = [each for each in motion.explain().splitlines() if each.startswith("  slip: ")]
    assert line == f"  slip: {motion_report(motion)['slip']}"
    assert "  slip: " not in plan.explain()


@pytest.mark.slow
def test_a_replay_that_misses_its_goal_needs_feedback_and_no_more_time() -> None:
    plan = problems.load("arm-reach", "planar-2r").solve()
    beside = plan.xs[0] + [0.3, -0.3, 0.0, 0.0]
    lost = replay(plan, plant="mujoco", feedback="open", x0=beside).explain()
    assert 'the plant left the plan: compare the kinds of feedback, replay(..., feedback="gains"), "springs"' in lost
    assert "without feedback" not in lost
    assert "give the motion more time" not in lost
    assert "the plant left the plan" not in replay(plan, plant="mujoco", x0=beside, feedback="gains").explain()


def test_springs_pull_each_joint_to_its_reference() -> None:
    """Half a radian off, a motor gives its limit, and damping acts against the error of the velocity."""
    plan = planned("quadruped-trot")
    policy = plan.feedback("springs", clip=False)
    motors, state = plan.problem.running[0].model_parts.actuation, plan.problem.state
    dx = np.zeros(state.ndx)
    dx[6 + 2], dx[state.nv + 6 + 4] = 0.5, -1.0
    moved = policy(0.0, state.integrate(plan.xs[0], dx)) - plan.us[0]
    expected = np.zeros(motors.nu)
    expected[2], expected[4] = -motors.upper[2], 0.03 * motors.upper[4] / 0.5
    np.testing.assert_allclose(moved, expected, atol=1e-9)
    np.testing.assert_allclose(policy.K[0], policy.K[-1])


def test_a_policy_takes_the_knot_and_the_state_between_knots() -> None:
    plan = planned("quadruped-trot")
    policy, times = plan.feedback(clip=False), plan.times
    assert times is not None
    state = plan.problem.state
    for knot in (0, 5, 20):
        part = times[knot] + 0.3 * (times[knot + 1] - times[knot])
        between = state.integrate(plan.xs[knot], 0.3 * state.difference(plan.xs[knot], plan.xs[knot + 1]))
        np.testing.assert_allclose(policy(part, between), plan.us[knot], atol=1e-9)
    impulses = np.flatnonzero(np.diff(times) == 0.0)
    assert len(impulses)
    assert policy.knot(times[impulses[0]]) == impulses[0] + 1
    assert "Feedback('gains'" in repr(policy)


def test_a_replay_is_a_motion_of_the_same_problem() -> None:
    plan = planned("quadruped-trot")
    motion = replay(plan, plant=MuJoCoPlant(plan.robot, []), feedback="open")
    assert motion.xs.shape == plan.xs.shape
    fallen = 0.5 * 9.81 * motion.times[-1] ** 2  # nothing holds it
    assert plan.xs[0, 2] - motion.xs[-1, 2] == pytest.approx(fallen, rel=0.2)
    assert motion.solver == "replay"


@functools.cache
def climb() -> Solution:
    return problems.load("quadruped-stairs", stairs=1).solve()


@pytest.mark.slow
def test_a_gait_on_terrain_stands_on_it_in_mujoco() -> None:
    """All feet end on the landing, with the springs that are the default there; the picture has the same ground."""
    plan = climb()
    terrain, motion = plan.problem.schedule.terrain, replay(plan, plant="mujoco", clip=True)
    assert usual_kind(plan) == "springs"
    assert np.linalg.norm(motion.xs[-1, :3] - plan.xs[-1, :3]) < 0.05
    legs = legged_motion(motion)
    ends = np.array([foot.positions[-1] for foot in legs.feet])
    np.testing.assert_allclose(terrain.heights(ends), 0.1)
    lift = terrain.distances([legged_motion(plan).feet[0].positions[0]])[0]
    np.testing.assert_allclose(terrain.distances(ends), lift, atol=6e-3)
    assert np.nanmax([np.nanmax(foot.normal_forces) for foot in legs.feet]) > 0.2 * legs.weight
    np.testing.assert_array_equal(legs.relief.boxes, terrain.boxes)


def test_a_ball_that_hits_the_side_of_a_step_keeps_its_cone() -> None:
    """It rolls against a step: floor and side push at once, each within its cone of 0.4, and the report says so."""
    builder = ArticulationBuilder()
    builder.add_sphere(builder.add_link("ball"), 0.05)
    builder.add_free("world", "ball")
    ball = builder.build("ball")
    ground = gaits.Terrain(
        Plane((0.0, 0.0, 1.0, 0.0)), trajopt.Box((0.4, 2.0, 0.2), placement=[0.4, 0, 0.1, 0, 0, 0, 1])
    )
    contact = MDPContact("ball", radius=0.05, surface=ground.surface, friction=0.4)
    state = trajopt.StateMultibody(ball)
    knot = ActionModelSimulator(Simulator(ball, [contact]), trajopt.CostStack(state), dt=0.01)
    x0 = np.r_[0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0, 2.0, 0.5, 0.0, 0.0, 0.0, 0.0]
    problem, us = trajopt.ShootingProblem(x0, [knot] * 30, trajopt.CostStack(state)), np.zeros((30, knot.nu))
    plan = solution_of(problem, problem.rollout(us), us)
    motion = replay(plan, plant=MuJoCoPlant(ball, [contact]), feedback="open")
    (foot,) = legged_motion(motion).feet
    hit = int(np.argmin(foot.normals[:, 2]))
    assert motion.xs[-1, 7] < 1.0
    assert motion.xs[hit, 0] == pytest.approx(0.15, abs=0.02)  # the side is at x = 0.2 m
    assert foot.normals[hit, 0] < -0.8
    assert np.nanmax(foot.cone_use) < 1.0 + 1e-6
    words = motion_report(motion)
    assert re.fullmatch(r"ball hits a steep side with [\d.]+ N \(knot [89], .* s\)", words["side"])
    assert " outside the cone" not in words["friction"]
    assert "inf" not in words["friction"]


def test_ground_that_mujoco_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hills, and footholds of different heights without terrain."""
    plan = climb()
    schedule = plan.problem.schedule
    hills = gaits.Terrain(HeightField(lambda x, y: 0.0 * x), *schedule.terrain.surfaces)
    for terrain, words in ((None, "feet that stand on one floor"), (hills, "planes and boxes fixed to the world")):
        monkeypatch.setattr(plan.problem, "schedule", replace(schedule, terrain=terrain))
        with pytest.raises((InvalidArgumentError, UnsupportedOperationError), match=words):
            replay(plan, plant="mujoco")


def test_what_does_not_fit_is_refused() -> None:
    plan = planned("quadruped-trot")
    with pytest.raises(UnknownNameError, match="plant 'mujco' not found; did you mean 'mujoco'"):
        replay(plan, plant="mujco")
    with pytest.raises(UnknownNameError, match="kind 'spring' not found; did you mean 'springs'"):
        plan.feedback("spring")
    with pytest.raises(InvalidArgumentError, match="stiffness: expected a number > 0"):
        Feedback(plan, "springs", stiffness=-1.0)
    with pytest.raises(InvalidArgumentError, match=r"solution: expected one of a robot \(StateMultibody\)"):
        replay(problems.load("unicycle").solve(), plant="mujoco")


def test_forces_of_a_replay_are_those_of_mujoco() -> None:
    """On average they carry the weight, and each foot pushes within the plant's cone: MuJoCo's friction is 0.7."""
    plan = planned("quadruped-trot")
    motion = replay(plan, plant="mujoco", feedback="springs", clip=True)
    legs = legged_motion(motion)
    total = np.sum([np.nan_to_num(foot.normal_forces) for foot in legs.feet], axis=0)
    timed = np.diff(motion.times) > 0.0
    assert total[timed].mean() == pytest.approx(legs.weight, rel=0.05)
    for foot in legs.feet:
        assert np.nanmin(foot.normal_forces) >= 0.0
        assert np.nanmax(foot.cone_use) < 1.05  # the mean of several steps
    assert set(motion.contact_forces()) == {foot.name for foot in legs.feet}
    assert "friction" not in " ".join(motion.violations())


def test_forces_of_a_replay_are_those_of_the_simulator() -> None:
    plan = planned("quadruped-trot")
    feet = [MDPContact(foot.frame, friction=0.8) for foot in legged_motion(plan).feet]
    floor = min(foot.positions[0, 2] for foot in legged_motion(plan).feet)
    feet = [MDPContact(each.frame, friction=0.8, surface=Plane((0.0, 0.0, 1.0, -floor))) for each in feet]
    motion = replay(plan, plant=Simulator(plan.robot, feet), feedback="springs", clip=True)
    legs = legged_motion(motion)
    total = np.sum([np.nan_to_num(foot.forces) for foot in legs.feet], axis=0)
    momentum = plan.robot.model.createData()
    speed = [
        pin.computeCentroidalMomentum(plan.robot.model, momentum, x[: plan.robot.nq], x[plan.robot.nq :]).linear.copy()
        for x in motion.xs[[0, -1]]
    ]
    pushed = (np.diff(motion.times)[:, None] * total).sum(axis=0) - [0.0, 0.0, legs.weight * motion.times[-1]]
    np.testing.assert_allclose(pushed, speed[1] - speed[0], atol=0.02 * legs.weight * motion.times[-1])
    assert all(foot.mu.max() == 0.8 for foot in legs.feet)
    assert legs.ground == floor  # and not where feet that tumble meet it


def test_the_ground_of_a_replay_is_below_the_spheres_of_the_feet() -> None:
    """A floor 2 cm below the points of the feet, which spheres of 2 cm touch: none of them floats."""
    plan = planned("quadruped-trot")
    height = min(foot.positions[0, 2] for foot in legged_motion(plan).feet)
    floor = Plane((0.0, 0.0, 1.0, 0.02 - height))
    feet = [MDPContact(foot.frame, radius=0.02, surface=floor) for foot in legged_motion(plan).feet]
    motion = replay(plan, plant=Simulator(plan.robot, feet), feedback="springs", clip=True)
    assert legged_motion(motion).ground == pytest.approx(height)
    assert motion.description.planes == ((0.0, 0.0, 1.0, 0.02 - height),)
    gaps = [gap_to_ground(legged_motion(motion), foot, 0) for foot in legged_motion(motion).feet]
    np.testing.assert_allclose(gaps, 0.0, atol=2e-3)
    for wrong in (None, "mujoco", Simulator(plan.robot, feet)):
        with pytest.raises(InvalidArgumentError, match=r"got none; .* Solution.load\(path, problem\)"):
            replay(replace(plan, problem=None), plant=wrong)


@pytest.mark.parametrize("status", [SolverStatus.CONVERGED, SolverStatus.UNSOLVED, SolverStatus.DIVERGED])
def test_a_replay_that_fails_says_where(status: SolverStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    """A motion that no solver computed, such as that of a closed loop, has not failed to converge."""
    plan = replace(planned("quadruped-trot"), status=status)

    def failed(x: Reals, state: object) -> Reals:
        if len(calls) == 2:
            raise ModelEvaluationError("its step did not converge")
        calls.append(1)
        return x

    calls: list[int] = []
    monkeypatch.setattr(replays, "check_next", failed)
    whose = "" if status is not SolverStatus.DIVERGED else " of a solution that did not converge"
    words = rf"^plant: the replay{whose} failed at knot 0 \(0\.002 s\): its step did not converge"
    with pytest.raises(ModelEvaluationError, match=words):
        replay(plan, plant=Simulator(plan.robot, [MDPContact(legged_motion(plan).feet[0].frame)]), feedback="springs")


def test_a_replay_is_no_solve(tmp_path: Path) -> None:
    plan = planned("quadruped-trot")
    motion = replay(plan, plant="mujoco", feedback="springs", clip=True)
    assert (motion.status, motion.converged) == (SolverStatus.UNSOLVED, False)
    words = motion.explain()
    assert words.startswith("replay: a motion that no solver computed.")
    assert "contact forces are those of the plant" in words
    assert not any(word in words for word in ("nan", "converged", "largest gap", "friction_"))
    assert "nan" not in motion.plot()._suptitle.get_text() + repr(motion)
    loaded = Solution.load(motion.save(tmp_path / "motion.npz"))
    np.testing.assert_array_equal(legged_motion(loaded).feet[0].forces, legged_motion(motion).feet[0].forces)


def test_a_plant_that_does_not_tell_its_forces_has_none() -> None:
    plan = planned("quadruped-trot")
    motion = replay(plan, 1, plant=lambda x, u, dt: x, feedback="open")
    assert not motion.description.touches
    assert motion.contact_forces() == {}
    assert "contact forces are unknown" in motion.explain()
    motion.plot()


def test_a_model_as_plant_keeps_the_forces_of_its_contacts() -> None:
    plan = planned("quadruped-trot")
    motion = replay(plan, 1, plant=plan.problem.running[0], feedback="open")
    assert set(motion.measured) == {"notes"}  # and no forces


def thrown() -> Solution:
    """A pendulum of two links swings by torques, and lets go of 0.5 kg in the middle."""
    robot = trajopt.load_robot("double_pendulum")
    robot = robot.with_payload(robot.frame_names[-1], 0.5).with_parameters("payload.mass")
    state = trajopt.StateMultibody(robot)
    motors = trajopt.ActuationModelFull(state)
    costs = trajopt.CostStack(state)
    knot = trajopt.IntegratedActionModelRK4(trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs), 0.01)
    problem = trajopt.ShootingProblem(state.zero(), [knot] * 20, costs)
    problem.set_parameter("robot.payload.mass", 1e-6, knots=range(10, 20))
    us = np.full((20, 2), 0.3)
    return solution_of(problem, problem.rollout(us), us)


def test_a_payload_that_is_let_go_is_gone_in_mujoco_too() -> None:
    """The end is that of two plants in turn, and of the models; before, the ball stayed in the hand."""
    plan = thrown()
    plant = replays.in_mujoco(plan)
    motion = replay(plan, plant=plant, feedback="open")
    held, bare = plan.robot, plan.robot.with_values({"payload.mass": 1e-6})
    x = plan.xs[0]
    for robot in (held, bare):
        own = MuJoCoPlant(robot)
        for _ in range(100):
            x = own.step(x, plan.us[0], 1e-3)
    np.testing.assert_allclose(motion.xs[-1], x, atol=1e-9)
    np.testing.assert_allclose(motion.xs[-1], plan.xs[-1], atol=0.3)
    kept = replay(plan, plant=lambda x, u, dt: plant.step(x, u, dt), feedback="open")
    assert np.abs(kept.xs[-1] - plan.xs[-1]).max() > 10.0
    np.testing.assert_array_equal(plant.model.body_mass, MuJoCoPlant(held).model.body_mass)  # as it was


def test_a_plant_that_keeps_its_masses_is_said_to() -> None:
    plan = thrown()
    words = "  the plant keeps its own masses: robot.payload.mass of the knots left out"
    assert words in replay(plan, plant=Simulator(plan.robot), feedback="open").explain().splitlines()
    assert "its own masses" not in replay(plan, plant="mujoco", feedback="open").explain()
    assert "its own masses" not in replay(plan, feedback="open").explain()


@pytest.mark.slow
def test_feet_have_the_friction_of_their_cones() -> None:
    """A plan for ice ran on a rough floor, and its feet used .645 of their normal force."""
    robot = trajopt.load_robot("go2")
    stance = gaits.Stance.of(robot, [f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR")])
    trot = gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05)
    problem = gaits.gait_problem(robot, trot, options=gaits.GaitOptions(mu=0.2), limits=True)
    plan = SolverSQP(problem).solve(*gaits.gait_guess(problem, trot))
    assert plan.converged
    plant = replays.in_mujoco(plan)
    assert [float(contact.parameters()["friction"].default) for contact in plant.spheres] == [0.2] * 4
