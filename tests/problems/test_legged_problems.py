"""Ready problems of robots on feet: tables against traces, all robots, options, and what a report says."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from trajopt import gaits, problems
from trajopt.analysis import Foot, LeggedMotion, legged_motion
from trajopt.analysis.report import cone_margin, tipping_margin
from trajopt.problems import gait_tables
from trajopt.robots.legged import LEGGED_ROBOTS

DATA = Path(__file__).parents[1] / "data" / "crocoddyl"
TABLES = {
    "walk": gait_tables.CROCODDYL_WALK,
    "trot": gait_tables.CROCODDYL_TROT,
    "pace": gait_tables.CROCODDYL_PACE,
    "bound": gait_tables.CROCODDYL_BOUND,
    "jump": gait_tables.CROCODDYL_JUMP,
}
OWN = (
    *(gait_tables.WALK, gait_tables.TROT, gait_tables.PACE, gait_tables.BOUND, gait_tables.JUMP),
    *(gait_tables.BIPED_WALK, gait_tables.BIPED_JUMP),
)
PUBLISHED = [
    *((f"{robot}-{gait}", row) for gait, table in TABLES.items() for robot, row in table.items()),
    ("talos-legs-walk", gait_tables.CROCODDYL_BIPED_WALK["talos_legs"]),
    ("talos-legs-jump", gait_tables.CROCODDYL_BIPED_JUMP["talos_legs"]),
]
PUBLISHED = [(name, row) for name, row in PUBLISHED if "solo12" not in name]
"""All but Solo12's, of which there is no trace: solving them is the test."""


@pytest.mark.parametrize(("name", "row"), PUBLISHED, ids=[name for name, _ in PUBLISHED])
def test_published_costs_are_those_of_the_traces(name: str, row: gait_tables.Steps | gait_tables.Leap) -> None:
    trace = json.loads((DATA / f"{name}.json").read_text())
    assert trace["converged"]
    assert row.cost == trace["cost"]


def test_every_robot_is_known_as_legged() -> None:
    for name in problems.names():
        if name.startswith(("quadruped", "biped", "humanoid", "crocoddyl")):
            assert set(problems.describe(name).robots) <= set(LEGGED_ROBOTS)
    assert len(PUBLISHED) == 14


def test_every_row_has_a_cost() -> None:
    published = (*TABLES.values(), gait_tables.CROCODDYL_BIPED_WALK, gait_tables.CROCODDYL_BIPED_JUMP)
    for tables, source in ((published, gait_tables.CROCODDYL), (OWN, gait_tables.TRAJOPT)):
        assert all(row.cost and row.source == source for table in tables for row in table.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "robot"),
    [
        ("quadruped-trot", "small-quadruped"),
        ("quadruped-pace", "b1"),
        ("quadruped-trot", "solo12"),
        ("crocoddyl-quadruped-trot", "solo12"),
        ("biped-walk", "small-biped"),
        ("biped-jump", "small-biped"),
    ],
)
def test_other_robots(family: str, robot: str) -> None:
    """At the known cost, feet where they are to land, stances that hold, forces that do not pull."""
    case = problems.load(family, robot=robot)
    solution = case.solve()
    assert solution.converged
    assert solution.cost == pytest.approx(case.reference_cost, rel=1e-6)
    motion, forces = legged_motion(solution), solution.contact_forces()
    assert [foot.name for foot in motion.feet] == [name.replace("-", "_") for name in LEGGED_ROBOTS[robot].feet]
    for foot in motion.feet:
        assert motion.slip(foot) < 3e-3
        assert foot.normal_forces[foot.stands].min() > -1.0
        assert np.all(forces[foot.name][motion.takes_time & ~foot.stands] == 0.0)
    if case.reference_source != gait_tables.CROCODDYL:  # its forces are to be in a pyramid around the cone
        assert cone_margin(motion, 0.7) > 0.0
    assert abs(solution.xs[-1, 2] - solution.xs[0, 2]) < 0.05
    words = case.report(solution)
    asked = {"length", "landing", "lowest"} | ({"rise", "flight"} if "jump" in family else {"clearance"})
    soles = {"tipping"} if family.startswith("biped") else set()
    always = {"moved", "speed", "base", "balance", "slip", "force", "friction", "limits"}
    assert set(words) == always | asked | soles
    moved = np.round(solution.xs[-1, :2] - solution.xs[0, :2], 3) + 0.0  # no -0.000
    assert words["moved"].startswith(f"{moved[0]:+.3f} m forward, {moved[1]:+.3f} m to the left in ")


