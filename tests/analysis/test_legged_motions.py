"""Motions of our own robots are physical: from contact_forces() and Pinocchio, not from what reports and plots use."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

import trajopt
from trajopt import gaits, problems
from trajopt.analysis import legged_motion
from trajopt.robots.builtin_legged import SMALL_BIPED_SOLE
from trajopt.robots.legged import LEGGED_ROBOTS, legged_robot
from trajopt.solution import Solution
from trajopt.solvers import SolverFDDP

Reals = npt.NDArray[np.float64]
MU, FORCE, DISTANCE, HEIGHT = 0.7, 0.0, 5e-4, 0.05  # [-], [N], [m], [m]
WEIGHT = 16.0 * 9.81  # of the small biped [N]
QUADRUPED = [(f"quadruped-{gait}", "small-quadruped") for gait in ("walk", "trot", "pace", "bound", "jump")]
BIPED = [("biped-walk", "small-biped"), ("biped-jump", "small-biped")]
MOTIONS = [*QUADRUPED, *BIPED]
HEIGHTS = {"quadruped-walk": 0.05, "quadruped-trot": 0.05, "quadruped-pace": 0.05, "biped-walk": 0.05}  # [m]
NAMES = [family for family, _ in MOTIONS]


@dataclass(frozen=True, kw_only=True)
class Foot:
    """A foot over the knots.

    Attributes:
        knots: Knots at which it stands (n,).
        forces: What the ground does to it at these knots: force in the world's axes (n, 3) [N].
        torques: Torque on a sole in its own axes (n, 3) [N m]; none on a point (n, 0).
        corners: Corners of its sole, or the point (T + 1, corners, 3) [m].
    """

    knots: npt.NDArray[np.int64]
    forces: Reals
    torques: Reals
    corners: Reals


@functools.cache
def solved(family: str, robot: str) -> Solution:
    case = problems.load(family, robot=robot)
    return case.solve()


def feet_of(solution: Solution, frames: dict[str, str], sole: tuple[float, float] | None) -> list[Foot]:
    """The feet by contact and frame; a sole's sides (2,) [m], None for points."""
    problem, forces = solution.problem, solution.contact_forces()
    assert problem is not None
    model = problem.state.model  # type: ignore[attr-defined]
    data, feet = model.createData(), []
    x, y = (0.0, 0.0) if sole is None else sole
    corners = np.array([(a * x / 2, b * y / 2, 0.0) for a in (-1, 1) for b in (-1, 1)])
    for contact, frame in frames.items():
        places = []
        for state in solution.xs:
            pin.framesForwardKinematics(model, data, state[: model.nq])
            places.append(data.oMf[model.getFrameId(frame)].homogeneous)
        turns, origins = np.array(places)[:, :3, :3], np.array(places)[:, None, :3, 3]
        name = f"contacts.{contact}.active"
        knots = np.array(problem.parameters[name].knots)[np.ravel(solution.parameters[name]) > 0]
        force, torque = np.split(forces[contact][knots], [3], axis=1)
        own = np.einsum("tji,tj->ti", turns[knots], torque) if sole else torque
        outline = corners @ turns.swapaxes(1, 2) + origins
        feet.append(Foot(knots=knots, forces=force, torques=own, corners=outline))
    return feet


@functools.cache
def motion_of(family: str, robot: str) -> list[Foot]:
    frames = {frame.replace("-", "_"): frame for frame in LEGGED_ROBOTS[robot].feet}
    return feet_of(solved(family, robot), frames, SMALL_BIPED_SOLE if robot == "small-biped" else None)


@pytest.mark.parametrize(("family", "robot"), MOTIONS, ids=NAMES)
def test_feet_push_within_their_friction_cones(family: str, robot: str) -> None:
    for foot in motion_of(family, robot):
        assert len(foot.knots) > 10
        assert foot.forces[:, 2].min() > -FORCE
        tangential = np.hypot(foot.forces[:, 0], foot.forces[:, 1])
        assert (MU * foot.forces[:, 2] - tangential).min() > -FORCE


