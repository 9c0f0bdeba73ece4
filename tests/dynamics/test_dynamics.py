"""RobotExpressions against Pinocchio on random trees of every joint type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from casadi import SX

from tests.support.dynamics_models import JOINTS, mimic_tree, sample, tree
from trajopt.dynamics import RobotExpressions, SmoothFriction
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.robots import Robot, load_robot

ALL = list(JOINTS)
# Pinocchio's derivatives take every motion subspace as constant, which is wrong for these: for a universal joint
# between two others its dtau/dq is off by 37 from its own differences, and ours by 2e-9.
MOVING_SUBSPACE = ("SphericalZYX", "Universal", "Ellipsoid", "Composite")
TOLERANCE = 1e-10
REFERENCES = [pin.ReferenceFrame.LOCAL, pin.ReferenceFrame.WORLD, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED]


def models() -> dict[str, Callable[[], pin.Model]]:
    cases: dict[str, Callable[[], pin.Model]] = {
        f"alone_{name}": (lambda name=name, i=i: tree([name], 10 + i)) for i, name in enumerate(ALL)
    }
    for i, name in enumerate(ALL):
        cases[f"between_{name}"] = lambda name=name, i=i: tree(["RevoluteUnaligned", name, "RX"], i, chain=True)
    shuffled = [str(name) for name in np.random.default_rng(0).permutation(ALL)]
    cases["everything"] = lambda: tree(shuffled, 0)
    cases["floating"] = lambda: tree(["FreeFlyer", "RX", "RZ", "Spherical", "PY", "Universal", "RUBX"], 1)
    return cases


CASES = models()


def close(actual: Any, expected: np.ndarray, tolerance: float = TOLERANCE) -> None:
    expected = np.asarray(expected, dtype=float)
    actual = np.array(ca.DM(actual)).reshape(expected.shape)
    assert np.abs(actual - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


def evaluate(
    model: pin.Model,
    build: Callable[[RobotExpressions, SX], list[SX]],
    point: tuple[np.ndarray, ...],
    *,
    with_derivatives: bool = False,
) -> list[ca.DM]:
    q, v, a = SX.sym("q", model.nq), SX.sym("v", model.nv), SX.sym("a", model.nv)
    robot = RobotExpressions(model, q, v, with_derivatives=with_derivatives)
    return ca.Function("f", [q, v, a], build(robot, a)).call(list(point))


@pytest.mark.parametrize("with_derivatives", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_dynamics_match_pinocchio(case: str, with_derivatives: bool) -> None:
    model = CASES[case]()
    data = model.createData()
    q, v, a = point = sample(model, 5)
    b = SX(np.random.default_rng(1).normal(size=(model.nv, 2)))

    def build(robot: RobotExpressions, a: SX) -> list[SX]:
        return [
            robot.rnea(a),
            *robot.rnea_derivatives(a),
            robot.gravity(),
            robot.nonlinear_effects(),
            robot.crba(),
            robot.solve_mass_matrix(b),
            robot.forward_dynamics(a),
            *robot.forward_dynamics_derivatives(a),
        ]

    values = evaluate(model, build, point, with_derivatives=with_derivatives)
    tau, dq, dv, gravity, effects, mass, solved, forward, *slopes = values
    expected_mass = np.triu(pin.crba(model, data, q))
    expected_mass = expected_mass + np.triu(expected_mass, 1).T
    inverse = np.linalg.inv(expected_mass)
    close(tau, pin.rnea(model, data, q, v, a))
    close(gravity, pin.computeGeneralizedGravity(model, data, q))
    close(effects, pin.nonLinearEffects(model, data, q, v))
    close(mass, expected_mass)
    close(solved, inverse @ np.array(ca.DM(b)))
    acceleration = pin.aba(model, data, q, v, a)
    close(forward, acceleration)
    close(slopes[2], inverse)
    if any(name in joint for joint in model.names for name in MOVING_SUBSPACE):
        by_q, by_v = rnea_differences(model, q, v, a)
        close(dq, by_q, 1e-6)
        close(dv, by_v, 1e-6)
        by_q, by_v = rnea_differences(model, q, v, acceleration)
        close(slopes[0], -inverse @ by_q, 1e-6)
        close(slopes[1], -inverse @ by_v, 1e-6)
    else:
        pin.computeRNEADerivatives(model, data, q, v, a)
        close(dq, data.dtau_dq)
        close(dv, data.dtau_dv)
        pin.computeABADerivatives(model, data, q, v, a)
        close(slopes[0], data.ddq_dq)
        close(slopes[1], data.ddq_dv)


def rnea_differences(model: pin.Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Central differences of pin.rnea in q (tangent) and v."""

    def rnea(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return pin.rnea(model, model.createData(), q, v, a)

    h = np.cbrt(np.finfo(float).eps)
    steps = h * np.eye(model.nv)
    by_q = [rnea(pin.integrate(model, q, d), v) - rnea(pin.integrate(model, q, -d), v) for d in steps]
    by_v = [rnea(q, v + d) - rnea(q, v - d) for d in steps]
    return np.column_stack(by_q) / (2 * h), np.column_stack(by_v) / (2 * h)


def numbers_of(model: pin.Model, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], pin.Model]:
    """Values of parameters by name, and the model with these numbers.

    A third of the bodies has a mass, a third a mass and a centre of mass, and a third all three.
    """
    values, changed = {}, model.copy()
    for joint, name in enumerate(model.names):
        frame = next((f for f in model.frames if f.parentJoint == joint and f.name != name), None)
        if joint == 0 or frame is None:
            continue
        body = frame.placement.actInv(model.inertias[joint])
        mass, com, inertia = rng.uniform(0.2, 4.0), rng.normal(size=3), np.diag([0.3, 0.4, 0.5]) + 0.02
        values[f"{frame.name}.mass"] = np.array(mass)
        if joint % 3:
            values[f"{frame.name}.com"] = com
        if joint % 3 == 2:
            values[f"{frame.name}.inertia"] = inertia[np.triu_indices(3)]
        told = pin.Inertia(mass, com if joint % 3 else body.lever, body.inertia * mass / body.mass)
        if joint % 3 == 2:
            told = pin.Inertia(mass, com, inertia)
        changed.inertias[joint] = frame.placement.act(told)
        values[f"{name}.translation"] = changed.jointPlacements[joint].translation = rng.normal(size=3)
        if joint % 2:
            values[f"{name}.rotation"] = turn = rng.normal(size=3)
            changed.jointPlacements[joint].rotation = changed.jointPlacements[joint].rotation @ pin.exp3(turn)
        if nv := model.joints[joint].nv:
            at = slice(model.idx_vs[joint], model.idx_vs[joint] + nv)
            own = {name: np.array(getattr(changed, name)) for name in ("armature", "damping", "friction")}
            for quantity, array in own.items():
                array[at] = rng.uniform(0.1, 1.0, nv)
                values[f"{name}.{quantity}"] = array[at] if nv > 1 else array[at][0]
                setattr(changed, quantity, array)
    last = changed.frames[model.nframes - 1]
    if last.name not in model.names:
        values[f"{last.name}.translation"], values[f"{last.name}.rotation"] = rng.normal(size=(2, 3))
        turned = last.placement.rotation @ pin.exp3(values[f"{last.name}.rotation"])
        last.placement = pin.SE3(turned, values[f"{last.name}.translation"])
    return values, changed


