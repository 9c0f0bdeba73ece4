"""Sensors of a closed loop, and the estimator that computes the state from their measurements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trajopt.checks import as_numbers
from trajopt.errors import InvalidArgumentError, shown
from trajopt.mpc.disturbance import Noise, called
from trajopt.objects.calls import wrong_call
from trajopt.states import StateAbstract
from trajopt.types import Reals

Measure = Callable[[Reals], Any]
"""Function from a state (nx,) to a measurement (ny,)."""
Estimate = Callable[[float, Reals, Reals | None], Any]
"""Function from time [s], measurement (ny,) and last control (nu,) to an estimate of the state (nx,)."""


class Sensing:
    """Measures y = h(x ⊕ noise), and estimates the state from y.

    Args:
        noise: Noise of the state that is measured.
        measure: Sensors, a function from a state (nx,) to a measurement (ny,); None to measure the state.
        estimator: Function from time [s], measurement and last control (nu,) to an estimate (nx,); None if the
            measurement is a state.
        state: The plant's state.

    Raises:
        InvalidArgumentError: `measure` or `estimator` is no such function.
    """

    def __init__(self, noise: Noise, measure: Measure | None, estimator: Estimate | None, state: StateAbstract) -> None:
        check_function("measure", measure, (None,), "a state (nx,)")
        check_function("estimator", estimator, (0.0, None, None), "time [s], measurement and last control (nu,)")
        self._noise, self._measure, self._estimator, self._state = noise, measure, estimator, state
        self._shape: tuple[int, ...] | None = None

    def begin(self, x0: Reals) -> None:
        """Tells an estimator with a method `reset` the state at the start (nx,)."""
        if (reset := getattr(self._estimator, "reset", None)) is not None:
            called("estimator.reset", reset, x0.copy())

    def measured(self, x: Reals) -> Reals:
        """Measurement (ny,) of a state (nx,).

        Raises:
            InvalidArgumentError: The sensors return no vector of finite numbers, or no state where there is no
                estimator; with one, NaN stands for what was not measured.
        """
        seen = self._noise.measured(x)
        if self._measure is None:
            return seen
        y = as_numbers("measure: result of the function", called("measure", self._measure, seen), "a vector")
        if self._shape is None:
            self._shape = y.shape
        missing = np.isnan(y) & (self._estimator is not None)
        if y.ndim != 1 or y.shape != self._shape or not np.all(np.isfinite(y) | missing):
            raise InvalidArgumentError(
                "measure: expected a vector of finite numbers, or with an estimator NaN for what was not measured, "
                f"each time of the same size, got {shown(y)}"
            )
        if self._estimator is None:
            return self._state.check(y, "measure: result without an estimator")
        return y

    def estimated(self, t: float, y: Reals, u: Reals | None) -> Reals:
        """Estimate (nx,) at a time [s] from a measurement and the last control (nu,), None at the first time.

        Raises:
            InvalidArgumentError: The estimator does not return a state.
        """
        if self._estimator is None:
            return y
        x = called("estimator", self._estimator, t, y.copy(), None if u is None else u.copy())
        return self._state.check(x, "estimator: result of the function")

    def words(self, noise: Any, seed: Any) -> str:
        """Description of noise, sensors and estimator; empty if the state itself is measured."""
        parts = [] if noise is None else [f"noise {self._noise_words(noise)}, {_seed_words(seed)}"]
        if self._measure is not None:
            parts.append(f"measured by {_name(self._measure)}")
        if self._estimator is not None:
            parts.append(f"estimated by {_name(self._estimator)}")
        return "; ".join(parts)

    def error_words(self, xs: Reals, estimates: Reals) -> str:
        """Root mean square distances of estimates (n, nx) from states (n, nx), by unit; empty without an estimator."""
        if self._estimator is None or not len(xs):
            return ""
        errors = np.array([self._state.difference(x, estimate) for x, estimate in zip(xs, estimates)])
        units = self._state.tangent_units
        sizes = {unit: errors[:, [u == unit for u in units]] for unit in dict.fromkeys(units)}
        words = [f"{np.sqrt(np.mean(np.sum(e**2, axis=1))):.2g} {unit}".removesuffix(" -") for unit, e in sizes.items()]
        return f", off by {', '.join(words)} rms"

    def _noise_words(self, noise: Any) -> str:
        if callable(noise):
            return f"by {_name(noise)}"
        deviations = np.broadcast_to(np.asarray(noise, dtype=np.float64), (self._state.ndx,))
        if np.all(deviations == deviations[0]):
            return f"{deviations[0]:g} in each coordinate"
        if len(deviations) > 8:
            return f"{deviations.min():g} to {deviations.max():g}"
        return ", ".join(f"{name} {size:g}" for name, size in zip(self._state.tangent_names, deviations))


def check_function(argument: str, function: Any, arguments: tuple[Any, ...], takes: str) -> None:
    """Checks an optional function of the caller's.

    Raises:
        InvalidArgumentError: It is no function, or takes other arguments.
    """
    if function is None:
        return
    usable = callable(function) and not isinstance(function, type)
    fault = wrong_call(function, arguments, {}) if usable else None
    if fault is not None or not usable:
        got = f"got {shown(function)}" if fault is None else fault
        raise InvalidArgumentError(f"{argument}: expected a function of {takes}; {got}")


def _name(function: Any) -> str:
    """Name of a function, or of the class of an object."""
    name = getattr(function, "__name__", "")
    return f"function {name}" if name else type(function).__name__


def _seed_words(seed: Any) -> str:
    return "a generator of the caller" if isinstance(seed, np.random.Generator) else f"seed {seed}"