@pytest.mark.parametrize(("family", "robot"), MOTIONS, ids=NAMES)
def test_feet_stay_above_the_ground(family: str, robot: str) -> None:
    """In the air too."""
    for foot in motion_of(family, robot):
        assert foot.corners[:, :, 2].min() > -DISTANCE
        assert np.abs(foot.corners[foot.knots, :, 2]).max() < 1.5 * DISTANCE, "and on it while they stand"


@pytest.mark.parametrize(("family", "height"), HEIGHTS.items(), ids=list(HEIGHTS))
def test_feet_rise(family: str, height: float) -> None:
    """As high as the gait asks for."""
    for foot in motion_of(family, dict(MOTIONS)[family]):
        risen = foot.corners[:, :, 2].mean(axis=1).max()
        assert 0.95 * height < risen < height + DISTANCE


@pytest.mark.parametrize(("family", "robot"), MOTIONS, ids=NAMES)
def test_the_body_keeps_its_height(family: str, robot: str) -> None:
    """The base that at which the robot stands; in a jump the centre of mass what it is asked for, where it is."""
    solution = solved(family, robot)
    heights = solution.xs[:, 2]
    assert abs(heights[-1] - heights[0]) < HEIGHT
    if "jump" not in family:
        assert np.abs(heights - heights[0]).max() < HEIGHT
        return
    problem = solution.problem
    assert problem is not None
    model = problem.state.model  # type: ignore[attr-defined]
    data, guided = model.createData(), 0
    for t, weight, reference in zip(
        problem.parameters["com.weight"].knots,
        np.ravel(solution.parameters["com.weight"]),
        solution.parameters["com.reference"],
        strict=True,
    ):
        if weight > 0:
            height = pin.centerOfMass(model, data, solution.xs[t, : model.nq])[2]
            assert abs(height - reference[2]) < HEIGHT
            guided += 1
    assert guided > 10


def check_pressures(feet: list[Foot], sole: tuple[float, float], weight: float) -> None:
    """Centres of pressure (-τ_y, τ_x) / f_z are on the soles; of a foot that hardly presses, torques are as small."""
    for foot in feet:
        load = foot.forces[:, 2]
        for half, torque in ((sole[0] / 2, foot.torques[:, 1]), (sole[1] / 2, foot.torques[:, 0])):
            pressed = load > 0.02 * weight
            assert (np.abs(torque[pressed]) / load[pressed]).max() < half + DISTANCE
            assert (np.abs(torque) - half * load).max() < 2 * DISTANCE * weight


@pytest.mark.parametrize(("family", "robot"), BIPED, ids=[family for family, _ in BIPED])
def test_centres_of_pressure_are_on_the_soles(family: str, robot: str) -> None:
    check_pressures(motion_of(family, robot), SMALL_BIPED_SOLE, WEIGHT)


def test_forces_are_in_world_axes_and_each_foot_has_its_pressure() -> None:
    """Pinocchio's inverse dynamics with Jacobians in world axes explain the base; pressures are (-τ_y, τ_x) / f_z."""
    solution = solved("biped-walk", "small-biped")
    model, forces, t = solution.robot.model, solution.contact_forces(), 5
    data, nq = model.createData(), model.nq
    q, v, after = solution.xs[t, :nq], solution.xs[t, nq:], solution.xs[t + 1, nq:]
    times = solution.times
    assert times is not None
    missing = pin.rnea(model, data, q, v, (after - v) / (times[t + 1] - times[t]))
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    for foot in legged_motion(solution).feet:
        wrench, frame = forces[foot.name][t], model.getFrameId(foot.frame)
        missing -= pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED).T @ wrench
        expected = foot.positions[t, :2] + np.array([-wrench[4], wrench[3]]) / wrench[2]
        np.testing.assert_allclose(foot.pressures[t, :2], expected, atol=1e-12)
    np.testing.assert_allclose(missing[:6], 0.0, atol=1e-8)


