"""A residual from a user's CasADi function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
from casadi import SX

from trajopt.errors import InvalidArgumentError
from trajopt.expressions import Instant
from trajopt.kernels.instructions import expand
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.states.base import StateAbstract


class ResidualModelSymbolic(ResidualModelAbstract):
    """Residual r = f(x), f(x, u) or f(x, u, p...), written with CasADi; it runs at the speed of a built-in one.

    Args:
        state: The state's manifold.
        function: A Python function of SX symbols x (nx,) and u (nu,), or a casadi.Function, that returns the residual
            (nr,). A function of x alone may be used in terminal costs. Further inputs are parameters.
        parameters: First value of each run-time parameter by name; each is passed to `function` by its name, or in this
            order after x and u if it is a casadi.Function.
        unit: Unit of its elements.

    Raises:
        InvalidArgumentError: The function's inputs or output do not fit.

    A Python function pickles only if it is defined at the top of a module; a casadi.Function always does.
    """

    def __init__(
        self,
        state: StateAbstract,
        function: Callable[..., SX] | ca.Function,
        *,
        parameters: Mapping[str, Any] | None = None,
        unit: str = "-",
    ) -> None:
        self._values = dict(parameters or {})
        self._symbols = {name: self.parameter(name, value) for name, value in self._values.items()}
        self._function = function
        inputs = self._count_inputs()
        if inputs not in (1, 2):
            raise InvalidArgumentError(
                f"function: expected inputs x or (x, u){' and the parameters' if self._values else ''}, "
                f"got {inputs + len(self._values)} inputs in all"
            )
        self.uses_control = inputs == 2
        super().__init__(state, None if self.uses_control else self._size(state), unit=unit)

    def _count_inputs(self) -> int:
        if isinstance(self._function, ca.Function):
            return int(self._function.n_in()) - len(self._values)
        if not callable(self._function):
            raise InvalidArgumentError(f"function: expected a function of SX symbols, got {self._function!r}")
        names = list(inspect.signature(self._function).parameters)
        missing = [n for n in self._values if n not in names]
        if missing:
            raise InvalidArgumentError(f"parameters: {missing} are not arguments of the function ({', '.join(names)})")
        return len(names) - len(self._values)

    def _size(self, state: StateAbstract) -> int:
        return int(self._call(state, SX.sym("x", state.nx), SX(0, 1)).numel())

    def _call(self, state: StateAbstract, x: SX, u: SX) -> SX:
        arguments = [x, u] if self.uses_control else [x]
        try:
            if isinstance(self._function, ca.Function):
                result = expand(self._function)(*arguments, *self._symbols.values())
            else:
                result = self._function(*arguments, **self._symbols)
            result = SX(result)
        except (RuntimeError, TypeError, NotImplementedError, IndexError) as error:
            raise InvalidArgumentError(
                f"function: cannot be evaluated at x of size {state.nx}"
                f"{f' and u of size {u.numel()}' if self.uses_control else ''}: {error}"
            ) from error
        if result.numel() == 0 or result.shape[1] != 1:
            raise InvalidArgumentError(f"function: expected a column (nr, 1) as its value, got shape {result.shape}")
        return result

    def evaluate(self, instant: Instant) -> SX:
        return self._call(self.state, instant.x, instant.u)
