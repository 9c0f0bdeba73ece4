"""Gaits on terrain: footholds on the ground, swings above it, cones along its normal, legs off it, pictures of it."""

from __future__ import annotations

import functools
from pathlib import Path

import casadi as ca
import coal
import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.display.recording import Recording, vertices
from trajopt import gaits, problems
from trajopt.analysis import legged_motion
from trajopt.display.layers.relief import TerrainLayer, has_terrain
from trajopt.errors import InvalidArgumentError
from trajopt.gaits.parameters import knot_parameters
from trajopt.plotting import plot_feet, plot_motion, plot_strip
from trajopt.robots.collisions.surfaces import collision_geometry
from trajopt.simulator import HeightField, Plane, Surface
from trajopt.simulator.box_surface import BoxSurface
from trajopt.solution import Solution

FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
RADIUS = 0.02  # [m]
STAIRS = gaits.Terrain.stairs(2, rise=0.08, depth=0.25, start=0.3)
SLOPE = gaits.Terrain(Plane((-0.2, 0.1, 1.0, -0.1)))
HILLS = gaits.Terrain(HeightField(lambda x, y: 0.05 * ca.sin(3 * x) * ca.cos(2 * y)), Plane((0, 0, 1, 1)))


def robot() -> trajopt.Robot:
    return trajopt.load_robot("small-quadruped")


def trot_on(terrain: gaits.Terrain, **options: float) -> tuple[gaits.ContactSchedule, gaits.ContactSchedule]:
    """A trot whose feet start on the ground, 2 cm above it, flat and on the terrain."""
    standing = gaits.Stance.of(robot(), FEET)
    places = {name: foot.shifted((0.0, 0.0, 0.0)) for name, foot in standing.feet.items()}
    tops = terrain.heights([foot.position for foot in places.values()])
    placed = {
        name: (*foot.position[:2], top + RADIUS / terrain.normals([foot.position])[0, 2])
        for (name, foot), top in zip(places.items(), tops.tolist())
    }
    flat = gaits.quadruped_trot(gaits.Stance(placed, standing.com), step_length=0.12, step_height=0.03, cycles=3)
    return flat, flat.on(terrain, **options)


def test_heights_normals_and_distances() -> None:
    points = np.array([[0.0, 0.0, 0.5], [0.3, 0.2, 0.1], [0.6, 0.0, 0.3], [0.6, 1.2, 0.3]])
    np.testing.assert_allclose(STAIRS.heights(points), [0.0, 0.08, 0.16, 0.0])
    np.testing.assert_allclose(STAIRS.normals(points), np.tile([0.0, 0.0, 1.0], (4, 1)))
    np.testing.assert_allclose(STAIRS.distances(points), [0.5, 0.02, 0.14, np.hypot(0.2, 0.14)], atol=1e-8)
    normal = np.array([-0.2, 0.1, 1.0]) / np.sqrt(1.05)
    np.testing.assert_allclose(SLOPE.normals(points), np.tile(normal, (4, 1)))
    np.testing.assert_allclose(SLOPE.heights(points), 0.1 + 0.2 * points[:, 0] - 0.1 * points[:, 1])
    slope = 0.15 * np.cos(3 * 0.3) * np.cos(2 * 0.2)
    assert HILLS.normals(points)[1, 0] / HILLS.normals(points)[1, 2] == pytest.approx(-slope)


@pytest.mark.parametrize("terrain", [STAIRS, SLOPE, HILLS], ids=["stairs", "slope", "hills"])
def test_feet_are_on_the_ground_and_swings_above_it(terrain: gaits.Terrain) -> None:
    flat, placed = trot_on(terrain, clearance=0.015, edge=0.04)
    assert placed.terrain is terrain
    near = 1e-3 if terrain is HILLS else 1e-8  # distances from hills are those from tangent planes
    for stance in placed.stances:
        places = np.array([foot.position for foot in stance.feet.values()])
        np.testing.assert_allclose(terrain.distances(places), RADIUS, atol=near)
        normals = np.array([foot.normal for foot in stance.feet.values()])
        assert np.abs(normals - terrain.normals(places)).max() < (0.02 if terrain is HILLS else 1e-12)
    paths = placed.foot_references
    assert terrain.distances(paths[np.isfinite(paths[:, :, 0, 0])][:, :, 3]).min() > RADIUS - near
    for before, after in zip(flat.stances, placed.stances):
        assert before.com is not None
        assert after.com is not None
        np.testing.assert_allclose(np.subtract(after.com, before.com), after.centre - before.centre, atol=1e-12)


