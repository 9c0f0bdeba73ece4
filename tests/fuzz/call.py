"""One call of the public interface, and what came of it."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
import pickle
import re
import traceback
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import trajopt
from tests.fuzz.objects import FIXED
from tests.fuzz.surface import Door, doors
from tests.fuzz.valid import VALID
from tests.fuzz.worlds import KINDS, World, folder, world
from tests.fuzz.wrong import Wrong, wrong_array, wrong_inside, wrong_scalar
from trajopt import problems
from trajopt.actions import ActionModelAbstract
from trajopt.actions.differential import DifferentialActionModelAbstract
from trajopt.errors import TrajoptError
from trajopt.gaits.steps import StepOptions
from trajopt.instant import Instant
from trajopt.residuals import ResidualModelAbstract

LONGEST = 3000  # of a message [characters]
FAMILIES = ("pendulum", "lqr", "cart-pole", "unicycle", "double-pendulum")
LOAD_OPTIONS = {"T": "int", "dt": "float", "effort": "float", "nx": "int", "nu": "int", "seed": "int", "end": "float"}
LOAD_OPTIONS |= {"start": "npt.ArrayLike", "weights": "npt.ArrayLike", "hessian": "str"}
_MODERATE = 1e9  # finite results are due from numbers that are not larger
_NUMERIC = re.compile(r"\b(float|int|ArrayLike|Reals|Vector3|Quaternion)\b")
_OTHER = re.compile(r"\b(str|Any|Mapping|Callable|Foothold|pin|Iterable|Knots|StartLike|Phase|Swing)\b")
_NAN_MEANS_NONE = {
    "cost_terms",
    "contact_forces",
    "foot_references",
    "com_references",
    "references",
    "stops",
    "expected_decreases",
    "trajectory",
    "cast",
    *("Sweep.cost", "Sweep.seconds", "Sweep.table"),
}
_ASSIGNED = re.compile(r"^(ShootingProblem|Callback|Case|Family|ActionModelNumDiff)")  # x0, and what is the user's own
_SLOW = re.compile(
    r"^(plot_|animate|film|Solution.(plot|animate|film)|SolutionBatch.plot|ClosedLoop.film|gait_guess|ContactSchedule.plot|Solver\w+.solve|GaitModels|gait_problem)"
)
_DUE = re.compile(r"^(Solver\w+\.solve_batch\.x0|(retime|plan)\.acceleration|\w*inverse_dynamics\.(a|contacts?))$")


@dataclass(frozen=True)
class Outcome:
    """What came of a call.

    Attributes:
        verdict: "fine", "refused", "python", "raw", "nonsense", "assigned" or "long".
        call: The call in words.
        error: The error in one line.
        place: Where in the package it came from.
    """

    verdict: str
    call: str
    error: str = ""
    place: str = ""


@functools.cache
def _choices(room: str) -> tuple[list[Door], list[float]]:
    """Doors of rooms, and how often each is called; assignments, copies and prints are doors of every class."""
    chosen, weights = [], []
    for door in doors():
        if not door.room.startswith(tuple(room.split(","))):
            continue
        chosen.append(door)
        weights.append(0.1 if _SLOW.match(door.label) else 0.15 if door.kind == "property" else 1.0)
        if door.kind == "constructor" and not door.label.startswith("Callback"):
            for kind in ("assign", "copy"):
                chosen.append(Door(f"{door.owner.__name__}: {kind}", kind, door.owner, kind, None))
                weights.append(0.5)
    return chosen, weights


def make(seed: int, number: int, room: str = "trajopt", *, raises: bool = False) -> Outcome:
    """Makes call `number` of a seed; if `raises`, its error goes on to the caller.

    Args:
        seed: Seed of all calls.
        number: Number of the call.
        room: Package whose exports are called; several are separated by commas.
        raises: Whether an error of the call goes on.
    """
    rng = Random(f"{seed}/{number}")
    w, door = world(rng.choice(KINDS)), rng.choices(*_choices(room))[0]
    w = next((world(kind) for kind in ("biped", "quadruped") if door.label.startswith(kind)), w)
    try:
        subject = _subject(door, w, rng)
        arguments, wrong = _arguments(door, w, rng)
    except TrajoptError as error:  # a valid object that is refused is a fault of the fuzzer
        return Outcome("unmade", f"{door.label}(valid) [{w.kind}]", _line(error), _place(error))
    shown = ", ".join(f"{name}={value.name}" for name, value in wrong.items())
    with contextlib.chdir(folder()):  # a path that was meant to be wrong may be none
        if raises:
            print(door.label, arguments, wrong)
            result = _invoke(door, subject, arguments, rng)
            _use(result)
            return Outcome("fine", repr(result))
        try:
            return _judge(door, f"{door.label}({shown or 'valid'}) [{w.kind}]", subject, arguments, wrong, rng)
        finally:
            _close(subject, *arguments.values())


def _judge(
    door: Door, call: str, subject: Any, arguments: dict[str, Any], wrong: dict[str, Wrong], rng: Random
) -> Outcome:
    try:
        result = _invoke(door, subject, arguments, rng)
        if door.kind in ("constructor", "class method"):
            _use(result)
        _close(result)
    except TrajoptError as error:
        verdict = "long" if len(str(error)) > LONGEST else "refused"
        return Outcome(verdict, call, _line(error), _place(error))
    except dataclasses.FrozenInstanceError:
        return Outcome("python", call)
    except Exception as error:
        own = isinstance(error, TypeError) and ("immutable.py" in _place(error) or not _place(error))
        return Outcome("python" if own else "raw", call, _line(error), _place(error))
    if door.kind == "assign" and not _ASSIGNED.match(door.label):
        return Outcome("assigned", call, f"{result!r} was set", door.label)
    for p in door.parameters:
        value = wrong.get(p.name)
        if value is not None and _numeric(p) and not value.number and not _may_be(p, value.value):
            return Outcome("nonsense", call, f"{p.name} took {value.name}", door.label)
    if not {door.name, door.label} & _NAN_MEANS_NONE and _moderate(arguments.values()) and not _finite(result):
        return Outcome("nonsense", call, "the result is not finite", door.label)
    return Outcome("fine", call)


def _invoke(door: Door, subject: Any, arguments: dict[str, Any], rng: Random) -> Any:
    if door.kind == "property":
        return getattr(subject, door.name)
    if door.kind == "assign":
        names = [n for n in dir(subject) if not n.startswith("_") and n not in getattr(subject, "settable", ())]
        name = rng.choice([rng.choice(names), rng.choice(names) + "_", "x_0", "reference", "mass"])
        setattr(subject, name, wrong_scalar(rng).value)
        return name
    if door.kind == "copy":
        if rng.random() < 0.5:
            _use(subject)  # so that there is what it keeps
        same = rng.choice([copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s)), copy.copy])(subject)
        return (repr(same), str(subject), subject == same, subject == 1)[0]
    function = getattr(subject, door.name) if door.kind == "method" else door.target
    return _called(door, function, arguments)


def _called(door: Door, function: Any, arguments: dict[str, Any]) -> Any:
    several = {p.name: p for p in door.parameters if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)}
    positional: list[Any] = []
    for name, p in several.items():
        value = arguments.get(name, ())
        if p.kind is p.VAR_POSITIONAL and isinstance(value, tuple):
            positional += value
        elif name in arguments:
            positional.append(value)
    named = {name: value for name, value in arguments.items() if name not in several}
    return function(*positional, **named)


def _use(thing: Any) -> None:
    """Prints an object, reads its properties, and evaluates a model; NaN from a model is a fault."""
    repr(thing)
    str(thing)
    if isinstance(thing, (ActionModelAbstract, DifferentialActionModelAbstract)):
        data, x = thing.create_data(), thing.state.zero()
        thing.calc(data, x, np.zeros(thing.nu))
    elif isinstance(thing, ResidualModelAbstract) and not thing.uses_solution:
        thing.evaluate(Instant(thing.state, 2))
    if type(thing).__module__.startswith("trajopt") and not isinstance(thing, trajopt.gaits.GaitModels):
        for name in dir(type(thing)):
            member = inspect.getattr_static(type(thing), name)
            if not name.startswith("_") and isinstance(member, (property, functools.cached_property)):
                getattr(thing, name)


def _close(*things: Any) -> None:
    """Ends the servers of views, pages and the like."""
    for thing in things:
        if hasattr(type(thing), "close") and type(thing).__module__.startswith("trajopt."):
            thing.close()


def _subject(door: Door, w: World, rng: Random) -> Any:
    if door.owner is None or door.kind in ("constructor", "class method"):
        return None
    if door.owner.__name__ in FIXED:
        return FIXED[door.owner.__name__](w, rng)
    constructor = Door(door.owner.__name__, "constructor", door.owner, "__init__", door.owner)
    needed = [p for p in constructor.parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    arguments = {p.name: _valid(constructor, p, w, rng) for p in needed}
    return _called(constructor, door.owner, {n: a for n, a in arguments.items() if n not in ("args", "kwargs")})


def _arguments(door: Door, w: World, rng: Random) -> tuple[dict[str, Any], dict[str, Wrong]]:
    """Arguments of a call, most of them valid, and those that are not."""
    every = _all_parameters(door, w, rng)
    parameters = [p for p in every if p.default is p.empty or _is_due(door, p) or rng.random() < 0.4]
    count = rng.choices([0, 1, 2], [0.15, 0.7, 0.15])[0]
    chosen = rng.sample(parameters, min(count, len(parameters)))
    arguments: dict[str, Any] = {}
    wrong: dict[str, Wrong] = {}
    for p in parameters:
        value = _valid(door, p, w, rng)
        if any(p is c for c in chosen):
            if isinstance(value, np.ndarray) and rng.random() < 0.7:
                wrong[p.name] = wrong_array(rng, value)
            elif isinstance(value, (tuple, list, dict)) and value and rng.random() < 0.7:
                wrong[p.name] = wrong_inside(rng, value)
            else:
                wrong[p.name] = wrong_scalar(rng)
            value = wrong[p.name].value
        arguments[p.name] = value
    if door.label == "load" and "name" not in wrong:  # a family that has these options
        options = {name: set(problems.describe(name).options) for name in FAMILIES}
        fitting = [name for name, known in options.items() if set(arguments) - {"name", "robot"} <= known]
        arguments["name"] = rng.choice(fitting or FAMILIES)
    return arguments, wrong


def _is_due(door: Door, p: inspect.Parameter) -> bool:
    """Whether an argument with a default is always passed, as one of several is needed."""
    return bool(_DUE.match(f"{door.label}.{p.name}"))


def _all_parameters(door: Door, w: World, rng: Random) -> list[inspect.Parameter]:
    """Parameters with those that a function takes as **options."""
    found = []
    for p in () if door.label == "ActivationModelQuad" else door.parameters:
        if p.kind is not p.VAR_KEYWORD:
            found.append(p)
            continue
        names: Mapping[str, Any] = {}
        if "StepOptions" in str(p.annotation):
            names = typing.get_type_hints(StepOptions)
        elif door.label == "GaitOptions.crocoddyl":
            names = {f.name: f.type for f in dataclasses.fields(trajopt.gaits.GaitOptions)}
        elif door.label == "load":
            names = LOAD_OPTIONS
        for name, kind in names.items():
            text = kind if isinstance(kind, str) else kind.__name__
            found.append(inspect.Parameter(name, p.KEYWORD_ONLY, default=None, annotation=text))
    return found


def _valid(door: Door, p: inspect.Parameter, w: World, rng: Random) -> Any:
    """A valid value, by function and argument, by argument, or by type; the default if there is none."""
    annotation = str(p.annotation).replace(" | None", "")
    if annotation in ("StateAbstract", "StateMultibody") and f"{door.label}.state" not in VALID:
        return w.state_for(door.label)
    makers = [VALID.get(f"{door.label}.{p.name}")]
    makers += [VALID.get(p.name)] if not _mismatch(p.name, annotation) else []
    makers += [VALID.get(annotation)]
    maker: Callable[[World, Random], Any] | None = next((m for m in makers if m is not None), None)
    if maker is not None:
        return maker(w, rng)
    return 1.0 if p.default is p.empty else p.default


def _mismatch(name: str, annotation: str) -> bool:
    """Whether an argument has the name of another one that is something else."""
    return annotation in ("float", "int", "bool") and name in ("com", "state", "bounds", "cone", "foot", "control")


def _numeric(p: inspect.Parameter) -> bool:
    text = str(p.annotation)
    return bool(_NUMERIC.search(text)) and not _OTHER.search(text)


def _may_be(p: inspect.Parameter, value: Any) -> bool:
    """Whether a value that is no number is allowed, or empty as an array of none may be."""
    if value is None or (isinstance(value, (tuple, list)) and not value):
        return True
    items = inspect.isgenerator(value) or (isinstance(value, dict) and not value)
    return "bool" in str(p.annotation) or (items and "Sequence" in str(p.annotation))


def _moderate(values: Any) -> bool:
    """Whether all numbers in these are finite and not huge."""
    for value in values:
        try:
            array = np.array(value, dtype=float)
        except Exception:
            continue
        if array.size and not np.all(np.abs(array) < _MODERATE):
            return False
    return True


def _finite(value: Any) -> bool:
    """Whether no number in a result is NaN."""
    if isinstance(value, (float, np.floating)):
        return not np.isnan(value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind != "f" or not np.isnan(value).any()
    if isinstance(value, (tuple, list)):
        return all(_finite(v) for v in value)
    return all(_finite(v) for v in value.values()) if isinstance(value, dict) else True


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _place(error: BaseException) -> str:
    """The innermost place of the package in an error's traceback; empty if there is none."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "tests/fuzz" not in f.filename]
    ours = [f for f in frames if any(part in f.filename for part in ("/trajopt/", "/solvers/", "/problems/"))]
    if not ours:
        return frames[-1].name if frames else ""
    last = ours[-1]
    return f"{Path(last.filename).parent.name}/{Path(last.filename).name}:{last.lineno} {last.name}"
