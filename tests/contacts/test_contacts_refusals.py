"""What contacts, impulses and residuals of forces refuse: the message names the argument and the cure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.support.contact_models import actuation_of, contact_kinds
from tests.support.contact_robots import robot_state
from trajopt import (
    ActionModelImpulseFwdDynamics,
    ContactModel1D,
    ContactModel2D,
    ContactModel3D,
    ContactModelLoop,
    ContactStack,
    CostStack,
    DifferentialActionModelContactFwdDynamics,
    ImpulseModel3D,
    ImpulseModel6D,
    ImpulseStack,
)
from trajopt.errors import DuplicateNameError, InvalidArgumentError, UnknownNameError

STATE, OTHER = robot_state("hopper"), robot_state("biped")


def foot() -> ContactModel3D:
    return ContactModel3D(STATE, "foot0")


def contacts(*more: str, active: bool = True) -> ContactStack:
    stack = ContactStack(STATE).add("foot", foot())
    for name in more:
        stack.add(name, foot(), active=active)
    return stack


def impulses() -> ImpulseStack:
    return ImpulseStack(STATE).add("foot", ImpulseModel3D(STATE, "foot0"))


def costs(residual: Any = None) -> CostStack:
    stack = CostStack(STATE)
    return stack if residual is None else stack.add("term", residual, 1.0)


def dynamics(stack: Any = None, terms: Any = None, **options: Any) -> DifferentialActionModelContactFwdDynamics:
    stack = contacts() if stack is None else stack
    terms = costs() if terms is None else terms
    return DifferentialActionModelContactFwdDynamics(STATE, actuation_of(STATE), stack, terms, **options)


def knot(*arguments: Any) -> trajopt.IntegratedActionModelEuler:
    return trajopt.IntegratedActionModelEuler(dynamics(*arguments), dt=0.01)


def problem(*running: Any, terminal: Any = None) -> trajopt.ShootingProblem:
    return trajopt.ShootingProblem(STATE.zero(), list(running) or [knot()], costs() if terminal is None else terminal)


def force(name: str = "foot", size: int = 3) -> trajopt.ResidualModelContactForce:
    return trajopt.ResidualModelContactForce(STATE, name, np.zeros(size))


def load_of_other_contacts() -> trajopt.ResidualModelContactControlGrav:
    others = contacts("hand", active=False)
    return trajopt.ResidualModelContactControlGrav(STATE, actuation_of(STATE), others)


def used() -> ContactStack:
    stack = contacts()
    dynamics(stack)
    return stack


FRICTION = trajopt.ResidualModelContactFrictionCone(STATE, "foot", trajopt.FrictionCone())
WRENCH = trajopt.ResidualModelContactWrenchCone(STATE, "foot", trajopt.WrenchCone())
PRESSURE = trajopt.ResidualModelContactCoPPosition(STATE, "foot", (0.1, 0.1))
ACCELERATION = trajopt.ResidualModelJointAcceleration(STATE)
COM = trajopt.ResidualModelImpulseCoM(STATE)

Case = tuple[Callable[[], Any], type[Exception], str]
INVALID, UNKNOWN = InvalidArgumentError, UnknownNameError

MODELS: list[Case] = [
    (lambda: ContactModel3D(STATE, "foot9"), UNKNOWN, "frame 'foot9' not found; did you mean 'foot0'"),
    (lambda: ImpulseModel6D(STATE, "foot9"), UNKNOWN, "frame 'foot9' not found; did you mean 'foot0'"),
    (lambda: ContactModelLoop(STATE, "foot0", "tool"), UNKNOWN, "frame 'tool' not found.*Known: base_frame"),
    (lambda: ContactModelLoop(STATE, "foot0", "foot0"), INVALID, "frame_b: expected another frame than frame_a"),
    (
        lambda: ContactModelLoop(STATE, "foot0", "base_frame", dimension=2),
        INVALID,
        "dimension: expected 6 .*, 5 .* or 3",
    ),
    (
        lambda: ContactModel3D(STATE, "foot0", gains=(9, 6)),
        INVALID,
        "reference: expected the contact's place, because gains=.kp, kd. with kp > 0 pull 'foot0'",
    ),
    (lambda: trajopt.ContactModel6D(STATE, "foot0", gains=(9, 6)), INVALID, "or gains=.0, kd.$"),
    (lambda: ContactModel3D(STATE, "foot0", gains=(-1, 0)), INVALID, "gains: expected kp >= 0 and kd >= 0, got .-1.0"),
    (lambda: ContactModel3D(STATE, "foot0", gains=(0, -1)), INVALID, "gains: expected kp >= 0 and kd >= 0"),
    (lambda: ContactModel3D(STATE, "foot0", gains=(np.nan, 0)), INVALID, "gains: expected finite numbers"),
    (
        lambda: ContactModel3D(STATE, "foot0", gains=3.0),
        INVALID,
        r"gains: expected shape \(2,\).*pass Baumgarte's gains \(kp, kd\)",
    ),  # type: ignore[arg-type]
    (
        lambda: ContactModel3D(STATE, "foot0", reference=[0, 0]),
        INVALID,
        r"reference: expected shape \(3,\), got \(2,\)",
    ),
    (lambda: ContactModel2D(STATE, "foot0", reference=[0]), INVALID, r"reference: expected shape \(2,\)"),
    (lambda: ContactModel1D(STATE, "foot0", reference=np.inf), INVALID, "reference: expected finite numbers"),
    (
        lambda: ContactModel1D(STATE, "foot0", axis=[0, 0, 0]),
        INVALID,
        r"axis: expected a nonzero direction.*up is \(0, 0, 1\)",
    ),
    (
        lambda: trajopt.ContactModel6D(STATE, "foot0", reference=2 * np.eye(4)),
        INVALID,
        "reference: expected a rotation matrix",
    ),
    (
        lambda: ContactModel3D(STATE, "foot0", reference_frame="body"),
        UNKNOWN,
        "reference_frame: reference frame 'body' not found",
    ),
    (lambda: ContactModel3D(trajopt.StateVector(3), "foot0"), INVALID, "ContactModel3D needs a StateMultibody"),
    (lambda: ContactStack(trajopt.StateVector(3)), INVALID, "ContactStack needs a StateMultibody"),
]

STACKS: list[Case] = [
    (
        lambda: contacts("foot"),
        DuplicateNameError,
        "'foot' is in the stack already; choose a name other than foot$",
    ),
    (lambda: contacts("left foot"), INVALID, "name: expected an identifier such as 'left_foot', got 'left foot'"),
    (lambda: contacts().add("b", impulses()["foot"]), INVALID, "item: expected .* such as ContactModel3D"),
    (lambda: impulses().add("b", foot()), INVALID, "item: expected .* such as ImpulseModel3D.*got ContactModel3D"),
    (
        lambda: contacts().add("b", ContactModel3D(OTHER, "foot0")),
        INVALID,
        "item: expected a contact of .*, got one of .*use one state for both",
    ),
    (lambda: used().add("b", foot()), INVALID, "ContactFwdDynamics uses it; add all contacts before"),
    (lambda: contacts()["fot"], UNKNOWN, "contact 'fot' not found; did you mean 'foot'"),
    (lambda: impulses()["fot"], UNKNOWN, "impulse 'fot' not found; did you mean 'foot'"),
]

DYNAMICS: list[Case] = [
    (
        lambda: dynamics(contacts("again")),
        INVALID,
        "contacts: expected independent constraints, got foot, again with 6 constraints of rank 3; pass damping > 0",
    ),
    (
        lambda: dynamics(ContactStack(STATE).add("wall", ContactModel3D(STATE, "universe"))),
        INVALID,
        "frame: expected a frame that moves, got universe, which is fixed in the world; choose a frame on a link",
    ),
    (
        lambda: ActionModelImpulseFwdDynamics(STATE, impulses().add("b", ImpulseModel6D(STATE, "foot0")), costs()),
        INVALID,
        "impulses: expected independent constraints, got foot, b with 9 constraints of rank 6; pass damping > 0",
    ),
    (lambda: dynamics(damping=-1.0), INVALID, "damping: expected a number >= 0, got -1"),
    (lambda: dynamics(damping=np.nan), INVALID, "damping: expected a finite number"),
    (lambda: dynamics(friction="rough"), INVALID, "friction: expected None, 'smooth' or a SmoothFriction"),
    (
        lambda: dynamics(ContactStack(OTHER)),
        INVALID,
        "contacts: expected contacts of .*, got contacts of .*biped.*use one state for all parts",
    ),
    (
        lambda: dynamics(terms=CostStack(OTHER)),
        INVALID,
        "costs: expected costs of .*, got costs of .*biped.*use one state",
    ),
    (lambda: dynamics(impulses()), INVALID, "contacts: expected a ContactStack, got ImpulseStack"),
    (
        lambda: DifferentialActionModelContactFwdDynamics(STATE, None, contacts(), costs()),  # type: ignore[arg-type]
        INVALID,
        r"actuation: expected an actuation model such as .*, got None",
    ),
    (
        lambda: ActionModelImpulseFwdDynamics(STATE, impulses(), costs(), restitution=1.2),
        INVALID,
        "restitution: expected a number from 0 to 1, got 1.2",
    ),
    (
        lambda: ActionModelImpulseFwdDynamics(STATE, contacts(), costs()),  # type: ignore[arg-type]
        INVALID,
        "impulses: expected an ImpulseStack, got ContactStack",
    ),
    (
        lambda: ActionModelImpulseFwdDynamics(STATE, impulses(), CostStack(OTHER)),
        INVALID,
        "costs: expected costs of .*, got costs of .*biped.*use one state",
    ),
]

NEEDS_A_CONTACT = (
    "expected a cost with contact forces, got one without; use this residual in the running costs of Differential"
)
COSTS: list[Case] = [  # all when the model is built
    (
        lambda: dynamics(terms=costs(force("hand"))),
        UNKNOWN,
        "cost term 'term': contact 'hand' not found. Known: foot",
    ),
    (
        lambda: dynamics(terms=costs(force(size=6))),
        INVALID,
        "cost term 'term': .* force of 6 elements, but contact 'foot' has 3",
    ),
    (
        lambda: dynamics(terms=costs(WRENCH)),
        INVALID,
        "WrenchCone needs a force of 6 elements, but contact 'foot' has 3",
    ),
    (
        lambda: dynamics(terms=costs(PRESSURE)),
        INVALID,
        "CoPPosition needs a force of 6 elements, but contact 'foot' has 3",
    ),
    (
        lambda: dynamics(ContactStack(STATE).add("foot", contact_kinds(STATE, "foot0")["2D"]()), costs(FRICTION)),
        INVALID,
        "expected a 3D or 6D contact for a friction cone, got 'foot'",
    ),
    (
        lambda: trajopt.DifferentialActionModelFreeFwdDynamics(STATE, actuation_of(STATE), costs(force())),
        INVALID,
        NEEDS_A_CONTACT,
    ),
    (
        lambda: trajopt.DifferentialActionModelFreeFwdDynamics(STATE, actuation_of(STATE), costs(ACCELERATION)),
        INVALID,
        "acceleration: expected a running cost of DifferentialActionModelContactFwdDynamics .its stack may be empty.,",
    ),
    (
        lambda: ActionModelImpulseFwdDynamics(STATE, impulses(), costs(ACCELERATION)),
        INVALID,
        "acceleration: expected a running cost",
    ),
    (
        lambda: dynamics(terms=costs(COM)),
        INVALID,
        "velocity_after: expected a running cost of ActionModelImpulse",
    ),
    (
        lambda: dynamics(
            terms=costs(
                trajopt.ResidualModelContactControlGrav(STATE, actuation_of(STATE), contacts("hand", active=False))
            )
        ),
        UNKNOWN,
        "contact 'hand' not found. Known: foot",
    ),
    (
        lambda: problem(terminal=costs(force())),
        INVALID,
        "terminal: cost terms term depend on a control or a force.*without them",
    ),
    (
        lambda: problem(terminal=knot(contacts(), costs(force()))),
        INVALID,
        "terminal: cost terms term depend on a control or",
    ),
    (
        lambda: problem(terminal=costs(ACCELERATION)),
        INVALID,
        "terminal: cost terms term depend on a control or a force",
    ),
]


@pytest.mark.parametrize(("build", "error", "message"), [*MODELS, *STACKS, *DYNAMICS, *COSTS])
def test_refused(build: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_redundant_contacts_are_accepted_with_damping_or_when_inactive() -> None:
    dynamics(contacts("again"), damping=1e-6)
    dynamics(contacts("again", active=False))
    more = impulses().add("b", ImpulseModel6D(STATE, "foot0"), active=False)
    ActionModelImpulseFwdDynamics(STATE, more, costs())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("contacts.foot.active", 0.5, r"contacts.foot.active: expected 1 \(active\) or 0 \(inactive\), got 0.5"),
        ("contacts.foot.active", "on", r"expected 1 \(active\) or 0 \(inactive\), got 'on'"),
        ("contacts.foot.active", np.nan, r"expected 1 \(active\) or 0 \(inactive\), got nan"),
        ("contacts.foot.active", [1.0, 0.0], "expected one value of contacts.foot.active, or one for each of 1 knots"),
        ("contacts.foot.kp", -1.0, "contacts.foot.kp: expected a number >= 0, got -1"),
        ("contacts.foot.kd", -1.0, "contacts.foot.kd: expected a number >= 0, got -1"),
        ("contacts.foot.reference", [0.0, 0.0], r"reference: expected shape \(3,\), got \(2,\)"),
        ("damping", -1.0, "damping: expected a number >= 0"),
    ],
)
def test_parameters_that_are_refused(name: str, value: Any, message: str) -> None:
    held = ContactStack(STATE).add("foot", ContactModel3D(STATE, "foot0", reference=np.zeros(3), gains=(1.0, 1.0)))
    p = problem(knot(held))
    with pytest.raises(InvalidArgumentError, match=message):
        p.set_parameter(name, value)
    for good in (0, 1, True, False, np.array(1.0), 0.0):
        p.set_parameter("contacts.foot.active", good)
        assert p.get_parameter("contacts.foot.active") == float(good)


def test_gains_that_were_left_out_are_no_parameters() -> None:
    with pytest.raises(UnknownNameError, match="contacts.foot.kp' not found; did you mean 'contacts.foot.active'"):
        problem().set_parameter("contacts.foot.kp", 1.0)


def test_only_impulses_may_take_no_time() -> None:
    bounce = ActionModelImpulseFwdDynamics(STATE, impulses(), costs())
    problem(bounce)
    problem(knot(), bounce)
    frozen = trajopt.IntegratedActionModelEuler(dynamics(), dt=0.0)
    for model in (frozen, trajopt.ActionModelNumDiff(frozen)):
        with pytest.raises(InvalidArgumentError, match=r"running\[1\]: expected a time step dt > 0 .s., got 0"):
            problem(knot(), model)
    problem(knot(), trajopt.ActionModelNumDiff(bounce))
