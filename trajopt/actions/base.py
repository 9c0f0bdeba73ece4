"""The interface of action models: one knot of a shooting problem, dynamics and cost.

Subclass `ActionModelAbstract` and write `calc` and `calc_diff` with numpy for a black box (or only `calc`, and wrap it
in `ActionModelNumDiff`). Models that are expressions derive from `ActionModelExpression` and are compiled.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.actions.data import ActionData
from trajopt.checks import check_array, check_bounds, check_count, check_texts
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.model.base import Model
from trajopt.states.base import StateAbstract
from trajopt.types import Reals


class ActionModelAbstract(Model):
    """x⁺ = f(x, u) with cost l(x, u); at the end of a horizon, the cost l(x) alone.

    Args:
        state: The state's manifold.
        nu: Number of controls [-].
        lower: Lower limits of the controls (nu,), for plots and for solvers that know limits; none by default.
        upper: Upper limits of the controls (nu,); none by default.
        control_names: Name of each control, for plots; u0, u1, ... by default.
        control_units: Unit of each control, for plots; "-" by default.

    Attributes:
        instantaneous: Whether the knot takes no time by nature, as an impulse does; then `time_step` may be 0.

    Raises:
        InvalidArgumentError: An argument has the wrong type or size.
    """

    instantaneous = False
    keeps_state = True  # a black box may change the attributes that its __init__ has set

    def __init__(
        self,
        state: StateAbstract,
        nu: int,
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        control_names: list[str] | None = None,
        control_units: list[str] | None = None,
    ) -> None:
        if not isinstance(state, StateAbstract):
            raise InvalidArgumentError(f"state: expected StateVector(nx) or StateMultibody(robot), got {state!r}")
        self.state = state
        self.nu = check_count("nu", nu, most=10_000)
        self.lower = np.full(nu, -np.inf) if lower is None else check_bounds("lower", lower, self.nu)
        self.upper = np.full(nu, np.inf) if upper is None else check_bounds("upper", upper, self.nu)
        self.control_names = check_names("control_names", control_names, self.nu)
        self.control_units = check_units("control_units", control_units, self.nu)

    def _may_be_set(self, name: str) -> bool:
        if self.keeps_state and name not in ("state", "nu"):
            member = getattr(type(self), name, self)
            return name in self.__dict__ or (member is not self and not hasattr(member, "__get__"))
        return super()._may_be_set(name)

    @property
    def nc(self) -> int:
        """Number of constraint rows [-]; a black box has none."""
        return 0

    def create_data(self) -> ActionData:
        """Arrays for one evaluation."""
        return ActionData(self.state.nx, self.state.ndx, self.nu)

    @abstractmethod
    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        """Sets `data.xnext` and `data.cost`.

        Args:
            data: Where the result goes.
            x: State (nx,).
            u: Control (nu,); None at the end of the horizon, where only the cost is asked.
        """

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        """Sets the derivatives in `data`, of which Fx, Fu, Lu, Lxu, Luu are not asked where u is None.

        Args:
            data: Where the result goes; `calc` was called on it with the same x and u.
            x: State (nx,).
            u: Control (nu,), or None.
        """
        name = type(self).__name__
        raise UnsupportedOperationError(
            f"{name} has no derivatives: write calc_diff, or use ActionModelNumDiff({name}(...))"
        )

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        """Control (nu,) that keeps the system where it is, with velocities set to zero, as well as it can.

        Gauss-Newton on f(x, u) ⊖ x over u, from zero. Models with a closed form use that.

        Args:
            x: State (nx,).
            parameters: Values of run-time parameters by name that a closed form uses; the first ones by default.
        """
        u, data, still = np.zeros(self.nu), self.create_data(), self.state.at_rest(x)
        for _ in range(20):
            self.calc(data, still, u)
            self.calc_diff(data, still, u)
            step = np.linalg.lstsq(data.Fu, self.state.difference(data.xnext, still), rcond=None)[0]
            u = u + step
            if not np.abs(step).max(initial=0.0) > 1e-9 * max(1.0, np.abs(u).max(initial=0.0)):
                break
        return u if np.all(np.isfinite(u)) else np.zeros(self.nu)

    def time_step(self) -> float | None:
        """First value of the knot's duration [s], its parameter `dt`; None if it has none."""
        dt = self.parameters().get("dt")
        return None if dt is None else float(dt.default)

    def cost_terms(self, x: Reals, u: Reals | None) -> dict[str, float]:
        """Contribution of each named term to the cost [cost]; a black box has one, "cost", unless it gives others."""
        data = self.create_data()
        self.calc(data, x, u)
        return {"cost": float(data.cost)}

    def _checked(self, x: Any, u: Any) -> tuple[Reals, Reals | None]:
        x = self.state.check(x, "x")
        return x, None if u is None else check_array("u", u, (self.nu,))


def check_names(argument: str, names: list[str] | None, size: int) -> list[str]:
    """Names of `size` controls; u0, u1, ... if there are none.

    Raises:
        InvalidArgumentError: Their number is wrong.
    """
    if names is None:
        return [f"u{i}" for i in range(size)]
    texts = check_texts(argument, names)
    if len(texts) != size:
        raise InvalidArgumentError(f"{argument}: expected {size} names, one a control, got {list(texts)}")
    return list(texts)


def check_units(argument: str, units: list[str] | None, size: int) -> list[str]:
    """Units of `size` controls; "-" if there are none.

    Raises:
        InvalidArgumentError: Their number is wrong.
    """
    if units is None:
        return ["-"] * size
    texts = check_texts(argument, units)
    if len(texts) != size:
        raise InvalidArgumentError(f"{argument}: expected {size} units, one a control, got {list(texts)}")
    return list(texts)
