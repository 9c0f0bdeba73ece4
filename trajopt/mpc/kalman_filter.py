"""Extended Kalman filter of a state, with an action model as its prediction."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from casadi import DM, SX

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.analysis.noise import check_covariance, factors_of
from trajopt.checks import as_numbers, check_array, check_instance, check_shape
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError, function_raised, shown
from trajopt.mpc.estimator import Estimator
from trajopt.objects.immutable import Immutable
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.types import Reals

SLIGHT = 1e-6  # change of a coordinate for a derivative of the measurement


class KalmanFilter(Immutable):
    """Extended Kalman filter of the state x with covariance P in tangent coordinates.

    `predict(u)` moves both by a knot of the model, x⁺ = f(x, u) and P⁺ = Fx P Fxᵀ + Fu V Fuᵀ + Q; `update(y)` corrects
    them by a measurement y = h(x), of which elements that are NaN were not measured. The filter is an estimator of
    `mpc.simulate(..., estimator=filter)`, which calls it with time, measurement and last control, and resets it at the
    start. It computes with a root of P, so that `first` may be so large that it means "not known".

    Args:
        model: Action model of one step from a measurement to the next, such as a knot with the controller's period.
        noise: Standard deviation of each element of the measurement, a number or (ny,), > 0.
        process: Standard deviation of what the model does not know, of each tangent coordinate a step, a number or
            (ndx,), >= 0. Too small a number makes the filter believe a wrong model.
        control_noise: Standard deviation of the controls, a number or (nu,), >= 0, such as that of wheel rates.
        measure: Function h from the state (nx,) to what the sensors would read without noise and rounding (ny,). By
            default the state is measured.
        angles: Elements of the measurement that are angles [rad], whose differences are at most half a turn.
        first: Standard deviation of the state at the start, a number or (ndx,), >= 0.
        estimator: `controller.estimator`, whose estimated parameters and disturbance of the controls each prediction
            uses; by default the model keeps its own parameters, without a disturbance.

    Raises:
        InvalidArgumentError: An argument has the wrong type, size or sign.

    Source: Simon, Optimal State Estimation (2006), chapters 6.4 and 13.2; Thrun, Burgard, Fox, Probabilistic Robotics
    (2005), chapter 7.
    """

    def __init__(
        self,
        model: ActionModelAbstract,
        *,
        noise: npt.ArrayLike,
        process: npt.ArrayLike = 0.0,
        control_noise: npt.ArrayLike = 0.0,
        measure: Callable[[Reals], Any] | None = None,
        angles: Sequence[int] = (),
        first: npt.ArrayLike = 0.0,
        estimator: Estimator | None = None,
    ) -> None:
        if not isinstance(model, ActionModelAbstract):
            raise InvalidArgumentError(f"model: expected an action model, such as a knot, got {shown(model)}")
        own = {"noise": noise, "process": process, "control_noise": control_noise, "first": first}
        more = {"measure": measure, "angles": angles, "estimator": estimator}
        self._given: tuple[Any, dict[str, Any]] = model, {**own, **more}
        if measure is not None and not callable(measure):
            raise InvalidArgumentError(f"measure: expected a function of the state (nx,), got {shown(measure)}")
        self._problem = ShootingProblem(model.state.zero(), [model], ActionModelTerminal(CostStack(model.state)))
        self._evaluator, self._estimator = Evaluator(self._problem), _checked(estimator, model)
        self._state, self._measure, ndx, nu = model.state, measure, model.state.ndx, model.nu
        self._x, self._angles = model.state.zero(), list(angles)
        size = ndx if measure is None else self._seen(self.x).size
        if not all(isinstance(i, (int, np.integer)) and 0 <= i < size for i in self._angles):
            raise InvalidArgumentError(f"angles: expected indices of {size} elements of the measurement, got {angles}")
        self._noise, self._process = _deviations("noise", noise, size), _deviations("process", process, ndx)
        self._pushes, self._first = _deviations("control_noise", control_noise, nu), _deviations("first", first, ndx)
        if not np.all(self._noise > 0.0):
            raise InvalidArgumentError(f"noise: expected deviations > 0, got {shown(noise)}")
        self._root = np.diag(self._first)  # P = rootᵀ root

    @property
    def x(self) -> Reals:
        """Estimate of the state (nx,)."""
        return self._x

    @x.setter
    def x(self, x: npt.ArrayLike) -> None:
        self._x = self._state.check(x, "x").copy()

    @property
    def P(self) -> Reals:
        """Covariance of the estimate in tangent coordinates (ndx, ndx), to be set as a whole."""
        covariance = self._root.T @ self._root
        covariance.flags.writeable = False
        return covariance

    @P.setter
    def P(self, P: npt.ArrayLike) -> None:
        self._root = factors_of(check_covariance("P", check_array("P", P, self._root.shape))).T

    def __reduce__(self) -> tuple[Any, ...]:
        model, own = self._given
        return functools.partial(type(self), **own), (model,), {"_x": self._x, "_root": self._root}

    def reset(self, x0: npt.ArrayLike) -> None:
        """Begins anew at a state (nx,)."""
        self._x, self._root = self._state.check(x0, "x0").copy(), np.diag(self._first)

    def predict(self, u: npt.ArrayLike) -> Reals:
        """Moves the estimate by a step with control u (nu,); returns it (nx,).

        Raises:
            ModelEvaluationError: The model has no finite step there.
        """
        e, known = self._evaluator, self._estimator
        e.xs[:], e.us[0] = self.x, check_array("u", u, self._pushes.shape)
        if known is not None:
            e.us[0] += known.disturbance
            for name, value in known.values().items():
                self._problem.set_parameter(name, value)
        e.expand(None)
        e.check_finite()
        Fx, Fu = np.split(e.full()[0][0], [len(self._root)], axis=1)
        parts = [self._root @ Fx.T, (Fu * self._pushes).T, np.diag(self._process)]
        self._x, self._root = e.xnext[0].copy(), _triangle(np.concatenate(parts))
        return self.x.copy()

    def update(self, y: npt.ArrayLike) -> Reals:
        """Corrects the estimate by a measurement y (ny,), NaN where nothing was measured; returns it (nx,).

        Without `measure`, a rotation or a position in space of which an element is NaN was not measured. The position
        and the orientation of a base may be missing each for itself.

        Raises:
            InvalidArgumentError: `y` has a wrong size or is infinite, one of its rotations is not normalised, or
                `measure` returns no finite number for an element that was measured.
        """
        seen = self.x if self._measure is None else self._seen(self.x)
        y = check_shape("y", y, seen.shape)
        check_array("y", np.where(np.isnan(y), 0.0, y), y.shape)
        if self._measure is None:
            y, there = self._completed(y)
            error, H = self._state.difference_unchecked(self.x, y), np.eye(self._state.ndx)
        else:
            error, H, there = y - seen, self._derivative(), ~np.isnan(y)
        error, H, noise = self._wrapped(error)[there], H[there], self._noise[there]
        if not (np.isfinite(error).all() and np.isfinite(H).all()):
            raise InvalidArgumentError(f"measure: expected finite numbers where y has some, got {shown(seen)}")
        n, old = len(noise), self._root
        root = _triangle(np.block([[old @ H.T, old], [np.diag(noise), np.zeros((n, len(old)))]]))
        S, W = np.split(root[:n], [n], axis=1)  # SᵀS = H P Hᵀ + R, SᵀW = H P
        self._x, self._root = self._state.integrate_unchecked(self.x, W.T @ np.linalg.solve(S.T, error)), root[n:, n:]
        return self.x.copy()

    def __call__(self, t: float, y: npt.ArrayLike, u: npt.ArrayLike | None) -> Reals:
        """Predicts with the last control (nu,), if there is one, and corrects by a measurement (ny,) at time t [s]."""
        if u is not None:
            self.predict(u)
        return self.update(y)

    def _completed(self, y: Reals) -> tuple[Reals, npt.NDArray[np.bool_]]:
        """A measured state (nx,) with the estimate's parts where it has NaN, and its measured tangent coordinates."""
        parts, moves = self._parts
        absent = np.isin(parts, parts[np.isnan(y)])
        return self._state.check(np.where(absent, self.x, y), "y"), absent @ moves == 0.0

    @functools.cached_property
    def _parts(self) -> tuple[npt.NDArray[np.int32], Reals]:
        """Index of each coordinate's part (nx,), and 1 where a tangent coordinate moves a coordinate (nx, ndx).

        Coordinates that a tangent coordinate moves together are one part: a position, a rotation, or an element alone.
        """
        from scipy.sparse.csgraph import connected_components

        basis = self._state.sx_tangent_basis(SX.sym("x", self._state.nx))
        moves = DM(basis.sparsity(), 1.0).full()
        return connected_components(moves @ moves.T)[1], moves

    def _seen(self, x: Reals) -> Reals:
        assert self._measure is not None
        try:
            seen = self._measure(x.copy())
        except Exception as error:
            raise function_raised("measure", error) from error
        return np.atleast_1d(as_numbers("measure: result of the function", seen, "a vector"))

    def _wrapped(self, change: Reals) -> Reals:
        """A change (ny,) of the measurement, with its angles turned to at most half a turn."""
        change[self._angles] = np.remainder(change[self._angles] + np.pi, 2.0 * np.pi) - np.pi
        return change

    def _derivative(self) -> Reals:
        """Derivative of the measurement by the state (ny, ndx), by central differences."""
        H = np.empty((self._noise.size, self._state.ndx))
        for j, d in enumerate(SLIGHT * np.eye(self._state.ndx)):
            after, before = (self._seen(self._state.integrate_unchecked(self.x, sign * d)) for sign in (1.0, -1.0))
            H[:, j] = self._wrapped(after - before) / (2.0 * SLIGHT)
        return H


