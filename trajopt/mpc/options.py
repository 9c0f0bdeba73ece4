"""Options of a model-predictive controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import (
    check_count,
    check_flag,
    check_instance,
    check_mapping,
    check_non_negative,
    check_positive,
)
from trajopt.errors import InvalidArgumentError, shown
from trajopt.solvers import SolverOptions
from trajopt.types import Reals

MODES = ("real-time", "converged")
ON_FAILURE = ("feedback", "solve")
HESSIANS = ("exact", "gauss-newton")

Guess = Callable[[Reals, Reals], tuple[npt.ArrayLike, npt.ArrayLike]]
"""Function from a measured state (nx,) and the times of the knots (N + 1,) [s] to xs (N + 1, nx) and us (N, nu)."""


@dataclass(frozen=True, kw_only=True)
class MPCOptions:
    """Options of MPCController.

    Attributes:
        dt: Time between measurements [s]; by default the time from the first knot to the second one. If it is
            longer, a control is held beyond the knot for which it is planned: it warns, as the loop may diverge.
        mode: "real-time" takes full SQP steps, and does all work that does not need the measurement before it arrives;
            it needs SolverSQP. "converged" solves each problem until the solver converges.
        iterations: SQP iterations of each step in mode "real-time" [-].
        hessian: Hessian of these iterations. "exact" is that of the Lagrangian, as far as all models provide it and it
            is convex. "gauss-newton" uses the costs only and takes less time. Both track references equally well; for
            motions with little cost besides effort, such as a swing-up, "gauss-newton" fails.
        time_budget: Time limit of the feedback phase [s], checked after each iteration of SQP and of its interior
            point. At the limit the best plan so far is used. None for no limit, which makes results reproducible.
        solver_options: Options of the solver, for the first solve, and in mode "converged" for all solves.
        soft: Penalties (linear, quadratic) on the violation of hard constraints that do not depend on the control,
            since a measured state may violate them [cost per unit of the row]. By default they are so high that these
            constraints are violated only if they cannot be satisfied. Soft constraints of the model keep their own.
        estimate: Parameters of the model that are estimated from the measurements, by name, each with the standard
            deviation of the problem's value [its unit], such as {"cart_mass": 0.5}; one for all elements, or one for
            each, as {"wind": [1.0, 1.0, 0.2]}. Estimates stay within three deviations and keep their sign; `reset`
            returns to the values at construction. The control of a step is taken to act at once, until the next one.
        offset_free: True to estimate a constant disturbance of the controls, such as the torques of a payload, and to
            subtract it. Plans hold the limits of controls without it; the applied control always does.
        on_failure: Behaviour after a failed step. With "feedback" further steps start from the last plan until one
            succeeds; with "solve" the next step is a full solve from the last plan. With a function from the measured
            state (nx,) and the times of the knots (N + 1,) [s] to a guess (xs, us), the step is repeated at once from
            that guess, whose first state is replaced by the measured one.
    """

    dt: float | None = None
    mode: str = "real-time"
    iterations: int = 1
    hessian: str = "exact"
    time_budget: float | None = None
    solver_options: SolverOptions | None = None
    soft: tuple[float, float] | None = None
    estimate: Mapping[str, float | Sequence[float]] = field(default_factory=dict)
    offset_free: bool = False
    on_failure: str | Guess = "feedback"

    def __post_init__(self) -> None:
        for name in ("dt", "time_budget"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_positive(name, getattr(self, name), unit="s"))
        for name, choices in (("mode", MODES), ("hessian", HESSIANS), ("on_failure", ON_FAILURE)):
            if name == "on_failure" and callable(self.on_failure):
                continue
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in choices:
                expected = " or ".join(repr(each) for each in choices)
                expected += ", or a function of (x, times)" if name == "on_failure" else ""
                raise InvalidArgumentError(f"{name}: expected {expected}, got {shown(getattr(self, name))}")
        check_count("iterations", self.iterations, least=1)
        if self.solver_options is not None:
            check_instance("solver_options", self.solver_options, SolverOptions, "such as SQPOptions(steps='linear')")
        check_flag("offset_free", self.offset_free)
        own = check_mapping("estimate", self.estimate, "write {'mass': 0.5}")
        object.__setattr__(self, "estimate", {name: _deviations(name, value) for name, value in own.items()})
        if self.soft is not None:
            self._check_soft()

    def _check_soft(self) -> None:
        if not isinstance(self.soft, (list, tuple)) or len(self.soft) != 2:
            raise InvalidArgumentError(f"soft: expected two weights (linear, quadratic), got {shown(self.soft)}")
        linear, quadratic = (check_non_negative("soft", weight) for weight in self.soft)
        if linear == quadratic == 0.0:
            raise InvalidArgumentError("soft: expected a weight > 0, got 0 and 0")
        object.__setattr__(self, "soft", (linear, quadratic))


def _deviations(name: str, value: Any) -> float | tuple[float, ...]:
    """Checked standard deviation of a parameter, or those of its elements."""
    argument = f"estimate[{name!r}]"
    if np.ndim(value) == 0:
        return check_positive(argument, value)
    if np.ndim(value) != 1 or not len(value):
        raise InvalidArgumentError(
            f"{argument}: expected a number > 0, or one for each element, got {shown(value)} of shape {np.shape(value)}"
        )
    return tuple(check_positive(f"{argument}[{i}]", each) for i, each in enumerate(value))
