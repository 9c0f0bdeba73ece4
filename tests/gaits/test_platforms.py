"""Jumps onto platforms and down from them, within hard limits, checked by Pinocchio."""

from __future__ import annotations

import functools

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from trajopt import gaits
from trajopt.analysis import legged_motion, reached
from trajopt.gaits.profiles import PROFILES
from trajopt.plotting import plot_strip
from trajopt.robots import configuration_on_ground
from trajopt.robots.collisions.surfaces import surfaces
from trajopt.simulator import Plane
from trajopt.solution import Solution
from trajopt.solvers import SolverSQP
from trajopt.types import Reals

FEET = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
G, MU = 9.81, 0.6
RADII = {"go2": 0.0235, "b1": 0.04}  # of the feet [m]
UP, HIGH, DOWN = ("go2", 0.15, 0.55, 0.06), ("b1", 0.2, 0.9, 0.1), ("go2", -0.1, 0.6, 0.03)
"""Robot, height of the ground after the jump, length of the jump, and way from the front feet to the edge [m]."""


@functools.cache
def planned(name: str, step: float, length: float, way: float) -> tuple[gaits.ContactSchedule, Reals, Reals]:
    """The jump, the configuration at its start, and the heights of both feet's radius and the edge [m]."""
    robot = trajopt.load_robot(name)
    q = configuration_on_ground(robot, FEET, "standing")
    q[2] += RADII[name]
    stance = gaits.Stance.of(robot, FEET, q)
    edge = stance.feet["FL_foot"].position[0] + way
    if step > 0:
        terrain = gaits.Terrain.stairs(1, rise=step, depth=1.0, start=edge)
    else:
        top = trajopt.Box([3.0, 2.0, 1.0], placement=[edge - 1.5, 0.0, -0.5, 0.0, 0.0, 0.0, 1.0])
        terrain = gaits.Terrain(Plane((0.0, 0.0, 1.0, -step)), top)
    height = 0.15 if name == "b1" else 0.1
    jump = gaits.quadruped_jump(stance, jump_height=height, jump_length=(length, 0.0, 0.0)).on(terrain)
    return jump, q, np.array([RADII[name], edge])


@functools.cache
def solved(name: str, step: float, length: float, way: float) -> Solution:
    jump, q, _ = planned(name, step, length, way)
    options = gaits.GaitOptions(mu=MU)
    problem = gaits.gait_problem(trajopt.load_robot(name), jump, q, posture=q, limits=True, options=options)
    return SolverSQP(problem).solve(*gaits.gait_guess(problem, jump))


CASES = pytest.mark.parametrize("case", [UP, HIGH, DOWN], ids=lambda case: f"{case[0]} {case[1]:+g} m")


@pytest.mark.slow
@CASES
def test_a_jump_to_another_height_converges_within_its_limits(case: tuple[str, float, float, float]) -> None:
    solution, model = solved(*case), trajopt.load_robot(case[0]).model
    assert solution.converged
    assert solution.iterations <= 60
    assert np.abs(solution.gaps()).max() < 1e-6
    assert np.all(np.abs(solution.us) <= model.effortLimit[6:] + 1e-6)
    assert np.all(np.abs(solution.xs[:, model.nq + 6 :]) <= model.velocityLimit[6:] + 1e-6)
    motion = legged_motion(solution)
    for foot in motion.feet:
        force = foot.forces[foot.stands & motion.takes_time]
        assert np.all(np.linalg.norm(force[:, :2], axis=1) <= MU * force[:, 2] + 1e-4)
        np.testing.assert_allclose(foot.positions[-1] - foot.positions[0], [case[2], 0.0, case[1]], atol=2e-3)


@CASES
def test_nothing_but_gravity_acts_in_the_air(case: tuple[str, float, float, float]) -> None:
    """Newton-Euler by Pinocchio leaves no force on the base, so momentum is ballistic; the path is a parabola."""
    solution, (jump, *_) = solved(*case), planned(*case)
    model = trajopt.load_robot(case[0]).model
    data, nq = model.createData(), model.nq
    air = np.flatnonzero(~jump.active.any(axis=1))
    for t in air[:-1]:
        q, v, after = solution.xs[t, :nq], solution.xs[t, nq:], solution.xs[t + 1, nq:]
        force = pin.rnea(model, data, q, v, (after - v) / jump.dt)
        np.testing.assert_allclose(force[:6], 0.0, atol=1e-5)
        np.testing.assert_allclose(force[6:], solution.us[t], atol=1e-5)
    com = np.array([pin.centerOfMass(model, data, x[:nq]).copy() for x in solution.xs[air]])
    time = jump.dt * np.arange(len(air))
    fits = [np.polynomial.Polynomial.fit(time, com[:, i] + G / 2 * time**2 * (i == 2), 1)(time) for i in range(3)]
    np.testing.assert_allclose(com + G / 2 * np.outer(time**2, [0.0, 0.0, 1.0]), np.transpose(fits), atol=2e-3)


