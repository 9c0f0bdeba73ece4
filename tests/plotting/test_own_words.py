"""Pictures show what matters of a motion: distances, limits, values that vary; a body that is pushed has no steps."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import trajopt
from tests.support.collision_arm import collision_arm
from tests.support.unsolved import solution_of
from trajopt import plotting, problems
from trajopt.analysis.legs import is_legged
from trajopt.articulations import ArticulationBuilder
from trajopt.plotting import closed_loop_panels
from trajopt.plotting.closed_loop_panels import busy_panels, distance_panels
from trajopt.plotting.controls import control_panels
from trajopt.plotting.film import film_of
from trajopt.plotting.legged_summary import heading
from trajopt.plotting.motion import plot_motion
from trajopt.plotting.obstacles import moving_around, obstacles_to_draw
from trajopt.plotting.stage import FilmStage
from trajopt.robots.collisions.distances import body_distances
from trajopt.robots.frame_index import frame_index
from trajopt.simulator import MDPContact, Simulator
from trajopt.solution import Solution
from trajopt.solvers import SolverDDP


def beside_a_ball() -> Solution:
    """An arm that turns its joints beside a ball, while two motors act, one of them hardly."""
    state = collision_arm()
    scene = trajopt.Scene({"ball": trajopt.Sphere(0.1, center=[0.4, 0.2, 0.5])})
    motors = trajopt.ActuationModelFull(state)
    limits = trajopt.ConstraintStack.of_robot(state, collisions=scene, margin=0.02)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(
        state, motors, trajopt.CostStack(state), constraints=limits
    )
    knot = trajopt.IntegratedActionModelEuler(dynamics, 0.1)
    problem = trajopt.ShootingProblem(state.zero(), [knot] * 4, trajopt.CostStack(state))
    xs, us = np.zeros((5, state.nx)), np.zeros((4, 7))
    xs[:, :7] = np.linspace(0.0, 1.2, 5)[:, None] * np.array([1.0, -0.5, 0.7, 0.4, -0.8, 0.3, 0.2])
    us[2] = np.array([0.25, *[1e-3] * 6]) * state.model.effortLimit
    return solution_of(problem, xs, us)


def test_a_closed_loop_shows_the_distance_from_an_obstacle_with_its_margin() -> None:
    """Of all links, also where other bodies have the rows."""
    motion = beside_a_ball()
    ((line,),) = distance_panels(motion)
    shapes, ball = motion.robot.collision_shapes, trajopt.Sphere(0.1, center=[0.4, 0.2, 0.5])
    model = motion.robot.model
    carriers = [model.frames[frame_index(model, str(body.frame))].parentJoint for body in shapes.bodies]
    pairs = [(i, len(carriers)) for i, joint in enumerate(carriers) if joint]
    gaps = body_distances(model, (*shapes.bodies, ball), pairs, motion.xs[:, : motion.robot.nq])
    np.testing.assert_allclose(line.values[:4], gaps[:4].min(axis=1), atol=1e-12)  # the end has no constraints
    assert line.name == "ball"
    assert line.least is not None
    assert np.all(line.least[:4] == 0.02)


def test_a_loaded_closed_loop_shows_the_distances_of_rows(tmp_path: Path) -> None:
    """The robot of a file has no meshes, to which no shapes can be fitted."""
    motion = beside_a_ball()
    motion.save(tmp_path / "beside.npz")
    ((line,),), ((loaded,),) = distance_panels(motion), distance_panels(Solution.load(tmp_path / "beside.npz"))
    assert loaded.name == line.name == "ball"
    there = np.isfinite(loaded.values)
    assert there.sum() >= 3
    assert np.all(loaded.values[there] >= line.values[there] - 1e-12)
    assert loaded.values[there].min() == pytest.approx(np.nanmin(line.values), abs=1e-12)


def test_motors_that_hardly_act_are_named_and_the_others_say_their_share_of_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    motion = beside_a_ball()
    ((*_, line),) = busy_panels(motion)[0]
    assert busy_panels(motion)[1] == ["at most 25 % of a limit"]
    finger = dataclasses.replace(line, name="finger", values=np.array([0.0, -5e-4 * line.upper]))
    monkeypatch.setattr(closed_loop_panels, "control_panels", lambda _: [*control_panels(motion), [finger]])
    panels, notes = busy_panels(motion)
    assert len(panels) == 1
    assert notes == ["at most 25 % of a limit; finger 0.05 %"]


def test_motions_of_a_batch_have_a_key_of_the_number_that_varies() -> None:
    X = np.stack([np.linspace(-0.5, 0.5, 3)[::-1], np.zeros(3)], axis=1)
    batch = SolverDDP(problems.load("pendulum", T=20).problem).solve_batch(X)
    axes = plotting.plot_batch(batch).get_axes()
    (bar,) = (each for each in axes if each.get_ylabel() == "x0[0], q [rad]")
    assert [text.get_text() for text in bar.get_yticklabels()] == ["-0.5", "0", "0.5"]
    (fan,) = (each for each in axes if each.get_title(loc="left") == "q [rad]")
    starts = [float(np.asarray(line.get_ydata())[0]) for line in fan.lines]
    assert starts == [-0.5, 0.0, 0.5]  # light to dark


def test_a_block_that_is_pushed_makes_no_steps() -> None:
    builder = ArticulationBuilder()
    builder.add_box(builder.add_link("block"), (0.1, 0.1, 0.1), density=500.0)
    builder.add_free("world", "block")
    builder.add_sphere(builder.add_link("finger"), 0.02, density=3000.0)
    builder.add_prismatic("world", "finger", axis="x", X_p=[0.0, 0.0, 0.04, 0.0, 0.0, 0.0, 1.0])
    robot = builder.build("pusher")
    corners = [(x, y, -0.05) for x in (-0.05, 0.05) for y in (-0.05, 0.05)]
    contacts = [MDPContact("block", corner, friction=0.4, name=f"corner{i}") for i, corner in enumerate(corners)]
    surface = trajopt.Box([0.1, 0.1, 0.1], frame="block")
    contacts.append(MDPContact("finger", radius=0.02, surface=surface, friction=0.3, name="touch"))
    simulator = Simulator(robot, contacts)
    x0 = simulator.state.zero()
    names = simulator.state.coordinate_names
    x0[names.index("q:block_joint.z")], x0[names.index("q:finger_joint")] = 0.049, -0.075
    x0[names.index("v:finger_joint")] = 0.5  # [m/s]
    solution = simulator.rollout(x0, steps=60, dt=2e-3).solution()
    assert not is_legged(solution)
    words = heading(solution)
    assert words.startswith("moved ")
    assert "steps of" not in words
    assert "feet rise" not in words


def test_an_obstacle_that_comes_from_afar_is_drawn_near_the_motion_only() -> None:
    motion = beside_a_ball()
    rows = np.array(motion.parameters["collisions.ball"])
    points = film_of(motion).skeleton.points.reshape(-1, 3)
    rows[:] = points.mean(axis=0) + np.linspace(-5.0, 0.0, len(rows))[:, None] * np.array([0.0, 1.0, 0.0])
    moved = dataclasses.replace(motion, parameters={**motion.parameters, "collisions.ball": rows})
    (hull,) = moving_around(obstacles_to_draw(moved), points)
    there = np.isfinite(hull).all(axis=(1, 2))
    assert there.tolist() == [False] * (len(hull) - 2) + [True] * 2
    FilmStage(film_of(moved)).show(0.1, "")


def test_a_payload_without_mass_is_not_drawn() -> None:
    robot = trajopt.load_robot("double_pendulum")
    tip = robot.frame_names[-1]
    carrier = robot.with_payload(tip, 0.5).with_parameters("payload.mass")
    state = trajopt.StateMultibody(carrier)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(
        state, trajopt.ActuationModelFull(state), trajopt.CostStack(state)
    )
    knot = trajopt.IntegratedActionModelEuler(dynamics, 0.1)
    there = trajopt.ResidualModelFrameTranslation(state, "payload", [0.0, 0.0, 1.0])
    problem = trajopt.ShootingProblem(state.zero(), [knot] * 4, trajopt.CostStack(state).add("there", there, 1.0))
    problem.set_parameter("robot.payload.mass", 1e-6, knots=[2, 3])  # the end, if it has a mass, keeps the former one
    motion = solution_of(problem, np.zeros((5, state.nx)), np.zeros((4, 2)))
    film = film_of(motion)
    held = np.isfinite(film.skeleton.solids[-1].points).all(axis=(1, 2))
    assert held.tolist() == [True, True, False, False, False]
    assert np.isfinite(film.trails).all(axis=(0, 2)).tolist() == held.tolist()
    FilmStage(film).show(0.4, "")
    axes = plot_motion(motion).axes[0]
    assert len([each for each in axes.get_children() if each.get_label() == "_solid"]) == 2
    (path,) = [each for each in axes.get_lines() if each.get_label() == "path of payload"]
    assert np.isfinite(np.asarray(path.get_ydata())).tolist() == held.tolist()
