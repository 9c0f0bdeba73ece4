"""Distances of spheres, capsules and boxes against Coal, with derivatives, at parallel axes and equal centres too."""

from __future__ import annotations

from typing import Any

import casadi as ca
import coal
import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

import trajopt
from tests.support.model_list import state_of
from tests.support.slow_twin import assert_close, central_differences
from trajopt.errors import InvalidArgumentError, UnknownNameError, WrongCallError
from trajopt.instant import Instant
from trajopt.robots.closest_points import closest_points

Reals = npt.NDArray[np.float64]
Shape = trajopt.Sphere | trajopt.Capsule | trajopt.Box
TURNED = pin.exp3(np.array([0.3, -0.2, 0.5]))
STATE: Any = state_of("talos_arm")
HAND, ELBOW = "gripper_left_joint", "arm_left_4_joint"
SHAPES: dict[str, tuple[Shape, Shape]] = {
    "sphere-sphere": (
        trajopt.Sphere(0.1, frame=HAND, center=[0.02, 0.01, -0.1]),
        trajopt.Sphere(0.2, center=[0.3, 0.6, 0.1]),
    ),
    "sphere-capsule": (
        trajopt.Sphere(0.1, center=[0.3, 0.2, 0.1]),
        trajopt.Capsule(0.05, start=[0, 0, 0.1], end=[0.1, 0, -0.3], frame=HAND),
    ),
    "capsule-sphere": (
        trajopt.Capsule(0.05, start=[0, 0, 0], end=[0, 0, -0.3], frame=HAND),
        trajopt.Sphere(0.1, frame=ELBOW, center=[0.1, 0, 0.1]),
    ),
    "capsule-capsule": (
        trajopt.Capsule(0.05, start=[0, 0, 0], end=[0, 0, -0.3], frame=HAND),
        trajopt.Capsule(0.04, start=[0.4, -0.5, -0.5], end=[0.1, 0.9, 0.6]),
    ),
    "capsules-of-links": (
        trajopt.Capsule(0.03, start=[0, 0, 0], end=[0, 0.1, -0.2], frame=HAND),
        trajopt.Capsule(0.02, start=[0.3, 0, 0], end=[0.2, 0.2, 0.3], frame=ELBOW),
    ),
    "sphere-box": (
        trajopt.Sphere(0.1, frame=HAND, center=[0.02, 0.01, -0.1]),
        trajopt.Box([0.3, 0.2, 0.4], placement=pin.SE3(TURNED, np.array([0.3, 0.2, 0.1]))),
    ),
    "box-capsule": (
        trajopt.Box([0.42, 0.63, 0.7], frame=ELBOW, placement=[0.05, 0.0, 0.1, 0.1, 0.2, 0.3, 0.927361849549570]),
        trajopt.Capsule(0.05, start=[0, 0, 0], end=[0, 0, -0.3], frame=HAND),
    ),
    "box-box": (
        trajopt.Box([0.1, 0.2, 0.15], frame=HAND),
        trajopt.Box([0.3, 0.2, 0.4], placement=pin.SE3(TURNED, np.array([0.2, 0.3, 0.0]))),
    ),
}


def function_of(residual: trajopt.ResidualModelPairDistance) -> ca.Function:
    """(x, parameters) -> r and its derivative (1, ndx)."""
    i = Instant(STATE, 0)
    return ca.Function("r", [i.x, residual.layout.symbols], [residual.evaluate(i), residual.derivative(i)[0]])


def coal_distance(first: Shape, second: Shape, q: Reals) -> float:
    """Of the shapes, negative by how deep they overlap along their centres or axes."""
    data = STATE.model.createData()
    pin.framesForwardKinematics(STATE.model, data, q)
    bodies = []
    for shape in (first, second):
        place = pin.SE3.Identity() if shape.frame is None else data.oMf[STATE.model.getFrameId(shape.frame)]
        if isinstance(shape, trajopt.Box):
            place = place * pin.SE3(shape.placement[:, :3], shape.placement[:, 3])
            bodies.append((coal.Box(*np.asarray(shape.size)), coal.Transform3s(place.rotation, place.translation)))
            continue
        points = [place.act(np.asarray(p)) for p in shape.points]
        if len(points) == 1:
            bodies.append((coal.Sphere(shape.radius), coal.Transform3s(np.eye(3), points[0])))
            continue
        along = points[1] - points[0]
        turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), along / np.linalg.norm(along))
        middle = coal.Transform3s(turn.toRotationMatrix(), (points[0] + points[1]) / 2)
        bodies.append((coal.Capsule(shape.radius, float(np.linalg.norm(along))), middle))
    (a, place_a), (b, place_b) = bodies
    request = coal.DistanceRequest()
    request.enable_signed_distance, request.gjk_max_iterations = True, 1000
    request.gjk_tolerance = request.epa_tolerance = 1e-12
    return float(coal.distance(a, place_a, b, place_b, request, coal.DistanceResult()))