@pytest.mark.parametrize("with_derivatives", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_parameters_match_a_changed_model(case: str, with_derivatives: bool) -> None:
    """Masses, centres, inertias and joints of every type: dynamics and kinematics are those of Pinocchio."""
    model = CASES[case]()
    values, changed = numbers_of(model, np.random.default_rng(4))
    parameters = Robot(model).with_parameters(values).parameters
    point = sample(model, 5)
    data, (q, v, a) = changed.createData(), point
    symbols = [SX.sym("q", model.nq), SX.sym("v", model.nv), SX.sym("a", model.nv)]
    inputs = [*symbols, *(p.parameter.symbol for p in parameters.values())]
    numbers = [*point, *values.values()]
    robot = RobotExpressions(model, *symbols[:2], parameters=parameters, with_derivatives=with_derivatives)
    results = [robot.rnea(symbols[2]), robot.gravity(), robot.crba(), robot.forward_dynamics(symbols[2])]
    results += [robot.com_position(), robot.com_jacobian(), robot.centroidal_momentum()]
    last = model.nframes - 1
    results += [*robot.frame_placement(last), robot.frame_velocity(last, pin.LOCAL)]
    results += [robot.frame_jacobian(last, axes) for axes in (pin.LOCAL, pin.WORLD)]
    found = ca.Function("f", inputs, results).call(numbers)
    mass = np.triu(pin.crba(changed, data, q))
    wanted = [pin.rnea(changed, data, q, v, a), pin.computeGeneralizedGravity(changed, data, q)]
    wanted += [mass + np.triu(mass, 1).T, pin.aba(changed, data, q, v, a)]
    wanted += [pin.centerOfMass(changed, data, q), pin.jacobianCenterOfMass(changed, data, q)]
    wanted += [pin.computeCentroidalMomentum(changed, data, q, v).vector]
    pin.forwardKinematics(changed, data, q, v)
    place = pin.updateFramePlacement(changed, data, last)
    wanted += [place.rotation, place.translation, pin.getFrameVelocity(changed, data, last, pin.LOCAL).vector]
    pin.computeJointJacobians(changed, data, q)
    wanted += [pin.getFrameJacobian(changed, data, last, axes) for axes in (pin.LOCAL, pin.WORLD)]
    for one, other in zip(found, wanted, strict=True):
        close(one, np.array(other))
    if not any(name in joint for joint in model.names for name in MOVING_SUBSPACE):
        pin.computeRNEADerivatives(changed, data, q, v, a)
        slopes = ca.Function("d", inputs, robot.rnea_derivatives(symbols[2])).call(numbers)
        close(slopes[0], data.dtau_dq)
        close(slopes[1], data.dtau_dv)
    rough = RobotExpressions(model, *symbols[:2], parameters=parameters, friction=SmoothFriction(0.3))
    (friction,) = ca.Function("f", inputs, [rough.rnea(symbols[2]) - robot.rnea(symbols[2])]).call(numbers)
    close(friction, changed.damping * v + changed.friction * np.tanh(v / 0.3))


@pytest.mark.parametrize("case", CASES)
def test_frames_match_pinocchio(case: str) -> None:
    model = CASES[case]()
    check_frames(model, sample(model, 6))


def test_frames_of_mimic_joints_match_pinocchio() -> None:
    model = mimic_tree(2)
    check_frames(model, sample(model, 6))


def check_frames(model: pin.Model, point: tuple[np.ndarray, ...]) -> None:
    data = model.createData()
    pin.forwardKinematics(model, data, *point)
    pin.updateFramePlacements(model, data)
    pin.computeJointJacobians(model, data, point[0])
    frames = range(model.nframes) if model.njoints < 6 else range(0, model.nframes, 3)
    labels: list[Any] = []

    def build(robot: RobotExpressions, a: SX) -> list[SX]:
        result: list[SX] = []
        for frame in frames:
            result.extend(robot.frame_placement(frame))
            result.extend(robot.joint_placement(model.frames[frame].parentJoint))
            for reference in REFERENCES:
                result.append(robot.frame_velocity(frame, reference))
                result.append(robot.frame_acceleration(frame, reference, a))
                result.append(robot.frame_classical_acceleration(frame, reference, a))
                result.append(robot.frame_jacobian(frame, reference))
            assert robot.frame_jacobian(frame, "world") is robot.frame_jacobian(frame, pin.ReferenceFrame.WORLD)
        return result

    for frame in frames:
        joint = model.frames[frame].parentJoint
        labels.extend([data.oMf[frame].rotation, data.oMf[frame].translation])
        labels.extend([data.oMi[joint].rotation, data.oMi[joint].translation])
        for reference in REFERENCES:
            labels.append(pin.getFrameVelocity(model, data, frame, reference).vector)
            labels.append(pin.getFrameAcceleration(model, data, frame, reference).vector)
            labels.append(pin.getFrameClassicalAcceleration(model, data, frame, reference).vector)
            labels.append(pin.getFrameJacobian(model, data, frame, reference))
    for value, reference in zip(evaluate(model, build, point), labels, strict=True):
        close(value, reference)


@pytest.mark.parametrize("case", CASES)
def test_centre_of_mass_matches_pinocchio(case: str) -> None:
    model = CASES[case]()
    q, v, _ = point = sample(model, 7)
    data = model.createData()
    momentum = pin.computeCentroidalMomentum(model, data, q, v).vector.copy()
    pin.centerOfMass(model, data, q, v)
    com, velocity = data.com[0].copy(), data.vcom[0].copy()
    expected = [com, velocity, pin.jacobianCenterOfMass(model, data, q), momentum]

    def build(robot: RobotExpressions, _: SX) -> list[SX]:
        return [robot.com_position(), robot.com_velocity(), robot.com_jacobian(), robot.centroidal_momentum()]

    for value, reference in zip(evaluate(model, build, point), expected, strict=True):
        close(value, reference)


@pytest.mark.parametrize("with_derivatives", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_mimic_dynamics(seed: int, with_derivatives: bool) -> None:
    """Pinocchio has RNEA and CRBA for mimic joints; derivatives are compared with central differences of its RNEA."""
    model = mimic_tree(seed)
    q, v, a = point = sample(model, 8)
    mass = np.triu(pin.crba(model, model.createData(), q))
    mass = mass + np.triu(mass, 1).T

    def build(robot: RobotExpressions, a: SX) -> list[SX]:
        forward = robot.forward_dynamics(robot.rnea(a))
        return [robot.rnea(a), robot.crba(), forward, *robot.rnea_derivatives(a)]

    tau, crba, forward, dq, dv = evaluate(model, build, point, with_derivatives=with_derivatives)
    close(tau, pin.rnea(model, model.createData(), q, v, a))
    close(crba, mass)
    close(forward, a)
    by_q, by_v = rnea_differences(model, q, v, a)
    close(dq, by_q, 1e-6)
    close(dv, by_v, 1e-6)


def test_mimic_with_scaling_zero_is_fixed_at_its_offset() -> None:
    model = tree(["RX", "RY", "PZ"], 3, chain=True)
    model = pin.transformJointIntoMimic(model, 1, 2, 0.0, 0.4)
    point = sample(model, 9)
    close(evaluate(model, lambda robot, a: [robot.rnea(a)], point)[0], pin.rnea(model, model.createData(), *point))


def test_mass_matrix_has_no_entries_between_branches() -> None:
    model = pin.Model()
    for name in ("left", "right"):
        joint = model.addJoint(0, pin.JointModelRX(), pin.SE3.Random(), name)
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
    robot = RobotExpressions(model, SX.sym("q", 2))
    assert robot.crba()[0, 1].is_zero()
    assert robot.inverse_mass_matrix()[0, 1].is_zero()


def test_friction_adds_damping_and_smooth_dry_friction() -> None:
    model = tree(["RX", "PY", "RZ"], 4, chain=True)
    _, v, a = point = sample(model, 10)

    def build(friction: Any) -> list[SX]:
        sq, sv, sa = SX.sym("q", 3), SX.sym("v", 3), SX.sym("a", 3)
        robot = RobotExpressions(model, sq, sv, friction=friction)
        outputs = [robot.rnea(sa), robot.rnea_derivatives(sa)[1], robot.forward_dynamics(robot.rnea(sa))]
        return ca.Function("f", [sq, sv, sa], [*outputs, ca.jacobian(robot.rnea(sa), sv)]).call(list(point))

    smooth, plain = build(SmoothFriction(0.5)), build(None)
    extra = model.damping * v + model.friction * np.tanh(v / 0.5)
    close(smooth[0], np.array(plain[0]).ravel() + extra)
    close(smooth[1], np.array(smooth[3]))
    close(smooth[2], a)
    with pytest.raises(InvalidArgumentError, match="friction: expected None, 'smooth'"):
        build("coulomb")
    with pytest.raises(InvalidArgumentError, match="robot: expected a Robot"):
        SmoothFriction.for_robot("smooth", 3.0)  # type: ignore[arg-type]


def test_quantities_are_built_once() -> None:
    model = tree(["FreeFlyer", "RX", "RY", "RZ", "RX"], 5, chain=True)
    q, v, a = SX.sym("q", model.nq), SX.sym("v", model.nv), SX.sym("a", model.nv)
    robot = RobotExpressions(model, q, v)
    assert robot.rnea(a) is robot.rnea(a)

    def count(*outputs: SX) -> int:
        return ca.Function("f", [q, v, a], list(outputs)).n_instructions()

    torques, derivatives = robot.rnea(a), robot.rnea_derivatives(a)
    assert count(torques, *derivatives) < count(*derivatives) + 0.6 * count(torques)


@pytest.mark.parametrize(
    ("robot", "rnea", "rnea_derivatives", "forward", "forward_derivatives"),
    [("talos_arm", 800, 3820, 1480, 5730), ("solo12", 1380, 7220, 3280, 17900)],
)
def test_instruction_counts_do_not_grow(
    robot: str, rnea: int, rnea_derivatives: int, forward: int, forward_derivatives: int
) -> None:
    """Cost of a model is its number of instructions: bounds are the measured figures plus 1 %."""
    robots = pytest.importorskip("example_robot_data")
    model = robots.load(robot).model
    q, v, a = SX.sym("q", model.nq), SX.sym("v", model.nv), SX.sym("a", model.nv)

    def count(outputs: Callable[[RobotExpressions], list[SX]], with_derivatives: bool) -> int:
        expressions = outputs(RobotExpressions(model, q, v, with_derivatives=with_derivatives))
        return ca.Function("f", [q, v, a], [ca.densify(x) for x in expressions]).n_instructions()

    assert count(lambda r: [r.rnea(a)], False) <= rnea
    assert count(lambda r: [*r.rnea_derivatives(a), r.crba()], False) <= rnea_derivatives
    assert count(lambda r: [r.forward_dynamics(a)], False) <= forward
    assert count(lambda r: list(r.forward_dynamics_derivatives(a)), True) <= forward_derivatives


Q, V = SX.sym("q", 2), SX.sym("v", 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: RobotExpressions(m, SX.sym("q", 3)), r"q: expected shape \(2,\), got \(3, 1\)"),
        (lambda m: RobotExpressions(m, Q).rnea(V), "v: expected the velocity"),
        (lambda m: RobotExpressions(m, Q).joint_placement(9), "joint_id: expected 0 <= joint_id < 3, got 9"),
        (lambda m: RobotExpressions(m, Q).frame_placement(-1), "frame_id: expected 0 <= frame_id < "),
        (lambda m: RobotExpressions(m, Q, V).rnea(SX.sym("a", 3)), r"a: expected shape \(2,\), got \(3, 1\)"),
    ],
)
def test_misuse_is_named(call: Callable[[pin.Model], Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        call(tree(["RX", "PY"], 0))


def test_frames_by_name() -> None:
    """A frame's name does what its number does; an unknown one lists those that are."""
    model = load_robot("planar-2r").model
    robot = RobotExpressions(model, SX.sym("q", model.nq))
    by_name, by_number = robot.frame_placement("tool"), robot.frame_placement(model.getFrameId("tool"))
    assert ca.is_equal(ca.vec(by_name[0]), ca.vec(by_number[0]), 20)
    assert ca.is_equal(by_name[1], by_number[1], 20)
    with pytest.raises(UnknownNameError, match="reference frame 'word' not found; did you mean 'world'"):
        robot.frame_jacobian("tool", "word")
    with pytest.raises(UnknownNameError, match="reference frame 3 not found"):
        RobotExpressions(model, robot.q, SX.sym("v", model.nv)).frame_velocity(0, 3)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="frame 'tol' not found; did you mean 'tool'"):
        robot.frame_placement("tol")
