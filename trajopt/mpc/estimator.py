"""Kalman filter for parameters of a controller's model, and for a constant disturbance of its controls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.plants.one_knot import OneKnot
from trajopt.shooting import ShootingProblem, controls
from trajopt.types import Reals

NOISE = 0.1  # deviation of a measured change of a state, as a part of the largest change so far [-]
WALK = 0.7  # deviation by which a parameter moves in 1 s, as a multiple of its first deviation [1/√s]
EXCITED = 4.0  # squared change by a first deviation over noise, as a multiple of that of the walk, that says something
DOUBT = 8.0  # squared derivative, as a multiple of its mean change from one measurement to the next, that is no noise
FARTHEST = 3.0  # first deviations by which an estimate may differ from the first value [-]
NEARLY = 0.8  # part of the way to a farthest value from which a parameter counts as held back [-]
LEAST = 0.1  # smallest estimate, as a part of a first value that is not 0 [-]
SLIGHT = 1e-3  # change for a derivative, as a multiple of the first deviation [-]
RECENT = 50  # measurements over which changes of derivatives are averaged [-]
SHARE = 0.1  # first deviation of a disturbance, as a part of the control's range, which it never exceeds [-]


DECLARE = 'declare one in the model, self.parameter("push", np.zeros(3), unit="N"), and use it in its dynamics'
"""Advice for a model without parameters."""


class Estimator:
    """Estimates θ = (parameters, disturbance d) of x⁺ = f(x, u + d; p) from successive measurements.

    An extended Kalman filter: θ is a random walk, and each measured change x⁺ ⊖ f(x, u) is one observation. It does not
    walk in directions of which a measurement tells less than the walk forgets until the next one. Directions whose
    derivatives are noise stay as they are: a pole that is balanced says nothing of its length, and noise, to which the
    controls answer, must not move it. Deviations never exceed the first ones.
    Parameters stay within three first deviations of the problem's values, and keep their sign: a mass stays positive.

    Args:
        problem: The controller's problem, whose parameters are set.
        deviations: First deviation of each estimated parameter by name, one or one per element [its unit].
        offset: Whether to estimate a disturbance of the controls.

    Attributes:
        disturbance: d (nu,).
        names: Names of the elements of θ, such as "mass", "wind[0]" and "disturbance of force".

    Raises:
        InvalidArgumentError: There is no such parameter in the first knot, a parameter is none of numbers, it has
            other values at the end, or another number of elements than of deviations.

    Source: Simon, Optimal State Estimation (2006), chapter 13.4.
    """

    def __init__(
        self, problem: ShootingProblem, deviations: Mapping[str, float | Sequence[float]], offset: bool
    ) -> None:
        self._problem, self._knot = problem, OneKnot(problem.running[0])
        self._of_names = {name: self._checked(name, each) for name, each in deviations.items()}
        for name in self._of_names:
            problem.set_parameter(name, problem.table.at(0)[name])  # raises if knots have different values
        ends = np.cumsum([0, *map(len, self._of_names.values())])
        self._places = [slice(i, j) for i, j in pairwise(ends.tolist())]
        self._count, self._own = int(ends[-1]), problem.nu if offset else 0
        elements = [
            f"{name}[{i}]" if len(own) > 1 else name for name, own in self._of_names.items() for i in range(len(own))
        ]
        self.names = (*elements, *(f"disturbance of {name}" for name in controls(problem).names[: self._own]))
        first = [self._knot.layout.parameters[name].flat(problem.table.at(0)[name]) for name in self._of_names]
        self._first = np.concatenate([*first, np.zeros(self._own)])
        self.begin(np.ones(problem.nu))

    def _checked(self, name: str, deviations: float | Sequence[float]) -> Reals:
        """Deviation of each element of a parameter (n,) [its unit]."""
        known = estimable(self._knot)
        if name not in known:
            cure = f"known: {', '.join(known)}" if known else DECLARE
            raise InvalidArgumentError(f"estimate: expected names of parameters of the dynamics, got {name!r}; {cure}")
        size = self._knot.layout.parameters[name].size
        if np.size(deviations) not in (1, size):
            raise InvalidArgumentError(
                f"estimate[{name!r}]: expected a number, or one for each of {size} elements, got {np.size(deviations)}"
            )
        return np.array(np.broadcast_to(np.asarray(deviations, dtype=np.float64), size))

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the estimated parameters."""
        return tuple(self._of_names)

    def begin(self, ranges: Reals) -> None:
        """Returns to the problem's first values; controls have these ranges (nu,), of their limits or of a plan."""
        first, own = self._first, SHARE * ranges[: self._own]
        self._deviations: Reals = np.concatenate([*self._of_names.values(), own])
        far, kept = FARTHEST * self._deviations, LEAST * first
        far[self._count :] = ranges[: self._own]
        self._least = np.where(first > 0.0, np.maximum(first - far, kept), first - far)
        self._most = np.where(first < 0.0, np.minimum(first + far, kept), first + far)
        self._theta, self._covariance = first.copy(), np.diag(self._deviations**2)
        self._largest, self._jitter = np.zeros(self._problem.state.ndx), Jitter(self._problem.state.ndx)
        self._seen: list[tuple[float, Reals, Reals]] = []
        self._waiting: list[tuple[Reals, Reals, Reals, float]] = []
        self._last: Reals | None = None
        self._doubts, self._learned = np.zeros((len(first), len(first))), 0
        self.disturbance = np.zeros(self._problem.nu)
        self._tell()

    def __reduce__(self) -> tuple[Any, ...]:
        raise UnsupportedOperationError(
            "Estimator: cannot be copied or pickled, as it belongs to a controller and holds compiled code; construct "
            "a controller there, and KalmanFilter(..., estimator=controller.estimator)"
        )

    def see(self, t: float, x: Reals, u: Reals) -> None:
        """Keeps a measurement (nx,) at a time t [s], and the control (nu,) that acts from then on, for `update`."""
        self._seen = [*self._seen[-1:], (t, x, u)]

    def values(self) -> dict[str, Reals]:
        """Estimated parameters by name, as values of `ShootingProblem.set_parameter`."""
        return {name: self._problem.table.at(0)[name] for name in self._of_names}

    def estimates(self) -> Reals:
        """Returns value and standard deviation of each element of θ (n, 2) [its unit]."""
        return np.stack([self._theta, np.sqrt(np.diag(self._covariance))], axis=1)

    def held_back(self, values: Reals) -> list[str]:
        """Names of parameters that are close to their farthest for half of the time, of values of θ in time (n, m)."""
        far = np.median(np.abs(values - self._first), axis=0) > NEARLY * FARTHEST * self._deviations
        return [name for name, place in zip(self._of_names, self._places) if far[place].any()]

    def update(self) -> None:
        """Takes the last measurement into account, once."""
        if len(self._seen) == 2:
            (begin, x, u), (end, xnext, _) = self._seen
            del self._seen[0]
            if end > begin:
                self._take(x, u, xnext, end - begin)

    def _take(self, x: Reals, u: Reals, xnext: Reals, dt: float) -> None:
        """Learns of a change of the state as soon as the noise of such changes is known, from the third one on."""
        state = self._problem.state
        self._set_knot(dt)
        error = state.difference_unchecked(self._predicted(x, u, self._theta), xnext)
        if not np.all(np.isfinite(error)):
            return
        np.maximum(self._largest, np.abs(state.difference_unchecked(x, xnext)), out=self._largest)
        jitter = self._jitter.see(error)
        self._waiting.append((x, u, xnext, dt))
        if jitter is not None:
            for each in self._waiting:
                self._learn(*each, jitter + math.ulp(1.0))
            self._waiting.clear()
            self._tell()

    def _learn(self, x: Reals, u: Reals, xnext: Reals, dt: float, jitter: Reals) -> None:
        state, P = self._problem.state, self._covariance
        self._set_knot(dt)
        expected, J = self._derivatives(x, u)
        error = state.difference_unchecked(expected, xnext)
        if not (np.all(np.isfinite(J)) and np.all(np.isfinite(error))):
            return
        unit = self._deviations / np.sqrt(jitter)[:, None]
        if self._last is not None:
            self._doubt((J - self._last) * unit)
        self._last = J
        J, directions = excited(J * unit, self._doubts, EXCITED * WALK**2 * dt)
        J, directions = J / unit, self._deviations[:, None] * directions
        P = P + WALK**2 * dt * directions @ directions.T
        noise = np.diag((NOISE * self._largest) ** 2 + jitter)
        gain = np.linalg.solve(J @ P @ J.T + noise, J @ P).T
        self._theta = np.clip(self._theta + gain @ error, self._least, self._most)
        P = P - gain @ J @ P
        within = np.minimum(1.0, self._deviations / np.sqrt(np.diag(P)))
        self._covariance = within[:, None] * P * within

    def _derivatives(self, x: Reals, u: Reals) -> tuple[Reals, Reals]:
        """The predicted state (nx,), and its derivatives by θ (ndx, n)."""
        state, expected = self._problem.state, self._predicted(x, u, self._theta)
        J = np.empty((state.ndx, len(self._theta)))
        for i, deviation in enumerate(self._deviations):
            moved = self._theta.copy()
            moved[i] += SLIGHT * deviation
            J[:, i] = state.difference_unchecked(expected, self._predicted(x, u, moved)) / (SLIGHT * deviation)
        return expected, J

    def _doubt(self, change: Reals) -> None:
        """Takes a change (ndx, n) of derivatives since the last measurement into account."""
        self._learned += 1
        self._doubts += (change.T @ change - self._doubts) / min(self._learned, RECENT)

    def _set_knot(self, dt: float) -> None:
        self._knot.parameters[:] = self._problem.table.values[0, : len(self._knot.parameters)]
        self._knot.set_time_step(dt)

    def _predicted(self, x: Reals, u: Reals, theta: Reals) -> Reals:
        knot = self._knot
        for name, place in zip(self._of_names, self._places):
            knot.parameters[knot.layout.slices[name]] = theta[place]
        d = theta[self._count :] if self._own else 0.0
        return knot.next_state(x, (u + d)[: knot.model.nu])

    def _tell(self) -> None:
        """Sets the problem's parameters; one that is not allowed keeps its last value."""
        for name, place in zip(self._of_names, self._places):
            parameter = self._knot.layout.parameters[name]
            try:
                self._problem.set_parameter(name, parameter.shaped(self._theta[place]))
            except InvalidArgumentError:
                self._theta[place] = parameter.flat(self._problem.table.at(0)[name])
        if self._own:
            self.disturbance = self._theta[self._count :].copy()