@pytest.mark.parametrize("name", SHAPES)
def test_distances_are_those_of_coal(name: str) -> None:
    first, second = SHAPES[name]
    residual = trajopt.ResidualModelPairDistance(STATE, first, second)
    distance, values = function_of(residual), residual.layout.column()
    found, within = [], 1e-9 if "box" in name else 1e-6  # of Coal between capsules
    for seed in range(60):
        x = STATE.rand(seed)
        found.append(float(distance(x, values)[0]))
        assert found[-1] == pytest.approx(coal_distance(first, second, x[: STATE.nq]), abs=within)
    assert max(found) > 0.05
    assert min(found) < 0.0 or "box" not in name


@pytest.mark.parametrize("name", SHAPES)
def test_derivatives_by_central_differences(name: str) -> None:
    residual = trajopt.ResidualModelPairDistance(STATE, *SHAPES[name])
    distance, values = function_of(residual), residual.layout.column()
    for seed in range(20):
        x = STATE.rand(seed)
        expected = central_differences(
            lambda dx, x=x: np.asarray(distance(STATE.integrate(x, dx), values)[0])[0], STATE.ndx
        )
        assert_close(np.asarray(distance(x, values)[1]), expected)


def closest(first: Reals, second: Reals) -> float:
    a, b = ca.SX.sym("a", *first.shape), ca.SX.sym("b", *second.shape)
    wa, wb = closest_points(a, b)
    return float(ca.Function("d", [a, b], [ca.norm_2(a.T @ wa - b.T @ wb)])(first, second))


def brute_force(first: Reals, second: Reals) -> float:
    """Over fine grids of both segments."""
    s = np.linspace(0, 1, 401)[:, None]
    one, two = (p[0] + s * (p[1] - p[0]) for p in (first, second))
    return float(np.sqrt(((one[:, None] - two[None]) ** 2).sum(axis=-1).min()))


@pytest.mark.slow
def test_segments_in_every_position() -> None:
    """Ends against ends and insides, parallel, antiparallel, on one line, crossing."""
    rng = np.random.default_rng(0)
    pairs = [(rng.normal(size=(2, 3)), rng.normal(size=(2, 3))) for _ in range(200)]
    base = np.array([[0.0, 0, 0], [1.0, 0, 0]])
    shifts: list[Any] = [[0, 1, 0], [0.5, 1, 0], [3, 1, 0], [-2, 0.1, 0], [2, 0, 0], [0, 0, 0], [0.3, 0, 0]]
    pairs += [(base, base + shift) for shift in shifts]
    pairs += [(base, base[::-1] + shift) for shift in shifts]
    pairs += [(base, np.array([[0.5, -1, 0], [0.5, 1, 1e-9]])), (base, base + np.array([[0, 1, 0], [0, 1 + 1e-7, 0]]))]
    for first, second in pairs:
        expected = brute_force(first, second)
        assert expected - 6e-3 < closest(first, second) < expected + 1e-6  # a grid finds no nearer points


def test_overlap_and_coinciding_centres() -> None:
    """By how deep, and with a derivative that is finite."""
    data = STATE.model.createData()
    pin.framesForwardKinematics(STATE.model, data, pin.neutral(STATE.model))
    hand = data.oMf[STATE.model.getFrameId(HAND)].translation
    residual = trajopt.ResidualModelPairDistance(
        STATE, trajopt.Sphere(0.1, frame=HAND), trajopt.Sphere(0.2, center=hand)
    )
    distance, values = function_of(residual), residual.layout.column()
    r, derivative = distance(STATE.zero(), values)
    assert float(r) == pytest.approx(-0.3, abs=1e-8)
    assert np.all(np.isfinite(np.asarray(derivative)))


