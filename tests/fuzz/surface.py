"""Every public constructor, function, method and property of the package, found in its exports."""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import pkgutil
import re
import types
from dataclasses import dataclass
from typing import Any, is_typeddict

import trajopt


@functools.cache
def rooms() -> tuple[str, ...]:
    """Packages whose exports users call: those whose wrong calls are explained, see `trajopt.objects`."""
    packages = [module.name for module in pkgutil.walk_packages(trajopt.__path__, "trajopt.") if module.ispkg]
    return tuple(name for name in ("trajopt", *packages) if explains_calls(importlib.import_module(name)))


def explains_calls(package: types.ModuleType) -> bool:
    text = inspect.getsource(package)
    return "explain_calls(__name__)" in text or "= lazy(" in text


INSIDE = re.compile(
    r"\b(ActionData|Array|Expansion|Foot|Instant|LeggedMotion|Motions|Multipliers|Point|Program|RiccatiOutcome|Run|Stage|"
    r"Trials|Evaluator|Step|\w*Progress|SX|P|Reals|Console|Figure)\b"
)
"""Types of arguments by which a method is known to be called by the package; users' arrays are `npt.ArrayLike`."""

BY_THE_PACKAGE = {
    *("acceleration", "acceptance", "blocks", "check_size", "check_terminal", "controlled", "freeze", "of"),
    *("instant", "pad", "parameters", "parameters_for", "prepare", "program", "report", "row_names", "size", "sizes"),
    *("split", "switches", "torque", "unnamed", "xdot", "start", "finish", "preparing", "parameter", "squared"),
    *("iterate", "results", "knot_equations", "knot_expressions", "term_expressions", "row_derivative"),
    *("lagrangian_expressions", "lagrangian_hessian", "arguments_of", "build_terms", "build_forces", "call_hint"),
    *("attribute_hint", "check_lift", "check_new", "cure_of", "may_be_set", "take"),
    *("solve_in_lanes", "has_long_hessian"),
}
"""Methods that the package calls on what users give it."""

RESULTS = {
    "SolutionBatch",
    *("IterationRecord", "Solution", "ProblemCase", "ProblemInfo", "ProblemValues", "ProblemDerivatives", "Controls"),
    *("PendulumPlan", "LimitUse", "Reached", "QPSolution", "ConstraintRows"),
    *("Scan", "Wall"),
    *("Rollout", "ArticulatedBody", "BodyJoint", "EndEffector"),
    *("Combination", "Identification"),
    *("Failure", "Failures", "Outcome", "Sweep"),
    *("IKResult", "IKBatch", "IKPath", "IKStep", "Departure", "TaskResidual"),
    "Shape",
    "DifferentialActionModelSymbolic",  # to derive from
}
"""Plain data that the package makes: their constructors take what they are given."""

TAKING_RECORDS = {"friction_use", "Simulator.simulate_batched", "DiffNERobotModel.simulate_batched"}
"""Functions for users although what they take is made by the package."""

NOT_CALLED = {
    *("set_num_threads", "SolverStatus", "ActionData", "Progress", "Family", "SupportPhase", "Callback"),
    *("ContactInverseDynamics", "Ellipses", "JointResidual", "JointRow", "MonteCarlo", "SolutionDerivatives"),
    *("StateCovariance", "CostTerm"),
}
"""They change the process, or are not for users to make."""


@dataclass(frozen=True)
class Door:
    """Something public that can be called.

    Attributes:
        label: Its name, such as "CostStack.add".
        kind: "function", "constructor", "method", "property" or "class method".
        owner: The class that has it; None of a function.
        name: Its name in the owner.
        target: What is called; None of a property.
        room: Package that exports it.
    """

    label: str
    kind: str
    owner: type | None
    name: str
    target: Any
    room: str = ""

    @functools.cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """Its parameters without self."""
        found = inspect.signature(self.target).parameters.values() if self.target is not None else ()
        return [p for p in found if not (self.kind == "method" and p.name == "self")]


@functools.cache
def doors() -> tuple[Door, ...]:
    """All of them, in the order of their names."""
    found: dict[str, Door] = {}
    for room in rooms():
        module = importlib.import_module(room)
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, types.ModuleType) or name in NOT_CALLED:
                continue
            if inspect.isclass(thing):
                if not issubclass(thing, BaseException):
                    found |= {door.label: door for door in _of_class(thing, room)}
            elif callable(thing):
                taken = name in found and found[name].target is not thing
                label = f"{room.rpartition('.')[2]}.{name}" if taken else name
                found[label] = Door(label, "function", None, name, thing, room)
    return tuple(door for _, door in sorted(found.items()) if _is_for_users(door))


def _of_class(cls: type, room: str) -> list[Door]:
    plain = inspect.isabstract(cls) or issubclass(cls, enum.Enum) or is_typeddict(cls)  # nothing is called
    if plain or INSIDE.search(cls.__name__):
        return []
    own = [] if cls.__name__ in RESULTS else [Door(cls.__name__, "constructor", cls, "__init__", cls, room)]
    for name in dir(cls):
        if name.startswith("_"):
            continue
        member, label = inspect.getattr_static(cls, name), f"{cls.__name__}.{name}"
        if isinstance(member, (property, functools.cached_property)):
            own.append(Door(label, "property", cls, name, None, room))
        elif isinstance(member, (classmethod, staticmethod)):
            own.append(Door(label, "class method", cls, name, getattr(cls, name), room))
        elif inspect.isfunction(member):
            own.append(Door(label, "method", cls, name, member, room))
    return own


def _is_for_users(door: Door) -> bool:
    """Whether users call it: no argument of a type that the package hands to itself."""
    if door.kind in ("method", "class method") and door.name in BY_THE_PACKAGE - {"of" if _made_by_of(door) else ""}:
        return False
    if door.label in TAKING_RECORDS:
        return True
    if waits(door):
        return False
    needed = [p for p in door.parameters if p.default is p.empty]
    return not any(INSIDE.search(str(p.annotation)) and "Callable" not in str(p.annotation) for p in needed)


def waits(door: Door) -> bool:
    """Whether it ends only when another process or a user acts.

    Its docstring says so, or its object has the address of another process. Constructors, `close` and properties of
    such an object return at once.
    """
    if door.kind != "method" or door.name == "close":
        return False
    talks = "address" in inspect.signature(door.owner).parameters  # type: ignore[arg-type]
    return talks or bool(re.match(r"(Waits|Serves)\b", inspect.getdoc(door.target) or ""))


def _made_by_of(door: Door) -> bool:
    return door.label in ("Stance.of", "Foothold.of")
