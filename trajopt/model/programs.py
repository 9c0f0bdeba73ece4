"""Stored programs: each is built once and kept with its model, and in the disk cache for later processes.

Building the expressions of a robot takes longer than loading their machine code. The key of a cache entry covers
everything that determines the program: content and source code of the model, versions of the libraries, and the
processor (CasADi computes constants with the C library). A model without a content hash is rebuilt in every process.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import casadi as ca
import numpy as np
import pinocchio as pin

from trajopt import cache
from trajopt.errors import ModelEvaluationError, shown_numbers
from trajopt.kernels import compiler, notice
from trajopt.kernels.interrupts import Heard
from trajopt.kernels.program import Program
from trajopt.kernels.single_call import SingleCall
from trajopt.model import content, stored_expressions
from trajopt.model.base import Model
from trajopt.types import Reals

T = TypeVar("T")

_CONTENT = "content hash of the model at its first program"


def kept(model: Model, name: Hashable, build: Callable[[], T], *, about: Sequence[Any] | None = None) -> T:
    """Result of `build` for a model; it is built once and then taken from the model or the disk cache.

    Args:
        model: The model.
        name: Name of the result; its repr is part of the key.
        build: Function that builds a program, or an object with programs that can be pickled.
        about: Objects on which the result depends; by default the whole model.
    """
    if name not in model.built:
        with Heard():
            built = _loaded(lambda: _key(model, name, about), build, label_of(model, name))
        model.built[name] = built
    result: T = model.built[name]
    return result


def label_of(model: Model, name: Hashable) -> str:
    """Name of a result for messages, such as "dynamics of go2"; a model without a robot is named by its class."""
    words = name if isinstance(name, tuple) else (name,)
    what = words[1] if words[0] == "part" else words[0]
    robot = getattr(getattr(model, "state", None), "robot", None)
    return f"{what} of {type(model).__name__ if robot is None else robot.name}"


def _loaded(key: Callable[[], str | None], build: Callable[[], T], label: str) -> T:
    entry = key()
    if entry is None:
        return _build(build, label)
    stored = cache.load(entry)
    if stored is not None:
        with contextlib.suppress(stored_expressions.MissingError):
            result: T = stored_expressions.loads(stored)  # the cache has verified that trajopt wrote it
            return result
    result = _build(build, label)
    if key() == entry:  # the build has not changed the content of the model
        cache.store(entry, stored_expressions.dumps(result), f"{cache.PROGRAM}: {label}")
    return result


def _build(build: Callable[[], T], label: str) -> T:
    # After an interrupt that CasADi has swallowed, nothing may be stored.
    with notice.Working("building", [label]), Heard():
        return build()


def _key(model: Model, name: Hashable, about: Sequence[Any] | None) -> str | None:
    """Key of the entry in the disk cache; None if the result cannot be stored."""
    if cache.directory() is None:
        return None
    try:
        if about is not None:
            return _entry(name, content.content_hash(about))
        now = content.content_hash((model,))
    except (content.UnknownContentError, RecursionError):
        return None
    if model.built.setdefault(_CONTENT, now) != now:  # the model has changed, so earlier results may be outdated
        return None
    return _entry(name, now)


def _entry(name: Hashable, about: str) -> str:
    return cache.key("program", repr(name), about, _libraries(), compiler.target_description())


def _libraries() -> str:
    """Versions and settings of the libraries that build expressions."""
    versions = (sys.version, ca.CasadiMeta.version(), ca.CasadiMeta.git_revision(), pin.printVersion(), np.__version__)
    options = ca.GlobalOptions
    settings = (options.getSimplificationOnTheFly(), options.getHierarchicalSparsity(), options.getMaxNumDir())
    return repr((versions, settings))


def outputs_at(
    model: Model, program: Program, x: Reals, u: Reals | None = None, *, compiled: bool = False
) -> tuple[Reals, ...]:
    """Outputs of a program of (x, u, parameters) at the model's initial parameter values, for inspection.

    Args:
        model: The model.
        program: The program; a status, if any, is its last output and is left out here.
        x: State (nx,).
        u: Control (nu,); None if it is not an input.
        compiled: Whether to compile the program, once, instead of evaluating it step by step.

    Raises:
        ModelEvaluationError: A step of the program has failed.
    """
    run = _compiled(model, program) if compiled else program.evaluate
    outputs = run(*((x,) if u is None else (x, u)), model.layout.column())
    if program.status is None:
        return outputs
    *outputs_left, status = outputs
    if status.item() != 0.0:
        raise no_solution(model, status.item(), x, u)
    return tuple(outputs_left)


def _compiled(model: Model, program: Program) -> SingleCall:
    """Compiled call of a program of this model alone; it is created once."""
    key = "compiled", id(program)  # the model keeps the program as well
    if key not in model.built:
        model.built[key] = SingleCall(program)
    call: SingleCall = model.built[key]
    return call


def no_solution(model: Model, residual: float, x: Reals, u: Reals | None, knot: str = "") -> ModelEvaluationError:
    """Error for a failed step of a model; its message begins with `knot`."""
    at = f"x = {shown_numbers(x)}" + ("" if u is None else f", u = {shown_numbers(u)}")
    return ModelEvaluationError(
        f"{knot}{type(model).__name__} found no solution of an equation that it solves (residual {residual:.3g}) at "
        f"{at}; start from a better guess, or take shorter steps"
    )