def _checked(estimator: Any, model: ActionModelAbstract) -> Estimator | None:
    """An estimator whose parameters the model has.

    Raises:
        InvalidArgumentError: It is no estimator, or the model lacks one of its parameters or controls.
    """
    if estimator is None:
        return None
    cure = "pass controller.estimator of MPCOptions(estimate={...})"
    known: Estimator = check_instance("estimator", estimator, Estimator, cure)
    missing = [name for name in known.parameters if name not in model.parameters()]
    if missing or known.disturbance.size != model.nu:
        lacks = f"no parameter {', '.join(missing)}" if missing else f"{model.nu} of {known.disturbance.size} controls"
        raise InvalidArgumentError(f"model: expected the controller's dynamics, got a knot with {lacks}")
    return known


def _triangle(rows: Reals) -> Reals:
    """Upper triangle (n, n) with the same square as rows (m, n), m >= n; large rows first, for small errors."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


def _deviations(name: str, deviations: npt.ArrayLike, size: int) -> Reals:
    """Standard deviations (size,)."""
    values = as_numbers(name, deviations, "a deviation, or one for each element")
    if values.size not in (1, size) or not np.all(np.isfinite(values) & (values >= 0.0)):
        raise InvalidArgumentError(
            f"{name}: expected a deviation >= 0, or one for each of {size}, got {shown(deviations)}"
        )
    return np.broadcast_to(values.ravel(), size).astype(np.float64)