def test_options_reach_the_schedule() -> None:
    case = problems.load(
        "quadruped-trot", robot="small-quadruped", step_length=0.06, step_height=0.03, step_knots=10, support_knots=4,
        cycles=2, heading=np.pi / 2, dt=2e-2, mu=0.5,
    )  # fmt: skip
    problem = case.problem
    assert problem.T == 2 * 2 * (4 + 10 + 1)
    assert case.reference_cost is None
    assert problem.get_parameter("dt", 0) == 2e-2
    assert problem.get_parameter("lf_foot_cone.mu", 0) == 0.5
    solution = case.solver(problem, case.options).solve(case.xs, case.us)
    feet = {foot.name: foot for foot in legged_motion(solution).feet}
    for name, foot in feet.items():
        expected = 0.12 if name in ("lf_foot", "rh_foot") else 0.09  # the others step half as far at first
        np.testing.assert_allclose(foot.positions[-1] - foot.positions[0], [0.0, expected, 0.0], atol=1e-4)
    assert feet["lf_foot"].positions[:, 2].max() == pytest.approx(0.03, rel=0.05)


def test_jump_options() -> None:
    case = problems.load(
        "quadruped-jump", robot="small-quadruped", jump_height=0.12, jump_length=(0.0, 0.1, 0.0), flying_knots=16,
        dt=1e-2, ground_knots=30,
    )  # fmt: skip
    solution = case.solve()
    model = case.problem.state.model
    data = model.createData()
    heights = [pin.centerOfMass(model, data, x[: model.nq])[2] for x in solution.xs]
    assert max(heights) - heights[0] == pytest.approx(0.12, rel=0.02)
    np.testing.assert_allclose(solution.xs[-1, :2] - solution.xs[0, :2], [0.0, 0.1], atol=5e-3)
    assert all(foot.stands.any() and not foot.stands.all() for foot in legged_motion(solution).feet)


# What a report is made of


def motion_of(stands: list[int], x: list[float], forces: list[list[float]], hits: tuple[int, ...] = ()) -> LeggedMotion:
    """One foot that moves along x, on level ground; touch-downs at the knots `hits`."""
    T, none = len(stands), np.full((len(stands), 3), np.nan)
    positions = np.array(x)[:, None] * [1.0, 0.0, 0.0]
    foot = Foot(
        name="foot",
        frame="foot",
        positions=positions,
        references=positions,
        stands=np.array(stands, dtype=bool),
        forces=np.array(forces),
        torques=none,
        impulses=none,
        normals=np.tile([0.0, 0.0, 1.0], (T, 1)),
        mu=np.full(T, np.nan),
        outline=np.zeros((T + 1, 1, 3)),
    )
    lasting = ~np.isin(np.arange(T), hits)
    com = np.zeros((T + 1, 3))
    return LeggedMotion(
        abscissa=np.arange(T + 1.0),
        label="knot",
        takes_time=lasting,
        feet=(foot,),
        com=com,
        com_references=com,
        weight=10.0,
    )


def test_slip_is_that_within_a_stance() -> None:
    motion = motion_of([1, 1, 0, 0, 1], [0.0, 0.001, -0.003, 0.5, 1.0, 1.002], [[0.0, 0.0, 1.0]] * 5)
    assert motion.slip(motion.feet[0]) == pytest.approx(0.003)
    flight = motion_of([0], [0.0, 1.0], [[0.0, 0.0, 0.0]])
    assert flight.slip(flight.feet[0]) == 0.0


def test_slip_goes_on_through_touch_downs_of_others() -> None:
    """At knot 1 another foot hits the ground, which takes no time and ends no stance."""
    forces = [[0.0, 0.0, 1.0], [np.nan] * 3, [0.0, 0.0, 1.0]]
    motion = motion_of([1, 0, 1], [0.0, 0.002, 0.002, 0.004], forces, hits=(1,))
    assert motion.slip(motion.feet[0]) == pytest.approx(0.004)


def test_cone_margin() -> None:
    """mu f_n - |f_t| where the foot stands, at no touch-down."""
    forces = [[3.0, 4.0, 10.0], [np.nan] * 3, [0.0, 0.0, 50.0], [100.0, 0.0, 0.0]]
    motion = motion_of([1, 0, 1, 0], [0.0] * 5, forces, hits=(1,))
    assert cone_margin(motion, 0.7) == pytest.approx(0.7 * 10 - 5)
    assert cone_margin(motion, 0.4) == pytest.approx(-1.0)
    assert cone_margin(motion_of([0], [0.0] * 2, [[np.nan] * 3]), 0.7) == np.inf


