"""Residual from a CasADi function of the user."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
from casadi import SX

from trajopt.checks import check_mapping
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.instructions import expand
from trajopt.model.functions import call_user, function_of
from trajopt.model.user_code import Unknown
from trajopt.residuals.base import ResidualModelAbstract, check_row_names
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state

CONTROLS = ("u", "us", "control", "controls", "tau", "torque", "torques")
"""Names of a function's second argument that mean the control; any other name is an undeclared parameter."""


class ResidualModelSymbolic(ResidualModelAbstract):
    """Residual r = f(x), f(x, u) or f(x, u, p...) written with CasADi; it is compiled like a built-in residual.

    ```python
    def height(x, robot, floor):
        _, position = robot.frame_placement("tool")
        return position[2] - floor

    ResidualModelSymbolic(state, height, parameters={"floor": 0.1}, unit="m")
    ```

    Args:
        state: Manifold of the state.
        function: Python function of SX symbols x (nx,) and u (nu,), or a casadi.Function; it returns the residual
            (nr,). A second argument named u, or another name in `CONTROLS`, is the control; terminal costs need a
            function of x only. An argument named `robot` receives the robot's kinematics and dynamics at x, a
            `RobotExpressions`. All other arguments are parameters.
        parameters: Initial value of each run-time parameter by name. A Python function gets each by its name, a
            casadi.Function in this order after x and u.
        unit: Unit of the elements.
        names: Name of each element (nr,), such as the joints', for reports, tables and pictures; numbers by default.

    Raises:
        InvalidArgumentError: The function has wrong arguments or a wrong result, or uses other symbols, or the names
            do not fit its result.

        The function must return the same expression at each call. A residual can be pickled if its function can: a
            casadi.Function, or a Python function at the top level of a module.
    """

    not_content = ("_function",)  # the content hash covers the expressions in `_meanings` instead, see `_note`

    def __init__(
        self,
        state: StateAbstract,
        function: Callable[..., SX] | ca.Function,
        *,
        parameters: Mapping[str, Any] | None = None,
        unit: str = "-",
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(state, None, unit=unit, names=names)
        defaults = {} if parameters is None else check_mapping("parameters", parameters, "write {name: value}")
        self._symbols = {name: self.parameter(name, value) for name, value in defaults.items()}
        self._function = function
        self._meanings: dict[int, ca.Function] = {}  # r of (x, u, p...), by the number of controls
        self._steady = True
        self._unknown: Unknown | None = Unknown(function)  # None once its meanings represent it
        names = _input_names(function, self._symbols)
        missing = [name for name in self._symbols if name not in names]
        if missing and not isinstance(function, ca.Function):
            raise InvalidArgumentError(
                f"parameters: expected names of the function's arguments ({', '.join(names)}), got "
                f"{', '.join(missing)}; add arguments of these names to the function"
            )
        self._wants_robot = "robot" in names and not isinstance(function, ca.Function)
        if self._wants_robot:
            check_robot_state("an argument named robot", state)
        count = len(names) - len(self._symbols) - self._wants_robot
        if count not in (1, 2):
            raise InvalidArgumentError(
                f"function: expected arguments x or (x, u), and the parameters ({', '.join(self._symbols) or 'none'}), "
                f"got arguments ({', '.join(names)}); declare each further one with parameters={{name: value}}"
            )
        self._names = [name for name in names if name not in (*self._symbols, "robot")]
        self.uses_control = count == 2
        if count == 2 and not isinstance(function, ca.Function) and self._names[1] not in CONTROLS:
            other, place = self._names[1], names.index(self._names[1]) + 1
            raise InvalidArgumentError(
                f"function: argument {place}, {other!r}, is neither a parameter nor the control u; declare it: "
                f"parameters={{{other!r}: value}}, or rename it to u"
            )
        if not self.uses_control:
            self.nr = int(self.evaluate(Instant(state, 0)).numel())

    def size(self, nu: int) -> int:
        if self.nr is not None:
            return self.nr
        if nu not in self._meanings:
            self.evaluate(Instant(self.state, nu))
        return int(self._meanings[nu].numel_out(0))

    def evaluate(self, instant: Instant) -> SX:
        robot = {"robot": instant.robot} if self._wants_robot else {}
        try:
            if isinstance(self._function, ca.Function):
                arguments = [instant.x, instant.u] if self.uses_control else [instant.x]
                result = SX(expand(self._function)(*arguments, *self._symbols.values()))
            else:
                named = dict(zip(self._names, (instant.x, instant.u)))
                result = call_user(self._title, self._function, **named, **self._symbols, **robot)
        except (RuntimeError, TypeError, NotImplementedError, IndexError) as error:
            raise InvalidArgumentError(
                f"function: evaluation failed with x ({self.state.nx},)"
                f"{f' and u ({instant.nu},)' if self.uses_control else ''}: {type(error).__name__}: {error}; "
                "use casadi functions of the symbols (casadi.if_else instead of if) and return an SX"
            ) from error
        if result.numel() == 0 or result.shape[1] != 1:
            raise InvalidArgumentError(
                f"function: expected a column (nr, 1), got shape {result.shape}; return casadi.vec(...) of it"
            )
        if instant.derivatives:  # the expressions of a robot take another form with derivatives
            self.size(instant.nu)
        else:
            self._note(instant, result)
        return result

    @property
    def _title(self) -> str:
        """Name of the function in messages."""
        return f"function {getattr(self._function, '__qualname__', '')}".rstrip()

    def _note(self, instant: Instant, result: SX) -> None:
        """Keeps the function's expression, which the content hash covers instead of its code."""
        check_row_names(self.row_names, int(result.numel()))
        u = instant.u if self.uses_control else SX(0, 1)
        cure = "make each an argument of the function and declare it: parameters={name: value}"
        of_robot = [parameter.symbol for parameter in self.state.parameters().values()]
        meaning = function_of(self._title, [instant.x, u, *self._symbols.values(), *of_robot], [result], cure)
        first = self._meanings.setdefault(int(u.numel()), meaning)
        self._steady = self._steady and first.serialize() == meaning.serialize()
        self._unknown = None if self._steady else Unknown(self._function)


def _input_names(function: Any, parameters: Mapping[str, SX]) -> list[str]:
    """Names of a function's arguments, without those that keep their default values."""
    if isinstance(function, ca.Function):
        return [function.name_in(i) for i in range(function.n_in())]
    if not callable(function):
        raise InvalidArgumentError(f"function: expected a Python function or a casadi.Function, got {function!r}")
    inputs = inspect.signature(function).parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in inputs):
        raise InvalidArgumentError(
            "function: expected named arguments such as (x, u), got *args or **kwargs; name each argument"
        )
    return [p.name for p in inputs if p.default is p.empty or p.name in parameters]
