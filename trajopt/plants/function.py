"""Plant from a function (x, u, dt) -> x_next."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from trajopt.errors import InvalidArgumentError, ModelEvaluationError, pass_on_signal
from trajopt.plants.base import PlantAbstract
from trajopt.states import StateAbstract
from trajopt.types import Reals


class FunctionPlant(PlantAbstract):
    """Plant from a function (x, u, dt) -> x_next.

    Args:
        function: The function.
        state: The controller's state.

    Raises:
        InvalidArgumentError: The function does not take three arguments.
    """

    def __init__(self, function: Callable[[Reals, Reals, float], Any], state: StateAbstract) -> None:
        self._function, self._state = function, state
        try:
            inspect.signature(function).bind(None, None, 0.0)
        except TypeError:
            raise InvalidArgumentError(
                f"plant: expected a function (x, u, dt) -> x_next, got one of {inspect.signature(function)}; it takes "
                "the state, the control and the time for which the control holds [s]"
            ) from None
        except ValueError:  # functions in C have no signature
            pass

    def step(self, x: Reals, u: Reals, dt: float, torque: Reals | None = None) -> Reals:
        try:
            xnext = self._function(x.copy(), u.copy(), dt)
        except Exception as error:
            pass_on_signal(error)
            raise ModelEvaluationError(f"plant: the function raised {type(error).__name__}: {error}") from error
        return self._state.check(xnext, "plant: next state")