def inside(kind: str, rng: np.random.Generator) -> tuple[Shape, Shape]:
    """A small shape in or at a box."""
    box = trajopt.Box(rng.uniform(0.4, 0.8, 3), placement=pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3)))
    centre = box.placement[:, 3] + rng.uniform(-0.4, 0.4, 3)
    if kind == "sphere":
        return trajopt.Sphere(0.05, frame="universe", center=centre), box
    if kind == "capsule":
        reach = rng.uniform(-0.3, 0.3, 3)
        return trajopt.Capsule(0.05, frame="universe", start=centre - reach, end=centre + reach), box
    turn = pin.SE3(pin.exp3(rng.normal(size=3)), centre)
    return trajopt.Box(rng.uniform(0.1, 0.4, 3), frame="universe", placement=turn), box


@pytest.mark.parametrize("kind", ["sphere", "capsule", "box"])
def test_depths_in_boxes_are_those_of_coal(kind: str) -> None:
    rng, q = np.random.default_rng(2), pin.neutral(STATE.model)
    residual = trajopt.ResidualModelPairDistance(STATE, *inside(kind, rng))
    distance, parameters = function_of(residual), residual.parameters()
    deep = 0
    for _ in range(40):
        first, second = inside(kind, rng)
        residual = trajopt.ResidualModelPairDistance(STATE, first, second)
        r, derivative = distance(STATE.zero(), residual.layout.column())
        assert float(r) == pytest.approx(coal_distance(first, second, q), abs=1e-6)
        assert np.all(np.isfinite(np.asarray(derivative)))
        deep += float(r) < -0.06  # deeper than the radius
    assert deep > 10
    assert set(parameters) == {"first", "second", "radii", "second_size"} | ({"first_size"} if kind == "box" else set())


def test_obstacles_move_at_run_time() -> None:
    residual = trajopt.ResidualModelPairDistance(STATE, *SHAPES["sphere-sphere"])
    stack = trajopt.ConstraintStack(STATE).add("apart", residual)
    end = trajopt.actions.ActionModelTerminal(trajopt.CostStack(STATE), constraints=stack)
    problem, x = trajopt.ShootingProblem(STATE.zero(), [], end), STATE.rand(1)
    problem.set_parameter("apart.second", [0.0, 0.0, 5.0])
    problem.set_parameter("apart.radii", [0.3, 0.4])
    moved = trajopt.Sphere(0.4, center=[0, 0, 5.0])
    expected = coal_distance(trajopt.Sphere(0.3, frame=HAND, center=[0.02, 0.01, -0.1]), moved, x[: STATE.nq])
    assert problem.calc([x], np.zeros((0, 0))).rows[0, 0] == pytest.approx(expected, abs=1e-7)
    for value, message in (([0.1, 0.0], "expected radii > 0, or >= 0 of a box"), ([0.1], "apart.radii: expected")):
        with pytest.raises(InvalidArgumentError, match=message):
            problem.set_parameter("apart.radii", value)


def test_bad_shapes_are_refused() -> None:
    ball, hand = trajopt.Sphere(0.1), trajopt.Sphere(0.1, frame=HAND)
    with pytest.raises(InvalidArgumentError, match="got both in the world; their distance is constant"):
        trajopt.ResidualModelPairDistance(STATE, ball, ball)
    with pytest.raises(InvalidArgumentError, match=f"got both in frame '{HAND}'"):
        trajopt.ResidualModelPairDistance(STATE, hand, trajopt.Sphere(0.2, frame=HAND, center=[1, 0, 0]))
    with pytest.raises(InvalidArgumentError, match="second: expected a Sphere, Capsule or Box"):
        trajopt.ResidualModelPairDistance(STATE, hand, HAND)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="frame 'hand' not found"):
        trajopt.ResidualModelPairDistance(STATE, ball, trajopt.Sphere(0.1, frame="hand"))
    with pytest.raises(InvalidArgumentError, match="radius: expected a number > 0"):
        trajopt.Sphere(0.0)
    with pytest.raises(InvalidArgumentError, match="end: expected the ends of a capsule to be apart"):
        trajopt.Capsule(0.1, start=[0, 0, 0], end=[0, 0, 0])
    with pytest.raises(WrongCallError, match=r"Capsule: .*\(radius, \*, start, end, frame\)"):
        trajopt.Capsule(0.1, [0, 0, 0], [0, 0, 1])  # type: ignore[misc]
    with pytest.raises(InvalidArgumentError, match="size: expected three sides > 0"):
        trajopt.Box([0.1, 0.0, 0.2])
    with pytest.raises(InvalidArgumentError, match="placement: expected"):
        trajopt.Box([0.1, 0.1, 0.2], placement=[0.0, np.nan, 0.0])
    with pytest.raises(InvalidArgumentError, match="center"):
        trajopt.Sphere(0.1, center=[0, 0])
