"""Finite-difference derivatives for models that have values only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trajopt.actions.base import ActionModelAbstract, check_methods
from trajopt.actions.black_box_errors import class_name
from trajopt.actions.data import ActionData
from trajopt.errors import InvalidArgumentError, ModelEvaluationError
from trajopt.types import Reals

_FIRST = np.finfo(float).eps ** (1 / 3)  # step of central first differences
_SECOND = np.finfo(float).eps ** (1 / 4)  # step of central second differences


class ActionModelNumDiff(ActionModelAbstract):
    """Adds derivatives to any action model by central differences in the tangent space.

    First derivatives have a relative error of about 1e-9, Hessians of about 1e-7. Hessians are exact, not
    Gauss-Newton. A knot takes 2 (ndx + nu) + 2 (ndx + nu)² evaluations: use it for prototypes and to check
    derivatives. The wrapper is a black box: run-time parameters of the model keep their initial values. Only the
    parameters of its constraints can change; the derivatives of constraints are exact.

    Args:
        model: The model, of which only `calc` and the constraints are used.

    Raises:
        InvalidArgumentError: `model` is not an action model, or its constraints depend on contact forces or
            accelerations, or have rows at stages.
    """

    def __init__(self, model: ActionModelAbstract) -> None:
        if not isinstance(model, ActionModelAbstract):
            raise InvalidArgumentError(
                f"model: expected an action model, got {model!r}; wrap a differential model in an integrator first"
            )
        check_methods(model)
        if model.row_blocks != model.end_blocks:
            raise InvalidArgumentError(
                f"model: expected constraint rows at the knot, got {type(model).__name__} with rows at stages; use "
                "rows='knot'"
            )
        names, units = model.control_names, model.control_units
        bounds = {"lower": model.lower, "upper": model.upper}
        super().__init__(
            model.state, model.nu, **bounds, constraints=model.constraints, control_names=names, control_units=units
        )
        self.model = model
        self.instantaneous, self.cost_time = model.instantaneous, model.cost_time

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        has_derivatives = type(self.model).calc_diff is not ActionModelAbstract.calc_diff
        return self.model.quasi_static(x) if has_derivatives else super().quasi_static(x)

    def time_step(self) -> float | None:
        return self.model.time_step()

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        self.model.calc(data, x, u)

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        n, m = self.state.ndx, 0 if u is None else self.nu
        probe = self.model.create_data()
        control = np.zeros(0) if u is None else u

        def at(z: Reals) -> tuple[Reals, float]:
            probe.forget()
            self.model.calc(probe, self.state.integrate(x, z[:n]), None if u is None else control + z[n:])
            self._check(probe, x, u)
            return probe.xnext.copy(), float(probe.cost)

        unit = np.eye(n + m)
        jacobian, gradient, hessian = np.zeros((n, n + m)), np.zeros(n + m), np.zeros((n + m, n + m))
        for i in range(n + m):
            (x_plus, plus), (x_minus, minus) = at(_FIRST * unit[i]), at(-_FIRST * unit[i])
            gradient[i] = (plus - minus) / (2 * _FIRST)
            if u is not None:
                ahead, behind = self.state.difference(data.xnext, x_plus), self.state.difference(data.xnext, x_minus)
                jacobian[:, i] = (ahead - behind) / (2 * _FIRST)
            for j in range(i + 1):
                a, b = _SECOND * (unit[i] + unit[j]), _SECOND * (unit[i] - unit[j])
                second = (at(a)[1] - at(b)[1] - at(-b)[1] + at(-a)[1]) / (4 * _SECOND**2)
                hessian[i, j] = hessian[j, i] = second
        data.Lx, data.Lxx = gradient[:n], hessian[:n, :n]
        if u is not None:
            data.Fx, data.Fu, data.Lu = jacobian[:, :n], jacobian[:, n:], gradient[n:]
            data.Lxu, data.Luu = hessian[:n, n:], hessian[n:, n:]

    def _check(self, probe: ActionData, x: Reals, u: Reals | None) -> None:
        """Raises ModelEvaluationError unless `calc` has set all results, to finite values, at a shifted point."""
        name = class_name(self)
        forgotten = probe.forgotten(end=u is None)
        if forgotten:
            raise ModelEvaluationError(f"{name}.calc has not set {forgotten}")
        if u is not None and not np.all(np.isfinite(probe.xnext)):
            raise ModelEvaluationError(
                f"{name}.calc set data.xnext to a value that is not finite near x = {x}, u = {u}; central differences "
                "need finite values on both sides"
            )