@CASES
def test_feet_stay_above_the_ground_at_knots_and_between(case: tuple[str, float, float, float]) -> None:
    solution, (jump, _, (radius, _)) = solved(*case), planned(*case)
    robot, terrain = trajopt.load_robot(case[0]), jump.terrain
    assert terrain is not None
    nq = robot.nq
    for foot in FEET:
        places = np.array([robot.placement(x[:nq], foot)[:3, 3] for x in solution.xs])
        assert terrain.distances(places).min() - radius > -1.1e-3
        between = [
            robot.placement(pin.interpolate(robot.model, a[:nq], b[:nq], part), foot)[:3, 3]
            for a, b in zip(solution.xs, solution.xs[1:])
            for part in (0.25, 0.5, 0.75)
        ]
        assert terrain.distances(np.array(between)).min() - radius > -2e-3
        (lowest,) = [row for row in reached(solution) if row.what == "lowest" and row.of == foot]
        assert lowest.reached == pytest.approx(terrain.distances(places).min() - radius, abs=1e-9)
    for row in reached(solution):
        if row.what == "clearance":
            assert row.reached == pytest.approx(row.asked, abs=0.03)


@CASES
def test_references_can_be_followed_by_feet_that_push(case: tuple[str, float, float, float]) -> None:
    """The ground pushes up, within the friction cone, and not above 5 times the weight; in the air there is gravity."""
    jump, *_ = planned(*case)
    timed = ~jump.touchdowns
    com, active = jump.com_references[timed], jump.active[timed].any(axis=1)
    force = np.diff(com, n=2, axis=0) / jump.dt**2 + [0.0, 0.0, G]
    inside = active[:-2] & active[1:-1] & active[2:]
    assert np.all(force[inside, 2] > 0.2 * G)
    assert np.all(force[inside, 2] < 6 * G)
    assert np.all(np.abs(force[inside, 0]) < MU * force[inside, 2])
    np.testing.assert_allclose(force[~active[:-2] & ~active[1:-1] & ~active[2:]], 0.0, atol=1e-6)
    assert com[-1, 2] - com[0, 2] == pytest.approx(case[1], abs=1e-3)


@CASES
def test_feet_get_paths_that_clear_the_edge(case: tuple[str, float, float, float]) -> None:
    jump, _, (radius, _) = planned(*case)
    assert jump.terrain is not None
    paths = jump.foot_references[:, :, :, 3]
    for i in range(4):
        path = paths[~np.isnan(paths[:, i, 0]), i]
        assert len(path) > 40
        assert jump.terrain.distances(path).min() - radius > -1e-6
        assert jump.terrain.distances(path[5:-5]).min() - radius > 1e-3


def test_a_jump_onto_level_terrain_keeps_its_path() -> None:
    stance = gaits.Stance.of(trajopt.load_robot("go2"), FEET)
    flat = gaits.quadruped_jump(stance)
    placed = flat.on(gaits.Terrain(Plane((0.0, 0.0, 1.0, -min(f.position[2] for f in stance.feet.values())))))
    np.testing.assert_allclose(placed.com_references, flat.com_references, atol=1e-9)
    assert [phase.name for phase in placed.phases] == [phase.name for phase in flat.phases]


@pytest.mark.parametrize("name", ["onto", "off"])
@pytest.mark.parametrize("knots", [7, 40])
def test_paths_of_jumps_rise_first(name: str, knots: int) -> None:
    progress, height = PROFILES[name](knots)
    np.testing.assert_allclose(progress[[0, -1]], [[0.0] * 3, [1.0] * 3], atol=1e-12)
    np.testing.assert_allclose(height[[0, -1]], 0.0, atol=1e-12)
    assert height.max() == pytest.approx(1.0, abs=0.05)
    assert np.all(np.diff(progress, axis=0) >= -1e-12)


def test_the_underside_of_the_base_keeps_off() -> None:
    """Points of the lower edges are in the capsules, which are at most 2 cm larger than the base."""
    jump, *_ = planned(*UP)
    robot = trajopt.load_robot("go2")
    models = gaits.GaitModels(robot, jump.start, limits=True, terrain=jump.terrain)
    bodies = [body for body in models._bodies if body.frame == "base"]
    corners = np.concatenate([t.reshape(-1, 3) for t in surfaces(robot)["base"].triangles])
    low, high = corners.min(axis=0), corners.max(axis=0)
    for y in (low[1], high[1]):
        for x in np.linspace(low[0] + 0.02, high[0] - 0.02, 9):
            point = np.array([x, y, low[2]])
            inside = [
                np.linalg.norm(point - np.clip(point, b.points[0], b.points[-1])) <= b.radius + 1e-9 for b in bodies
            ]
            assert any(inside)
    assert min(body.points[0][2] - body.radius for body in bodies) > low[2] - 0.02


def test_options_of_jumps_are_public() -> None:
    assert gaits.JumpOptions.__doc__ is not None
    assert "trajopt.gaits.JumpOptions" in str(gaits.quadruped_jump.__doc__)


def test_a_strip_shows_lift_off_apex_and_landing_above_the_ground_below() -> None:
    solution, (jump, *_) = solved(*UP), planned(*UP)
    axes = plot_strip(solution, 7).axes[0]
    labels = [label.get_text().split("\n")[0] for label in axes.get_xticklabels()]
    air = np.flatnonzero(~jump.active.any(axis=1))
    heights = legged_motion(solution).com[air, 2]
    for knot in (air[0], air[heights.argmax()], air[-1] + 2):
        assert f"{jump.times[knot]:.2f}" in labels
    grounds = [line for line in axes.get_lines() if line.get_label() == "_ground"]
    assert len(grounds) == len(labels)  # one outline below each picture
    assert max(line.get_ydata().max() for line in grounds) > min(line.get_ydata().min() for line in grounds) + 0.05
    assert axes.get_xlabel() == "time [s]"
