"""Contact dynamics: every kind of contact against Pinocchio's matrices, derivatives, activity, damping, gains."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support.contact_models import GAINS, actuation_of, contact_dynamics_of, contact_kinds, force_costs
from tests.support.contact_numbers import Motion, assert_derivatives, assert_same_motion
from tests.support.contact_robots import Reals, random_state, robot_state
from tests.support.contact_twin import Body, contact_dynamics
from tests.support.slow_twin import assert_close
from trajopt import ContactModel1D, ContactModel3D, ContactModel6D, ContactStack
from trajopt.contacts.base import Motions
from trajopt.errors import UnsupportedOperationError

KINDS = list(contact_kinds(robot_state("hopper"), "foot0"))


def controls(model: Any, seed: int = 0) -> Reals:
    return np.random.default_rng(seed).normal(size=model.nu)


def assert_agrees_with_pinocchio(model: Any, robot: str, tolerance: float = 1e-10) -> None:
    """Accelerations and forces at two states."""
    motion = Motion(model)
    for seed in (0, 1):
        x, u = random_state(robot, seed), controls(model, seed)
        assert_same_motion(motion(x, u), contact_dynamics(model, x, u), tolerance)


def stack_of(robot: str, **contacts: Any) -> ContactStack:
    stack = ContactStack(robot_state(robot))
    for name, contact in contacts.items():
        stack.add(name, contact)
    return stack


# Kinds of contacts


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_contact_on_a_floating_robot(kind: str) -> None:
    contact = contact_kinds(robot_state("hopper"), "foot0")[kind]()
    stack = stack_of("hopper", foot=contact)
    model = contact_dynamics_of(stack, costs=force_costs(stack, gravity=False))
    assert contact.nc == model.contacts.nc == int(kind[0])
    assert_agrees_with_pinocchio(model, "hopper")
    assert_derivatives(model, random_state("hopper", 0), controls(model))


@pytest.mark.parametrize(
    ("robot", "frame", "kind"),
    [
        ("arm", "2_RX_frame", "3D-local"),
        ("arm", "1_Universal_frame", "2D"),
        ("slider", "2_PrismaticUnaligned_frame", "3D-local_world_aligned"),
        ("slider", "0_Planar_frame", "1D-local"),
        ("zoo", "2_Translation_frame", "6D-local"),
        ("zoo", "1_SphericalZYX_frame", "1D-local_world_aligned"),
        ("mimic", "8_RY_frame", "3D-local_world_aligned"),
        ("mimic", "6_PX_frame", "2D-gains"),
    ],
)
def test_other_joints_with_friction(robot: str, frame: str, kind: str) -> None:
    """Fixed bases; spherical, universal, planar, helical and ellipsoid joints; joints that follow others."""
    stack = stack_of(robot, tip=contact_kinds(robot_state(robot), frame)[kind]())
    model = contact_dynamics_of(stack, costs=force_costs(stack, gravity=False), friction="smooth")
    assert_agrees_with_pinocchio(model, robot)
    assert_derivatives(model, random_state(robot, 0), controls(model))


def two_feet() -> ContactStack:
    state = robot_state("biped")
    return stack_of(
        "biped",
        left=ContactModel3D(state, "foot0", reference=np.zeros(3), gains=GAINS),
        right=ContactModel3D(state, "foot1", reference_frame="local"),
    )


def four_feet_and_a_seat() -> ContactStack:
    state = robot_state("quadruped")
    stack = stack_of("quadruped", seat=ContactModel6D(state, "base_frame", reference=np.eye(4), gains=GAINS))
    for i in range(4):
        stack.add(f"foot{i}", ContactModel1D(state, f"foot{i}", gains=GAINS))
    return stack


def one_frame_thrice() -> ContactStack:
    state = robot_state("hopper")
    kinds = contact_kinds(state, "foot0")
    return stack_of("hopper", point=kinds["3D-local"](), line=kinds["1D-local"](), plane=kinds["2D-gains"]())


def two_points_of_a_body() -> ContactStack:
    kinds = [contact_kinds(robot_state("hopper"), frame) for frame in ("foot0", "leg0_1_frame")]
    return stack_of("hopper", heel=kinds[0]["3D-local"](), toe=kinds[1]["1D-local_world_aligned"]())


@pytest.mark.parametrize(
    ("stack", "damping"),
    [(two_feet, 0.0), (four_feet_and_a_seat, 0.0), (two_points_of_a_body, 0.0), (one_frame_thrice, 0.02)],
)
def test_several_contacts(stack: Any, damping: float) -> None:
    """Of different sizes and axes, on one frame, on one body and on several."""
    contacts = stack()
    model = contact_dynamics_of(contacts, damping=damping)
    robot = contacts.state.robot.name
    assert_agrees_with_pinocchio(model, robot)
    assert_derivatives(model, random_state(robot, 0), controls(model))


# Activity


def test_contacts_that_are_not_active_are_not_there() -> None:
    """Their force is exactly zero, all else as in a model without them, whatever the state."""
    motion, state = Motion(contact_dynamics_of(two_feet())), robot_state("biped")
    for left, right in ((1, 0), (0, 1), (0, 0)):
        stack, active = ContactStack(state), {"left": left, "right": right}
        for name in (n for n in active if active[n]):
            stack.add(name, two_feet()[name].clone())
        alone = Motion(contact_dynamics_of(stack))
        for seed in (0, 1):
            x, u = random_state("biped", seed), controls(motion.model, seed)
            a, forces = motion(x, u, contacts__left__active=left, contacts__right__active=right)
            assert_same_motion((a, forces), alone(x, u), 1e-12)
            for name in active:
                assert forces[name].any() == bool(active[name])
    free = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation_of(state), trajopt.CostStack(state))
    data = free.create_data()
    free.calc(data, x, u)
    assert_close(a, data.xnext[state.nv :], 1e-12)


@pytest.mark.parametrize("left", [0, 1])
def test_derivatives_of_contacts_that_are_not_active(left: int) -> None:
    """All derivatives are those of the model without them; a term of their force stays at its value at zero."""
    both = two_feet()
    state, reference = both.state, np.array([1.0, -2.0, 3.0])
    switched = ContactStack(state).add("left", both["left"].clone(), active=bool(left))
    switched.add("right", both["right"].clone(), active=not left)
    kept = "left" if left else "right"
    alone = ContactStack(state).add(kept, both[kept].clone())
    found = []
    for stack in (switched, alone):
        costs = trajopt.CostStack(state).add("push", trajopt.ResidualModelContactForce(state, kept, reference), 0.5)
        if stack is switched:
            other = "right" if left else "left"
            costs.add("off", trajopt.ResidualModelContactForce(state, other, reference), 0.5)
        model = contact_dynamics_of(stack, costs=costs)
        data, x, u = model.create_data(), random_state("biped", 3), controls(model)
        model.calc(data, x, u)
        model.calc_diff(data, x, u)
        found.append(data)
    for field in ("xnext", "Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu"):
        assert_close(getattr(found[0], field), getattr(found[1], field), 1e-12, field)
    assert found[0].cost == pytest.approx(found[1].cost + 0.25 * reference @ reference, rel=1e-12)


def test_an_inactive_contact_may_be_redundant() -> None:
    """Twice the same foot is refused only if both are active."""
    state = robot_state("hopper")
    stack = stack_of("hopper", foot=ContactModel3D(state, "foot0"))
    stack.add("again", ContactModel3D(state, "foot0"), active=False)
    motion, x = Motion(contact_dynamics_of(stack)), random_state("hopper", 0)
    first, second = motion(x), motion(x, contacts__foot__active=0.0, contacts__again__active=1.0)
    assert_close(first[0], second[0], 1e-12)
    np.testing.assert_array_equal(first[1]["again"], np.zeros(3))
    assert_close(first[1]["foot"], second[1]["again"], 1e-12)


# Damping and gains


def test_damping_shares_the_load_of_redundant_contacts() -> None:
    """The same foot twice: half of the force each, and with little damping the motion of one foot."""
    state = robot_state("hopper")
    stack = stack_of("hopper", a=ContactModel3D(state, "foot0"), b=ContactModel3D(state, "foot0"))
    twice = Motion(contact_dynamics_of(stack, damping=1e-6))
    once = Motion(contact_dynamics_of(stack_of("hopper", a=ContactModel3D(state, "foot0"))))
    x, u = random_state("hopper", 0), np.ones(2)
    a, forces = twice(x, u)
    assert_close(forces["a"], forces["b"], 1e-9)
    expected, single = once(x, u)
    assert_close(a, expected, 1e-4)
    assert_close(forces["a"], single["a"] / 2, 1e-4)
    for damping in (1e-3, 1.0):  # a run-time parameter
        softer = twice(x, u, damping=damping)
        model = contact_dynamics_of(stack_of("hopper", a=stack["a"].clone(), b=stack["b"].clone()), damping=damping)
        assert_same_motion(softer, contact_dynamics(model, x, u), 1e-9)
        assert np.linalg.norm(softer[1]["a"]) < np.linalg.norm(forces["a"])


def test_gains_pull_a_contact_back_as_a_damped_oscillator() -> None:
    """With kp = ω², kd = 2ω the height above its reference is e(t) = (e0 + (v0 + ω e0) t) exp(-ω t)."""
    state, omega, reference, dt, steps = robot_state("hopper"), 8.0, 0.3, 0.005, 60
    contact = ContactModel1D(state, "foot0", reference=reference, gains=(omega**2, 2 * omega))
    differential = contact_dynamics_of(stack_of("hopper", foot=contact), costs=trajopt.CostStack(state))
    step = trajopt.IntegratedActionModelRK4(differential, dt=dt)
    x, data = random_state("hopper", 2), step.create_data()

    def height(x: Reals) -> tuple[float, float]:
        body = Body(state.model, x[: state.nq], x[state.nq :])
        return body.placement("foot0").translation[2] - reference, (body.jacobian("foot0") @ body.v)[2]

    error, rate = height(x)
    assert abs(error) > 0.1
    for _ in range(steps):
        step.calc(data, x, np.zeros(2))
        x = state.normalize(data.xnext)
    t = dt * steps
    expected = (error + (rate + omega * error) * t) * np.exp(-omega * t)
    assert height(x)[0] == pytest.approx(expected, abs=2e-6)


def test_gains_and_references_of_contacts_are_parameters_where_they_have_an_effect() -> None:
    """A gain of 0 is left out for good; a reference without kp too. Others follow their values at run time."""
    state = robot_state("hopper")
    for gains, names in (((0, 0), []), ((0, 2), ["kd"]), ((3, 0), ["kp", "reference"])):
        for kind, reference in ((ContactModel1D, 0.0), (ContactModel3D, np.zeros(3)), (ContactModel6D, np.eye(4))):
            assert sorted(kind(state, "foot0", reference=reference, gains=gains).parameters()) == names
    motion = Motion(
        contact_dynamics_of(
            stack_of("hopper", foot=ContactModel3D(state, "foot0", reference=np.zeros(3), gains=(1.0, 1.0)))
        )
    )
    changed = ContactModel3D(state, "foot0", reference=[0.1, 0.2, 0.3], gains=(7.0, 5.0))
    model = contact_dynamics_of(stack_of("hopper", foot=changed))
    x, u = random_state("hopper", 0), np.ones(2)
    given = {"contacts__foot__kp": 7.0, "contacts__foot__kd": 5.0, "contacts__foot__reference": [0.1, 0.2, 0.3]}
    assert_same_motion(motion(x, u, **given), contact_dynamics(model, x, u))
    still = {"contacts__foot__kp": 0.0, "contacts__foot__kd": 0.0}
    bare = contact_dynamics_of(stack_of("hopper", foot=ContactModel3D(state, "foot0")))
    assert_same_motion(motion(x, u, **still), contact_dynamics(bare, x, u))


# Axes of forces


@pytest.mark.parametrize(("kind", "size"), [(ContactModel3D, 3), (ContactModel6D, 6)])
def test_forces_in_other_axes_are_the_same_forces(kind: Any, size: int) -> None:
    state, x = robot_state("hopper"), random_state("hopper", 1)
    found = {
        axes: Motion(contact_dynamics_of(stack_of("hopper", foot=kind(state, "foot0", reference_frame=axes))))(x)
        for axes in ("local", "world", "local_world_aligned")
    }
    R = Body(state.model, x[: state.nq], x[state.nq :]).placement("foot0").rotation
    local, world = found["local"][1]["foot"], found["world"][1]["foot"]
    assert_close(np.kron(np.eye(size // 3), R) @ local, world, 1e-12)
    np.testing.assert_array_equal(world, found["local_world_aligned"][1]["foot"])
    assert np.abs(local - world).max() > 0.1
    assert_close(found["local"][0], found["world"][0], 1e-12)


# Stacks


def test_a_stack_lists_and_pickles_its_contacts() -> None:
    state = robot_state("biped")
    stack = two_feet().add("loop", trajopt.ContactModelLoop(state, "foot0", "base_frame"), active=False)
    assert stack.names == ("left", "right", "loop")
    assert stack.nc == 12
    assert stack.sizes == {"left": 3, "right": 3, "loop": 6}
    assert stack.frames == ["foot0", "foot1", "base_frame"]
    assert stack["right"].frame == "foot1"
    again = pickle.loads(pickle.dumps(stack))
    assert repr(again) == repr(stack)
    assert "right: ContactModel3D(frame='foot1'" in repr(stack)
    first = {name: (p.default.tolist(), p.unit) for name, p in stack.parameters().items()}
    assert {name: (p.default.tolist(), p.unit) for name, p in again.parameters().items()} == first
    assert first["contacts.loop.active"] == (0.0, "-")
    assert first["contacts.left.kp"] == (30.0, "1/s²")


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_the_force_of_a_contact_does_not_depend_on_terms_without_weight(weight: float) -> None:
    """A term of the acceleration without a weight changes nothing: the second foot's force alone is felt, or none."""
    state, x = robot_state("hopper"), random_state("hopper", 0)

    def derivatives(*, calm: bool) -> list[Reals]:
        contacts = ContactStack(state).add("air", ContactModel3D(state, "foot0"), active=False)
        contacts.add("foot", ContactModel3D(state, "foot0"))
        costs = trajopt.CostStack(state).add("x_reg", trajopt.ResidualModelState(state), 0.1)
        costs.add("force", trajopt.ResidualModelContactForce(state, "foot", np.ones(3)), weight)
        if calm:
            costs.add("calm", trajopt.ResidualModelJointAcceleration(state), 0.0)
        model = trajopt.IntegratedActionModelEuler(contact_dynamics_of(contacts, costs=costs), 1e-2)
        data = model.create_data()
        model.calc_diff(data, x, np.ones(model.nu))
        return [data.Fx, data.Fu, data.Lx, data.Lu, data.Lxx, data.Lxu, data.Luu]

    plain = derivatives(calm=False)
    assert (np.abs(plain[3]).max() > 0) == (weight > 0)
    for got, expected in zip(derivatives(calm=True), plain, strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


class Wheel(trajopt.ContactModelAbstract):
    """What a user writes: a point that does not move along two axes of its frame; no error of position."""

    def __init__(self, state: trajopt.StateMultibody, frame: str, *, gains: Any = (0.0, 0.0)) -> None:
        super().__init__(state, [frame], 2, gains=gains)

    def projections(self, motions: Motions) -> dict[str, SX]:
        return {self.frame: SX(ca.DM(np.eye(6)[[0, 2]]))}


def test_a_contact_of_a_user() -> None:
    """The same as the contact of the library that it repeats; without an error of position it has no gain kp."""
    state, x = robot_state("hopper"), random_state("hopper", 0)
    own, ours = (
        Motion(contact_dynamics_of(stack_of("hopper", wheel=kind(state, "foot0", gains=(0.0, 4.0)))))(x, np.ones(2))
        for kind in (Wheel, trajopt.ContactModel2D)
    )
    assert_same_motion(own, ours, 1e-12)
    with pytest.raises(UnsupportedOperationError, match=r"Wheel: kp > 0 needs position_error; .* gains=\(0, kd\)"):
        Motion(contact_dynamics_of(stack_of("hopper", wheel=Wheel(state, "foot0", gains=(1.0, 0.0)))))


class Rolling(trajopt.ContactModelAbstract):
    """A wheel about the y axis of its frame that rolls along x, with its radius as a run-time parameter."""

    def __init__(self, state: trajopt.StateMultibody, frame: str, radius: float) -> None:
        super().__init__(state, [frame], 1)
        self.radius = self.parameter("radius", radius, unit="m")

    def projections(self, motions: Motions) -> dict[str, SX]:
        return {self.frame: SX(ca.horzcat(1, 0, 0, 0, -self.radius, 0))}


def test_the_jacobian_of_a_users_contact_may_have_parameters() -> None:
    state, x, u = robot_state("hopper"), random_state("hopper", 0), np.ones(2)
    small, large = (
        contact_dynamics_of(stack_of("hopper", wheel=Rolling(state, "foot0", radius))) for radius in (0.1, 0.3)
    )
    assert_same_motion(Motion(small)(x, u, contacts__wheel__radius=0.3), Motion(large)(x, u), 1e-12)
    torques = [small.quasi_static(x, parameters={"contacts.wheel.radius": 0.3}), large.quasi_static(x)]
    np.testing.assert_allclose(*torques, rtol=0, atol=1e-9)


def test_a_contact_that_is_added_twice_gets_parameters_of_its_own() -> None:
    state = robot_state("hopper")
    contact = ContactModel3D(state, "foot0", reference=np.zeros(3), gains=(1.0, 0.0))
    stack = stack_of("hopper", a=contact, b=contact)
    motion = Motion(contact_dynamics_of(stack, damping=0.1))
    x = random_state("hopper", 0)
    a, b = (motion(x, **{f"contacts__{name}__kp": 50.0})[1] for name in "ab")
    assert np.abs(a["a"] - b["a"]).max() > 0.1
    assert_close(a["a"], b["b"], 1e-9)