def test_footholds_keep_off_edges_and_swings_off_risers() -> None:
    _, placed = trot_on(STAIRS, clearance=0.015, edge=0.04)
    for foot in placed.end.feet.values():
        assert np.abs(foot.position[0] - np.array([0.3, 0.55])).min() >= 0.04 - 1e-9
    risen = [swing for phase in placed.phases for swing in phase.swings if swing.height and swing.height > 0.03]
    assert risen
    middles = [place for place in placed.foot_references[:, :, :, 3].reshape(-1, 3) if np.isfinite(place[0])]
    edges = [np.linalg.norm(np.array(middles)[:, [0, 2]] - edge, axis=1).min() for edge in ((0.3, 0.08), (0.55, 0.16))]
    assert min(edges) >= RADIUS + 0.01


def walk_over_a_board(board: float = 0.62, radius: float = 0.04, **options: float) -> gaits.ContactSchedule:
    """A walk over a board of 6 cm that begins at this place; by default a step would end 5.5 cm ahead of it."""
    at = {"lf": (0.315, 0.2), "rf": (0.315, -0.2), "lh": (-0.345, 0.2), "rh": (-0.345, -0.2)}
    stance = gaits.Stance({name: (*place, radius) for name, place in at.items()}, com=(0.0, 0.0, 0.5))
    walk = gaits.quadruped_walk(
        stance, step_length=0.25, step_height=0.08, step_knots=24, support_knots=2, cycles=4, first_step="full"
    )
    ground = gaits.Terrain(Plane((0, 0, 1, 0)), BoxSurface((board, -1, 0), (board + 0.25, 1, 0.06)))
    return walk.on(ground, **options)


@pytest.mark.parametrize("radius", [0.0235, 0.03, 0.04])
@pytest.mark.parametrize("board", [0.58, 0.6, 0.61, 0.62, 0.625, 0.63, 0.64, 0.65, 0.68, 0.7])
def test_round_feet_stand_where_they_can_rise_in_front_of_a_step(board: float, radius: float) -> None:
    walk = walk_over_a_board(board, radius)
    heights = [swing.height for phase in walk.phases for swing in phase.swings]
    assert max(height for height in heights if height) < 0.14  # with footholds 5.5 cm ahead of the board .61 m
    places = np.array([foot.position[0] for stance in walk.stances for foot in stance.feet.values()])
    assert np.abs(places[:, None] - np.array([board, board + 0.25])).min() >= radius + 0.02 - 1e-9


def test_no_swing_is_far_higher_than_the_ground_below_it() -> None:
    with pytest.raises(InvalidArgumentError, match=r"got none up to a height of 0\.24 m; move footholds away .*edge="):
        walk_over_a_board(edge=0.05)


def test_flat_terrain_changes_nothing() -> None:
    flat, placed = trot_on(gaits.Terrain(Plane((0, 0, 1, 0))), clearance=0.0, edge=0.0)
    np.testing.assert_allclose(placed.foot_references, flat.foot_references, atol=1e-12)
    np.testing.assert_allclose(placed.com_references, flat.com_references, atol=1e-12)


def test_cones_follow_the_normal_at_each_foothold() -> None:
    _, placed = trot_on(HILLS)
    values = {
        name: (value, knots)
        for name, value, knots in knot_parameters(
            gaits.GaitOptions(), placed.start, placed, 18, soft=False, cones={"lf_foot": trajopt.FrictionCone(0.7)}
        )
    }
    for name in ("lf_foot_cone.rotation", "lf_foot_force.rotation"):
        rotations, knots = values[name]
        for rotation, knot in zip(np.asarray(rotations), knots):
            stance = placed.stances[placed.phase_of_knot[knot] + placed.touchdowns[knot]]
            np.testing.assert_allclose(rotation[:, 2], stance.feet["lf_foot"].normal, atol=1e-12)
            np.testing.assert_allclose(rotation.T @ rotation, np.eye(3), atol=1e-12)
    assert np.ptp([foot.normal[0] for stance in placed.stances for foot in stance.feet.values()]) > 0.05