def test_tipping_margin() -> None:
    """X f_n - |τ_y| and Y f_n - |τ_x| in the sole's axes; here x of the sole is y of the world."""
    forces, torques = [[0, 0, 100], [0, 0, 100], [0, 0, 1]], [[9.0, 0, 0], [0, -7.0, 0], [99.0, 0, 0]]
    for X, Y, expected in ((0.1, 0.05, 0.05 * 100 - 7), (0.08, 0.1, 0.08 * 100 - 9)):
        motion = motion_of([1, 1, 0], [0.0] * 4, forces)
        corners = np.array([[-Y, X, 0.0], [-Y, -X, 0.0], [Y, -X, 0.0], [Y, X, 0.0]])
        sole = dataclasses.replace(motion.feet[0], torques=np.array(torques), outline=np.tile(corners, (4, 1, 1)))
        assert tipping_margin(dataclasses.replace(motion, feet=(sole,))) == pytest.approx(expected)
        assert tipping_margin(motion) == np.inf


def test_touch_downs_of_others_end_no_stance() -> None:
    case = problems.load("quadruped-trot", robot="small-quadruped")
    motion = legged_motion(case.solve())
    counts = {foot.name: len(motion.intervals(foot, standing=True)) for foot in motion.feet}
    second = ("lf_foot", "rh_foot")  # their touch-down is the end
    assert counts == {name: 1 if name in second else 2 for name in counts}


# Postures that go along


def test_carried_postures_of_a_straight_walk() -> None:
    robot = trajopt.load_robot("small-quadruped")
    stance = gaits.Stance.of(robot, LEGGED_ROBOTS["small-quadruped"].feet)
    walk = gaits.quadruped_walk(stance, step_length=0.1, profile="smooth")
    states = gaits.carried_postures(robot, walk)
    assert states.shape == (walk.T + 1, robot.nq + robot.nv)
    np.testing.assert_array_equal(states[0, : robot.nq], robot.configuration("standing"))
    moved = np.mean([np.subtract(walk.end.feet[f].position, stance.feet[f].position) for f in stance.names], axis=0)
    np.testing.assert_allclose(states[-1, :2], moved[:2], atol=1e-12)
    np.testing.assert_array_equal(states[:, 7:], np.tile(states[0, 7:], (len(states), 1)))


@pytest.mark.parametrize("angle", [np.pi / 2, -np.pi, 1.5 * np.pi])
def test_carried_postures_turn_with_soles(angle: float) -> None:
    """Around a circle; turns of more than half a circle are followed."""
    robot = trajopt.load_robot("small-biped")
    stance = gaits.Stance.of(robot, LEGGED_ROBOTS["small-biped"].feet, soles=True)
    radius = np.sign(angle) * 1.0

    def bend(s: float) -> tuple[float, float]:
        return radius * np.sin(s * angle), radius * (1 - np.cos(s * angle))

    walk = gaits.biped_footsteps(stance, gaits.footsteps_along(stance, bend, step_length=0.2))
    states = gaits.carried_postures(robot, walk)
    rotations = [pin.Quaternion(state[3:7]).matrix() for state in states]
    turns = [pin.log3(a.T @ b) for a, b in itertools.pairwise(rotations)]
    np.testing.assert_allclose(np.sum(turns, axis=0), [0.0, 0.0, angle], atol=2e-2)
    assert np.abs(turns).max() < 0.1
    np.testing.assert_allclose(np.linalg.norm(states[:, 3:7], axis=1), 1.0, atol=1e-12)
    assert np.all(states[:, 2] == states[0, 2])


def test_carried_postures_turn_with_point_feet() -> None:
    robot = trajopt.load_robot("small-quadruped")
    stance = gaits.Stance.of(robot, LEGGED_ROBOTS["small-quadruped"].feet)
    turn = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 0.3), np.array([0.1, 0.0, 0.0]))
    names, phases = stance.names, []
    for foot in names:
        swing = gaits.Swing(foot, stance.feet[foot].moved(turn))
        phases.append(gaits.Phase(name=foot, knots=5, stance=tuple(n for n in names if n != foot), swings=(swing,)))
    states = gaits.carried_postures(robot, gaits.ContactSchedule(start=stance, phases=tuple(phases), dt=0.01))
    end = pin.SE3(pin.Quaternion(states[-1, 3:7]).matrix(), states[-1, :3])
    start = pin.SE3(np.eye(3), states[0, :3])
    np.testing.assert_allclose(end.homogeneous, (turn * start).homogeneous, atol=2e-2)
