"""Contact models, impulses and residuals of forces for the battery over all models: small robots, many terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

import trajopt
from tests.support.constraint_models import TURNED, force_constraints
from tests.support.contact_robots import robot_state
from tests.support.inverse_dynamics import inverse_model
from trajopt.residuals import ResidualModelAbstract, ResidualModelEquation

GAINS = (30.0, 4.0)


def actuation_of(state: trajopt.StateMultibody) -> Any:
    """Motors in all joints but a free flyer."""
    floats = state.robot.floating_base
    return trajopt.ActuationModelFloatingBase(state) if floats else trajopt.ActuationModelFull(state)


def contact_kinds(state: trajopt.StateMultibody, frame: str) -> dict[str, Callable[[], trajopt.ContactModelAbstract]]:
    """Every kind of contact of one frame, in all axes, without gains and with gains and references."""
    place = pin.SE3(TURNED, np.array([0.3, -0.2, 0.1]))
    kinds: dict[str, Callable[[], trajopt.ContactModelAbstract]] = {
        "1D": lambda: trajopt.ContactModel1D(state, frame),
        "2D": lambda: trajopt.ContactModel2D(state, frame),
        "2D-gains": lambda: trajopt.ContactModel2D(state, frame, reference=[0.1, 0.2], gains=GAINS),
        "3D-kd": lambda: trajopt.ContactModel3D(state, frame, gains=(0.0, 4.0)),
        "6D-world": lambda: trajopt.ContactModel6D(state, frame, reference_frame="world"),
    }
    for axes in ("local", "local_world_aligned"):
        told: dict[str, Any] = {"reference_frame": axes, "gains": GAINS}
        kinds[f"1D-{axes}"] = lambda told=told: trajopt.ContactModel1D(
            state, frame, reference=0.4, axis=[0.2, 0.3, 1], **told
        )
        kinds[f"3D-{axes}"] = lambda told=told: trajopt.ContactModel3D(state, frame, reference=[0.1, 0.2, 0.3], **told)
        kinds[f"6D-{axes}"] = lambda told=told: trajopt.ContactModel6D(state, frame, reference=place, **told)
    return kinds


def force_costs(contacts: trajopt.ContactStack, *, gravity: bool = True) -> trajopt.CostStack:
    """Terms of the state, the control, the acceleration, each force, and torques beside gravity and forces."""
    state, actuation = contacts.state, actuation_of(contacts.state)
    costs = trajopt.CostStack(state)
    costs.add("x_reg", trajopt.ResidualModelState(state), 0.1).add("u_reg", trajopt.ResidualModelControl(state), 0.3)
    reference = np.linspace(-0.5, 0.5, state.nv)
    costs.add("calm", trajopt.ResidualModelJointAcceleration(state, reference), 0.01)
    for i, name in enumerate(contacts.names):
        size = contacts[name].nc
        costs.add(f"force_{i}", trajopt.ResidualModelContactForce(state, name, np.arange(size) * 0.3), 0.05)
        if size in (3, 6):
            cone = trajopt.FrictionCone(0.5, facets=6, rotation=TURNED)
            barrier = trajopt.ActivationModelQuadraticBarrier(cone.lower, cone.upper)
            costs.add(f"cone_{i}", trajopt.ResidualModelContactFrictionCone(state, name, cone), 0.02, barrier)
    if gravity:
        costs.add("load", trajopt.ResidualModelContactControlGrav(state, actuation, contacts), 0.02)
    return costs


def contact_dynamics_of(contacts: trajopt.ContactStack, **options: Any) -> Any:
    """A model of these contacts with all kinds of terms."""
    state = contacts.state
    costs = options.pop("costs", None) or force_costs(contacts)
    return trajopt.DifferentialActionModelContactFwdDynamics(state, actuation_of(state), contacts, costs, **options)


def hopper() -> Any:
    """A foot of a floating robot, held at a point."""
    state = robot_state("hopper")
    contacts = trajopt.ContactStack(state).add("foot", contact_kinds(state, "foot0")["3D-local_world_aligned"]())
    return contact_dynamics_of(contacts)


def arm() -> Any:
    """Spherical and universal joints on the world; a rail for a point, in axes of a frame away from the joint."""
    state = robot_state("arm")
    contacts = trajopt.ContactStack(state).add("hand", contact_kinds(state, "2_RX_frame")["2D-gains"]())
    contacts.add("elbow", trajopt.ContactModel1D(state, "1_Universal_frame", reference_frame="local"))
    return contact_dynamics_of(contacts, friction="smooth")


def variable() -> Any:
    """A foot of a floating robot whose numbers are run-time parameters."""
    state = robot_state("variable")
    contacts = trajopt.ContactStack(state).add("foot", contact_kinds(state, "foot0")["3D-local_world_aligned"]())
    return contact_dynamics_of(contacts, friction="smooth")


def slider() -> Any:
    """A planar joint and more contacts than it has room for, with damping; one of them is not active."""
    state = robot_state("slider")
    contacts = trajopt.ContactStack(state).add("sole", contact_kinds(state, "2_PrismaticUnaligned_frame")["6D-local"]())
    contacts.add("off", trajopt.ContactModel3D(state, "1_RUBY_frame"), active=False)
    contacts.add("wheel", trajopt.ContactModel1D(state, "1_RUBY_frame", gains=GAINS))
    return contact_dynamics_of(contacts, damping=0.1)


def four_bar() -> Any:
    """A closed chain, with damping because both ends move in one plane anyway."""
    state = robot_state("four-bar")
    loop = trajopt.ContactModelLoop(state, "coupler_tip", "rocker_tip", dimension=3, gains=GAINS)
    return contact_dynamics_of(trajopt.ContactStack(state).add("loop", loop), damping=0.1)


def free() -> Any:
    """No contact at all: the acceleration is what costs may depend on."""
    return contact_dynamics_of(trajopt.ContactStack(robot_state("hopper")))


def constrained_hopper(costs: trajopt.CostStack | None = None, *, motion: bool = True) -> Any:
    """A foot within its friction cone, with rows of the acceleration and of the control."""
    state = robot_state("hopper")
    contacts = trajopt.ContactStack(state).add("foot", contact_kinds(state, "foot0")["3D-local_world_aligned"]())
    contacts.add("seat", trajopt.ContactModel1D(state, "base_frame"), active=False)
    stack = force_constraints(contacts, "foot").add("torque", trajopt.ResidualModelControl(state), lower=-3, upper=3)
    if motion:
        stack.add("gentle", trajopt.ResidualModelJointAcceleration(state), upper=20.0)
    return contact_dynamics_of(contacts, costs=costs, constraints=stack)


def simple_costs() -> trajopt.CostStack:
    """Costs of nothing that the dynamics solve for."""
    state = robot_state("hopper")
    costs = trajopt.CostStack(state).add("x_reg", trajopt.ResidualModelState(state), 0.1)
    return costs.add("u_reg", trajopt.ResidualModelControl(state), 0.3)


def contact_differentials() -> dict[str, Callable[[], Any]]:
    models = {"hopper": hopper, "arm": arm, "slider": slider, "four-bar": four_bar, "none": free}
    models["variable"] = variable
    models["constrained"] = constrained_hopper
    models["constrained-forces"] = lambda: constrained_hopper(simple_costs(), motion=False)
    inverse = {"hopper": hopper, "arm": arm, "slider": slider, "constrained": constrained_hopper, "variable": variable}
    return {f"contact-{name}": make for name, make in models.items()} | {
        f"inverse-{name}": lambda make=make: inverse_model(make())  # type: ignore[misc]
        for name, make in inverse.items()
    }


def impulse_actions() -> dict[str, Callable[[], Any]]:
    return {
        "impulse-hopper": lambda: impulse("hopper", "foot0"),
        "impulse-arm": lambda: impulse("arm", "2_RX_frame"),
        "impulse-variable": lambda: impulse("variable", "foot0"),
        "impulse-constrained": lambda: impulse("hopper", "foot0", constrained=True),
    }


def impulse(robot: str, frame: str, *, constrained: bool = False) -> trajopt.ActionModelImpulseFwdDynamics:
    """A bounce of one frame, with an inactive second one, and all kinds of terms."""
    state = robot_state(robot)
    impulses = trajopt.ImpulseStack(state).add("foot", trajopt.ImpulseModel3D(state, frame))
    impulses.add("off", trajopt.ImpulseModel6D(state, frame, reference_frame="local"), active=False)
    costs = trajopt.CostStack(state).add("x_reg", trajopt.ResidualModelState(state), 0.1)
    costs.add("push", trajopt.ResidualModelContactForce(state, "foot", [0.1, -0.2, 3.0]), 0.2)
    costs.add("nothing", trajopt.ResidualModelContactForce(state, "off", np.ones(6)), 0.1)
    costs.add("com", trajopt.ResidualModelImpulseCoM(state), 0.7)
    costs.add("momentum", trajopt.ResidualModelCentroidalMomentum(state, np.arange(6.0)), 0.1)
    cone = trajopt.FrictionCone(0.6, inner=False, rotation=TURNED)  # without barrier: at rest all rows are on a bound
    costs.add("cone", trajopt.ResidualModelContactFrictionCone(state, "foot", cone), 0.3)
    constraints = force_constraints(impulses, "foot") if constrained else None
    if constraints is not None:
        constraints.add("hop", trajopt.ResidualModelImpulseCoM(state), lower=0.0)
    options: dict[str, Any] = {"restitution": 0.4, "damping": 0.01, "constraints": constraints}
    return trajopt.ActionModelImpulseFwdDynamics(state, impulses, costs, **options)


def force_residuals() -> dict[str, Callable[[], ResidualModelAbstract]]:
    """Residuals of a 6D contact "foot" of the hopper, which has two controls."""
    state = lambda: robot_state("hopper")  # noqa: E731

    def load() -> ResidualModelAbstract:
        contacts = trajopt.ContactStack(state()).add("foot", trajopt.ContactModel6D(state(), "foot0"))
        return trajopt.ResidualModelContactControlGrav(state(), actuation_of(state()), contacts)

    cone, box = trajopt.FrictionCone(0.5, facets=6, rotation=TURNED), (0.2, 0.1)
    wrench = trajopt.WrenchCone(0.5, box, rotation=TURNED)
    return {
        "force": lambda: trajopt.ResidualModelContactForce(state(), "foot", np.arange(6.0)),
        "friction-cone": lambda: trajopt.ResidualModelContactFrictionCone(state(), "foot", cone),
        "wrench-cone": lambda: trajopt.ResidualModelContactWrenchCone(state(), "foot", wrench),
        "pressure": lambda: trajopt.ResidualModelContactCoPPosition(state(), "foot", box, rotation=TURNED),
        "contact-gravity": load,
        "acceleration": lambda: trajopt.ResidualModelJointAcceleration(state(), np.linspace(0, 1, 8)),
        "equation": lambda: ResidualModelEquation(state(), "foot_contact", 3),
        "impulse-com": lambda: trajopt.ResidualModelImpulseCoM(state()),
        "momentum-hopper": lambda: trajopt.ResidualModelCentroidalMomentum(state(), np.arange(6.0)),
        "momentum-arm": lambda: trajopt.ResidualModelCentroidalMomentum(robot_state("arm")),
    }