def test_the_base_tilts_with_the_footholds() -> None:
    flat, placed = trot_on(SLOPE)
    states = gaits.carried_postures(robot(), placed)
    normal = np.array([-0.2, 0.1, 1.0]) / np.sqrt(1.05)
    for x in states[:: len(states) // 4]:
        np.testing.assert_allclose(pin.Quaternion(x[3:7]).matrix()[:, 2], normal, atol=1e-9)
    level = gaits.carried_postures(robot(), flat)
    np.testing.assert_allclose(level[:, 3:7], np.tile([0, 0, 0, 1], (len(states), 1)), atol=1e-12)
    np.testing.assert_allclose(states[:, :2], level[:, :2], atol=0.02)  # above the feet, which move to the ground
    rises = SLOPE.heights(states[:, :3]) - SLOPE.heights(states[:1, :3])
    np.testing.assert_allclose(states[:, 2] - states[0, 2], rises, atol=1e-3)


@pytest.mark.parametrize("turn", [0.0, 0.6])
def test_a_posture_on_the_slope_is_the_reference_there(turn: float) -> None:
    """A robot that stands on a slope, tilted with it, keeps this posture, and walks parallel to the slope."""
    for axis, angle in (([0.0, -1.0, 0.0], 0.25), ([1.0, 0.0, 0.0], 0.2), ([0.6, -0.8, 0.0], 0.3)):
        tilt = pin.SE3(pin.exp3(angle * np.array(axis)), np.zeros(3))
        q = robot().configuration("standing")
        q[:7] = pin.SE3ToXYZQUAT(tilt * pin.XYZQUATToSE3(q[:7]))
        normal = tilt.rotation[:, 2]
        stance = gaits.Stance.of(robot(), FEET, q)
        ground = gaits.Terrain(Plane((*normal, -float(np.dot(normal, stance.centre)))))
        walk = gaits.quadruped_trot(stance, step_length=0.1, step_height=0.03, cycles=2, turn=turn).on(ground)
        states = gaits.carried_postures(robot(), walk, q)
        np.testing.assert_allclose(states[0, : robot().nq], q, atol=1e-9)
        ups = np.array([pin.Quaternion(x[3:7]).matrix()[:, 2] for x in states])
        np.testing.assert_allclose(ups, np.tile(normal, (len(ups), 1)), atol=1e-6)


def test_feet_a_rounding_error_below_the_ground_stand_on_it() -> None:
    """Soles of Talos' own posture are 2 µm below z = 0."""
    talos, soles = trajopt.load_robot("talos_legs"), ("right_sole_link", "left_sole_link")
    stance = gaits.Stance.of(talos, soles, soles=True)
    assert -1e-3 < stance.height < -1e-6
    stairs = gaits.Terrain.stairs(1, rise=0.08, depth=0.28, start=0.2)
    climb = gaits.biped_walk(stance, step_length=0.4, first_step="full").on(stairs)
    np.testing.assert_allclose([foot.position[2] for foot in climb.end.feet.values()], 0.08, atol=1e-5)
    deep = gaits.Stance({name: foot.shifted((0.0, 0.0, -2e-3)) for name, foot in stance.feet.items()}, stance.com)
    with pytest.raises(InvalidArgumentError, match="below it; move the robot or the terrain"):
        gaits.biped_walk(deep).on(gaits.Terrain(Plane((0, 0, 1, 0))))


@pytest.mark.parametrize(("edge", "warns"), [(None, True), (0.1, False)])
def test_soles_over_an_edge_warn(edge: float | None, warns: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Their cone of forces is that of the whole sole, whose heel hung 3 cm over the edge of each stair."""
    talos, soles = trajopt.load_robot("talos_legs"), ("right_sole_link", "left_sole_link")
    walk = gaits.biped_walk(gaits.Stance.of(talos, soles, soles=True), step_length=0.28, cycles=2, first_step="full")
    options = gaits.GaitOptions(sole=(0.2, 0.1))
    gaits.gait_problem(
        talos, walk.on(gaits.Terrain.stairs(2, rise=0.1, depth=0.28, start=0.2), edge=edge), options=options
    )
    assert ("the sole of right_sole_link at (0.271, -0.0852) m does not lie on the ground" in caplog.text) == warns
    assert ("pass edge=0.1 to schedule.on(terrain)" in caplog.text) == warns


def test_boxes_of_a_scene_are_ground() -> None:
    box = trajopt.Box([1.0, 2.0, 0.5], placement=[0.3, 0.1, 0.25, 0.0, 0.0, 0.0, 1.0])
    points = np.random.default_rng(0).uniform(-0.5, 1.0, (40, 2))
    expected = gaits.Terrain(BoxSurface((-0.2, -0.9, 0.0), (0.8, 1.1, 0.5))).heights(points)
    np.testing.assert_array_equal(gaits.Terrain(box).heights(points), expected)


@pytest.mark.slow
def test_what_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="surfaces: expected at least one"):
        gaits.Terrain()
    for surface in (Surface(lambda p: p[2]), "floor"):
        with pytest.raises(InvalidArgumentError, match=r"surfaces\[0\]: expected a Plane, HeightField or Box"):
            gaits.Terrain(surface)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"surfaces\[0\]: expected a plane whose normal points up"):
        gaits.Terrain(Plane((1, 0, 0, 0)))
    with pytest.raises(
        InvalidArgumentError, match=r"surfaces\[1\]: expected a surface of the world, got one of 'cart'"
    ):
        gaits.Terrain(Plane((0, 0, 1, 0)), BoxSurface((0, 0, 0), (1, 1, 1), body="cart"))
    turned = trajopt.Box([1, 1, 1], placement=[0, 0, 0, 0, 0, 0.6, 0.8])
    with pytest.raises(InvalidArgumentError, match=r"surfaces\[0\]: expected a box along the axes of the world"):
        gaits.Terrain(turned)
    flat, placed = trot_on(STAIRS)
    with pytest.raises(
        InvalidArgumentError, match=r"terrain: expected a Terrain, got Plane.*write gaits.Terrain\(.*\)"
    ):
        flat.on(Plane((0.0, 0.0, 1.0, 0.0)))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="terrain: expected 'lf_foot' of the schedule's start on the ground"):
        flat.on(gaits.Terrain(Plane((0, 0, 1, -0.5))))
    with pytest.raises(InvalidArgumentError, match="foothold: expected ground without a step within 0.2 m near"):
        flat.on(STAIRS, edge=0.2)
    with pytest.raises(InvalidArgumentError, match="foothold: expected ground without a step"):
        flat.on(gaits.Terrain(BoxSurface((-1, -1, -1), (0.2, 1, 0))))
    with pytest.raises(InvalidArgumentError, match="schedule: expected the terrain of the models, None, got Terrain"):
        gaits.GaitModels(robot(), placed.start, limits=True).problem(placed)
    with pytest.raises(InvalidArgumentError, match="limits: expected bodies that keep off the terrain"):
        gaits.gait_problem(robot(), placed, limits=True)
    state = trajopt.StateMultibody(robot())
    with pytest.raises(InvalidArgumentError, match=r"bodies\[0\]: expected a Sphere or Capsule on a frame"):
        gaits.ResidualModelTerrainDistance(state, STAIRS, [trajopt.Sphere(0.1)])
    with pytest.raises(InvalidArgumentError, match="normal: expected a vector that points up"):
        gaits.Foothold((0, 0, 0), normal=(1, 0, 0))


# One stair of 10 cm, solved with hard limits


@functools.cache
def climbed(robot: str = "go2") -> Solution:
    return problems.load("quadruped-stairs", robot=robot, stairs=1).solve()


@pytest.mark.slow
def test_the_climb_keeps_its_limits() -> None:
    solution = climbed()
    assert solution.converged
    assert max(float(violation.max()) for violation in solution.violations().values()) < 1e-6
    assert {"terrain", "torques", "FL_foot_force"} <= set(solution.description.constraint_names)
    problem = solution.problem
    assert problem is not None
    assert problem.schedule is not None
    motion = legged_motion(solution)
    tops = np.array([foot.positions[-1, 2] for foot in motion.feet])
    np.testing.assert_allclose(tops, 0.1 + 0.0235, atol=1e-3)  # all feet are on the landing
    with pytest.raises(InvalidArgumentError, match="schedule: expected the terrain of the models"):
        trajopt.gaits.GaitModels(problem.state.robot, problem.schedule.start, limits=True).problem(problem.schedule)


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["go2", "b1"])
def test_three_stairs_end_at_the_reference_cost_of_the_robot(robot: str) -> None:
    case = problems.load("quadruped-stairs", robot=robot)
    assert case.solve().cost == pytest.approx(case.reference_cost, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["go2", "b1"])
def test_nothing_of_the_robot_touches_the_stairs_but_its_feet(name: str) -> None:
    """Distances of its geometry by another library, at the knots and between them."""
    solution = climbed(name)
    problem, robot = solution.problem, solution.robot
    assert problem is not None
    assert robot is not None
    geometry, model = collision_geometry(robot), robot.model
    data, placed = model.createData(), geometry.createData()
    (low, high), *_ = problem.schedule.terrain.boxes
    floor = [coal.Box(9.0, 9.0, 1.0), coal.Transform3s(np.eye(3), np.array([0.0, 0.0, -0.5]))]
    stair = [coal.Box(*(high - low)), coal.Transform3s(np.eye(3), (low + high) / 2)]
    across = pin.AngleAxis(np.pi / 2, np.array([1.0, 0.0, 0.0])).toRotationMatrix()
    edge = [coal.Capsule(1e-5, high[1] - low[1]), coal.Transform3s(across, np.array([low[0], 0.0, high[2]]))]
    least: dict[str, float] = {}
    for a, b in zip(solution.xs[:-1, : model.nq], solution.xs[1:, : model.nq]):
        for share in (0.0, 0.25, 0.5, 0.75):
            q = pin.interpolate(model, a, b, share)
            pin.updateGeometryPlacements(model, data, geometry, placed, q)
            for i, entry in enumerate(geometry.geometryObjects):
                link = model.frames[entry.parentFrame].name
                kind = "foot" if link.endswith("foot") else "shank" if link.endswith("calf") else "rest"
                if share and kind == "rest":  # far away
                    continue
                for other, (shape, at) in {"floor": floor, "stair": stair, "edge": edge}.items():
                    here = coal.Transform3s(placed.oMg[i].rotation, placed.oMg[i].translation)
                    request, result = coal.DistanceRequest(), coal.DistanceResult()
                    distance = coal.distance(entry.geometry, here, shape, at, request, result)
                    key = f"{kind} {other}"
                    least[key] = min(least.get(key, np.inf), distance)
    assert least["shank edge"] > 0.01
    assert min(least["shank floor"], least["shank stair"]) > 0.005  # at the ankle; the foot's radius is 0.0235
    assert min(least["rest floor"], least["rest stair"]) > 0.05
    assert -0.003 < min(least["foot floor"], least["foot stair"]) < 0.001  # its mesh is not quite a ball
    assert least["foot edge"] > 0.01


def test_files_keep_the_stairs(tmp_path: Path) -> None:
    climbed().save(tmp_path / "climb.npz")
    kept, own = legged_motion(Solution.load(tmp_path / "climb.npz")).relief, legged_motion(climbed()).relief
    assert kept is not None
    assert own is not None
    for name in ("planes", "boxes", "hills"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(own, name))


def test_pictures_and_the_view_show_the_stairs() -> None:
    solution = climbed()
    relief = legged_motion(solution).relief
    assert relief is not None
    (low, high), *_ = relief.boxes
    points = np.array([[low[0] - 0.01, 0.0], [low[0] + 0.01, 0.0]])
    np.testing.assert_allclose(relief.heights(points), [0.0, 0.1])
    for figure in (plot_strip(solution, 3), plot_feet(solution)):
        lines = [line for axes in figure.axes for line in axes.get_lines() if line.get_label() == "_ground"]
        sections = [line.get_ydata() for line in lines if len(line.get_ydata()) > 100]
        assert sections
        assert all(set(np.round(np.unique(section), 9)) == {0.0, 0.1} for section in sections)
    faces = [c for c in plot_motion(solution).axes[0].collections if c.get_label() == "_ground"]
    assert faces
    assert has_terrain(solution)
    scene = Recording()
    TerrainLayer(scene, solution, "/terrain")
    corners = vertices(scene.nodes["/terrain/ground"])
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [low, high], atol=1e-6)


def test_rows_of_several_bodies_on_a_link_have_their_own_names() -> None:
    names = next(rows for rows in climbed().description.constraints if rows.name == "terrain").rows
    assert len(set(names)) == len(names)
    assert "base 0, plane 0" in names
    assert "base 1, box 1" in names