class Jitter:
    """Variance of noise in successive errors of predictions.

    A wrong parameter makes errors that change smoothly. Noise v of the states makes v_{k+1} - v_k, nearly, whose second
    differences have ten times its variance.

    Args:
        size: Number of elements of an error [-].
    """

    def __init__(self, size: int) -> None:
        self._errors: list[Reals] = []
        self._sum, self._count = np.zeros(size), 0

    def see(self, error: Reals) -> Reals | None:
        """Takes the next error (n,) into account; returns the variance (n,) so far, None before the third error."""
        self._errors = [*self._errors[-2:], error.copy()]
        if len(self._errors) == 3:
            self._sum += np.diff(self._errors, 2, axis=0)[0] ** 2 / 10.0
            self._count += 1
        return self._sum / self._count if self._count else None


def excited(J: Reals, doubts: Reals, least: float) -> tuple[Reals, Reals]:
    """Derivatives (m, n) of observations along the directions of θ that they tell of, and the excited ones (n, k).

    A direction is excited if the square of its derivative exceeds a least value. It is told of in this case, or if that
    is `DOUBT` times the square of its changes, as of a constant force; changes are larger where it is noise.

    Args:
        J: Derivatives by θ (m, n), of observations with variance 1 and in first deviations of θ.
        doubts: Mean of the products dJᵀ dJ of their changes from one measurement to the next (n, n).
        least: The least value [-].

    Source: forgetting along excited directions only, Bittanti, Bolzern and Campi, Automatica 26 (1990).
    """
    U, sizes, Vt = np.linalg.svd(J, full_matrices=False)
    strong = sizes**2 > least
    told = strong | (sizes**2 > DOUBT * np.einsum("kn,nm,km->k", Vt, doubts, Vt))
    return (U * (told * sizes)) @ Vt, Vt[strong].T


def estimable(knot: OneKnot) -> list[str]:
    """Names of the parameters of a knot's dynamics; measurements tell nothing of those of costs and constraints."""
    own = [(name, knot.layout.parameters[name]) for name in knot.model.dynamics_parameters if name != "dt"]
    return [name for name, each in own if each.size == 1 or each.convert is None]