def test_centres_of_pressure_are_on_soles_that_turn() -> None:
    """A quarter of a circle: at its end, the length of the soles is along the world's y axis."""
    robot, names = trajopt.load_robot("small-biped"), LEGGED_ROBOTS["small-biped"].feet
    stance = gaits.Stance.of(robot, names, soles=True)
    path = [(0.8 * np.sin(angle), 0.8 * (1 - np.cos(angle))) for angle in np.linspace(0.0, np.pi / 2, 50)]
    steps = gaits.footsteps_along(stance, path, step_length=0.2)
    walk = gaits.biped_footsteps(stance, steps, step_height=0.05, profile="smooth")
    sole = LEGGED_ROBOTS["small-biped"].sole or (0.0, 0.0)
    options = gaits.GaitOptions(sole=sole)
    problem = gaits.gait_problem(robot, walk, options=options)
    problem.set_parameter("state.reference", gaits.carried_postures(robot, walk), "all")
    solution = SolverFDDP(problem).solve(*gaits.gait_guess(problem, walk, "references"))
    assert solution.converged
    feet = feet_of(solution, {name: name for name in names}, SMALL_BIPED_SOLE)
    for foot in feet:
        along = foot.corners[-1, 2] - foot.corners[-1, 0]  # corners are in the order (-, -), (-, +), (+, -), (+, +)
        np.testing.assert_allclose(along, [0.0, SMALL_BIPED_SOLE[0], 0.0], atol=2e-2)
    check_pressures(feet, SMALL_BIPED_SOLE, WEIGHT)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["humanoid-reach", "humanoid-taichi"])
def test_humanoids_stand_firmly(family: str) -> None:
    """Forces are smooth but for the first knots and where a foot lifts; soles push, do not slide, tip or sink."""
    solution, about = solved(family, "talos"), LEGGED_ROBOTS["talos"]
    assert about.sole is not None
    right, left = feet_of(solution, dict(zip(("right", "left"), about.feet, strict=True)), about.sole)
    lifted = {"humanoid-reach": len(solution.us), "humanoid-taichi": 40}[family]
    assert [foot.knots[-1] + 1 for foot in (right, left)] == [len(solution.us), lifted]
    for foot in (right, left):
        assert foot.forces[:, 2].min() > 0
        assert (MU * foot.forces[:, 2] - np.hypot(foot.forces[:, 0], foot.forces[:, 1])).min() > 0
        moved = foot.corners[: foot.knots[-1] + 2] - foot.corners[0]
        assert np.linalg.norm(moved, axis=2).max() < 3e-3
        for first, last in ((2, 40), (41, 80), (81, 120)):
            assert alternations(foot.forces[(foot.knots >= first) & (foot.knots < last), 2]) == 0
    check_pressures([right, left], about.sole, 90.27 * 9.81)


def alternations(forces: Reals) -> int:
    """How often a force goes up and down again, or down and up, by more than 20 N each from knot to knot."""
    steps = np.diff(forces)
    both = np.minimum(np.abs(steps[1:]), np.abs(steps[:-1])) > 20.0
    return int(np.sum(both & (steps[1:] * steps[:-1] < 0)))


def test_the_biped_walks() -> None:
    """It does so on one foot at a time, which is when the centre of pressure wanders."""
    right, left = motion_of("biped-walk", "small-biped")
    alone = [set(a.knots) - set(b.knots) for a, b in ((right, left), (left, right))]
    assert [len(knots) for knots in alone] == [25, 25]
    for foot, moved in ((right, 0.1), (left, 0.2)):
        np.testing.assert_allclose(foot.corners[-1] - foot.corners[0], np.tile([moved, 0.0, 0.0], (4, 1)), atol=3e-3)


def test_a_foot_below_the_ground_is_told() -> None:
    """Swings without weight cut through the ground while the base moves."""
    robot = trajopt.load_robot("small-quadruped")
    trot = gaits.quadruped_trot(gaits.Stance.of(robot, legged_robot("small-quadruped").feet), step_length=0.1, cycles=1)
    for weight in (1.0, 2e6):
        problem = gaits.gait_problem(robot, trot, options=gaits.GaitOptions(foot=weight))
        solution = SolverFDDP(problem).solve(*gaits.gait_guess(problem, trot))
        deepest = 1e3 * min(foot.positions[:, 2].min() for foot in legged_motion(solution).feet)
        advice = [line for line in solution.explain().splitlines() if line.startswith("->")]
        assert any("-> the swing of " in line and " of 100 mm: " in line for line in advice) is (weight == 1.0)
        told = [line for line in advice if "below the ground" in line]
        assert bool(told) is (weight == 1.0)
        if told:
            assert f"{-deepest:.3g} mm below the ground" in told[0]
            assert "GaitOptions(foot=" in told[0]
