"""Checks of the arguments of `ShootingProblem`: models, initial state, start, trajectories."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trajopt.actions.base import ActionModelAbstract, check_methods
from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.checks import all_finite, check_array, check_bounds, check_items, shape_of, unwrapped
from trajopt.errors import InvalidArgumentError
from trajopt.shooting.kinds import Kind
from trajopt.states.base import StateAbstract
from trajopt.states.degrees import looks_like_degrees
from trajopt.states.unlike import unlike
from trajopt.types import Reals

_logger = logging.getLogger(__name__)

Start = Literal["fixed", "free"] | tuple[Reals, Reals]
StartLike = Literal["fixed", "free"] | tuple[npt.ArrayLike, npt.ArrayLike]


def check_length(argument: str, value: Any, length: int, what: str) -> None:
    """Raises InvalidArgumentError unless `value` has this length."""
    try:
        got = len(value)
    except TypeError as error:
        raise InvalidArgumentError(f"{argument}: expected {length} {what}, got {value!r}") from error
    if got != length:
        raise InvalidArgumentError(f"{argument}: expected {length} {what}, got {got}")


def as_list(running: Any) -> list[Any]:
    """Returns the running models as a new list; raises InvalidArgumentError unless they are a list or tuple."""
    if not isinstance(running, (list, tuple)):
        raise InvalidArgumentError(
            f"running: expected a list of action models, one per knot, got {type(running).__name__}; write [model] * T"
        )
    return list(running)


def check_models(running: Sequence[Any], terminal: Any) -> None:
    """Raises InvalidArgumentError unless these are action models of one state, fit to be running and terminal knots."""
    models = {**{f"running[{t}]": model for t, model in enumerate(running)}, "terminal": terminal}
    first, like = next(iter(models.items()))
    for name, model in models.items():
        if not isinstance(model, ActionModelAbstract):
            raise InvalidArgumentError(f"{name}: expected an action model{_cure(name, model)}")
        if model.state != like.state:
            same = repr(like.state) == repr(model.state)
            raise InvalidArgumentError(
                f"{name}: expected the same state as {first}, {like.state!r}, got "
                f"{f'another one{unlike(like.state, model.state)}' if same else repr(model.state)}"
            )
        check_methods(model)
        if name != "terminal":
            _check_running(name, model)


def _cure(name: str, model: object) -> str:
    """End of the message about an argument that is not an action model."""
    if isinstance(model, DifferentialActionModelAbstract):
        return f", got {type(model).__name__}; discretise it: IntegratedActionModelEuler(model, dt=...)"
    if name == "terminal":
        return f" or a CostStack, got {model!r}; without a terminal cost, pass an empty CostStack(state)"
    return f", got {model!r}"


def _check_running(name: str, model: ActionModelAbstract) -> None:
    if isinstance(model, ActionModelTerminal):
        raise InvalidArgumentError(
            f"{name}: expected a model with dynamics, got a terminal cost stack; pass it as terminal"
        )
    step = model.time_step()
    if step is not None and not step > 0 and not model.instantaneous:
        raise InvalidArgumentError(f"{name}: expected a time step dt > 0 [s], got {step:g}")


def check_x0(x0: Any, state: StateAbstract) -> Reals:
    """Returns the initial state (nx,) as a read-only array.

    Raises:
        InvalidArgumentError: It is not a state.
    """
    checked = state.check(x0, "x0")
    checked.flags.writeable = False
    return checked


def warn_of_degrees(x0: Reals, state: StateAbstract, origin: Any = None) -> None:
    """Warns if an angle of an initial state (nx,) looks like degrees.

    Args:
        x0: The initial state.
        state: Its manifold.
        origin: The argument that it comes from; the read-only x0 of another problem has had its warning.
    """
    if isinstance(origin, np.ndarray) and not origin.flags.writeable:
        return
    words = looks_like_degrees(state, x0)
    if words:
        _logger.warning("x0: %s", words)


def check_start(start: Any, state: StateAbstract) -> Start:
    """Returns a problem's start; bounds become read-only arrays (ndx,).

    Raises:
        InvalidArgumentError: It is neither "fixed" nor "free" nor a pair of bounds that admit a state.
    """
    if isinstance(start, str) and start in ("fixed", "free"):
        return start  # type: ignore[return-value]
    if not isinstance(start, (tuple, list)) or len(start) != 2:
        raise InvalidArgumentError(f"start: expected 'fixed', 'free' or bounds (lower, upper), got {start!r}")
    lower, upper = (check_bounds(f"start[{i}]", bound, state.ndx) for i, bound in enumerate(start))
    empty = np.flatnonzero((lower > upper) | (lower == np.inf) | (upper == -np.inf))
    if empty.size:
        i = int(empty[0])
        raise InvalidArgumentError(
            f"start: expected lower <= upper with a finite number between, got {lower[i]} and {upper[i]} for "
            f"{state.tangent_names[i]!r} (index {i})"
        )
    lower.flags.writeable = upper.flags.writeable = False
    return lower, upper


def as_states(xs: Any, count: int, state: StateAbstract, what: str = "states (T + 1)") -> Reals:
    """Returns states as a new array (count, nx).

    Raises:
        InvalidArgumentError: The size is wrong, or a row is not a state.
    """
    check_length("xs", xs := unwrapped(xs), count, what)
    states = _as_rows(xs, (count, state.nx))
    if states is None or not state.are_states(states):
        return np.array([state.check(x, f"xs[{t}]") for t, x in enumerate(check_items("xs", xs, "states"))])
    return states


def as_controls(us: Any, kinds: Sequence[Kind], T: int, nu: int) -> Reals:
    """Returns controls as a new array (T, nu), with zeros for controls that a knot does not have.

    Args:
        us: One row per knot, of size nu or of the number of controls of the knot's model.
        kinds: Kinds of the running knots.
        T: Number of running knots.
        nu: Largest number of controls of a knot.

    Raises:
        InvalidArgumentError: A size is wrong, or a value is not finite.
    """
    check_length("us", us := unwrapped(us), T, "controls (T)")
    controls = _as_rows(us, (T, nu))
    if controls is None or not all_finite(controls):
        controls = np.zeros((T, nu))
        sizes = {t: kind.model.nu for kind in kinds for t in kind.knots}
        for t, u in enumerate(check_items("us", us, "controls")):
            size = nu if shape_of(u) == (nu,) else sizes[t]  # a padded row, or one of the model's size
            cure = f"the model of knot {t} has {sizes[t]} control{'s' * (sizes[t] != 1)}"
            controls[t, : sizes[t]] = check_array(f"us[{t}]", u, (size,), cure=cure)[: sizes[t]]
    for kind in kinds:
        if kind.model.nu < nu:
            controls[kind.knots, kind.model.nu :] = 0.0
    return controls


def _as_rows(value: Any, shape: tuple[int, int]) -> Reals | None:
    """Returns a copy as an array of this shape if `value` is one, or a list of its rows; else None."""
    alike = type(value) is np.ndarray or all(type(row) is np.ndarray and row.shape == shape[1:] for row in value)
    if not alike or shape_of(value) != shape:
        return None
    rows = np.asarray(value)
    return np.array(rows, dtype=np.float64) if rows.dtype.kind in "fiu" else None
