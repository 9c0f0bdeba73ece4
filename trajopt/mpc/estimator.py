"""Kalman filter for parameters of a controller's model, and for a constant disturbance of its controls."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.plants.one_knot import OneKnot
from trajopt.shooting import ShootingProblem, controls
from trajopt.types import Reals

NOISE = 0.1  # deviation of a measured change of a state, as a part of the largest change so far [-]
WALK = 0.7  # deviation by which a parameter moves in 1 s, as a multiple of its first deviation [1/√s]
FARTHEST = 3.0  # first deviations by which an estimate may differ from the first value [-]
LEAST = 0.1  # smallest estimate, as a part of a first value that is not 0 [-]
SLIGHT = 1e-3  # change for a derivative, as a multiple of the first deviation [-]
SHARE = 0.1  # first deviation of a disturbance, as a part of the control's range, which it never exceeds [-]


OF_COSTS = ("dt", "weight", "reference", "lower", "upper")
"""Parameters of steps, costs and bounds, which no measurement tells."""


class Estimator:
    """Estimates θ = (parameters, disturbance d) of x⁺ = f(x, u + d; p) from successive measurements.

    An extended Kalman filter: θ is a random walk, and each measured change x⁺ ⊖ f(x, u) is one observation. Parameters
    stay within three first deviations of the problem's values, and keep their sign: a mass stays positive.

    Args:
        problem: The controller's problem, whose parameters are set.
        deviations: First deviation of each estimated parameter by name [its unit].
        offset: Whether to estimate a disturbance of the controls.

    Attributes:
        disturbance: d (nu,).
        names: Names of the elements of θ, such as "mass" and "disturbance of force".

    Raises:
        InvalidArgumentError: A parameter has several elements, none in the first knot, or other values at the end.

    Source: Simon, Optimal State Estimation (2006), chapter 13.4.
    """

    def __init__(self, problem: ShootingProblem, deviations: Mapping[str, float], offset: bool) -> None:
        self._problem, self._names = problem, list(deviations)
        self._knot = OneKnot(problem.running[0])
        sizes = {name: place.stop - place.start for name, place in self._knot.layout.slices.items()}
        for name in self._names:
            if sizes.get(name) != 1:
                kept = [n for n, size in sizes.items() if size == 1 and n.rpartition(".")[2] not in OF_COSTS]
                many = f", which has {sizes[name]}: declare each as a parameter of its own" if name in sizes else ""
                raise InvalidArgumentError(
                    f"estimate: expected names of parameters with one element, got {name!r}{many}; known: "
                    f"{', '.join(kept) or 'none'}"
                )
            problem.set_parameter(name, problem.table.at(0)[name])  # raises if knots have different values
        self._own = problem.nu if offset else 0
        self.names = (*deviations, *(f"disturbance of {name}" for name in controls(problem).names[: self._own]))
        self._first = np.array([*(problem.table.at(0)[name] for name in self._names), *np.zeros(self._own)])
        self._of_names = np.array(list(deviations.values()))
        self.begin(np.ones(problem.nu))

    def begin(self, ranges: Reals) -> None:
        """Returns to the problem's first values; controls have these ranges (nu,), of their limits or of a plan."""
        first, own = self._first, SHARE * ranges[: self._own]
        self._deviations: Reals = np.concatenate([self._of_names, own])
        far, kept = FARTHEST * self._deviations, LEAST * first
        far[len(self._names) :] = ranges[: self._own]
        self._least = np.where(first > 0.0, np.maximum(first - far, kept), first - far)
        self._most = np.where(first < 0.0, np.minimum(first + far, kept), first + far)
        self._theta, self._covariance = first.copy(), np.diag(self._deviations**2)
        self._largest = np.zeros(self._problem.state.ndx)
        self._seen: list[tuple[float, Reals, Reals]] = []
        self.disturbance = np.zeros(self._problem.nu)
        self._tell()

    def see(self, t: float, x: Reals, u: Reals) -> None:
        """Keeps a measurement (nx,) at a time t [s], and the control (nu,) that acts from then on, for `update`."""
        self._seen = [*self._seen[-1:], (t, x, u)]

    def estimates(self) -> Reals:
        """Returns value and standard deviation of each element of θ (n, 2) [its unit]."""
        return np.stack([self._theta, np.sqrt(np.diag(self._covariance))], axis=1)

    def update(self) -> None:
        """Takes the last measurement into account, once."""
        if len(self._seen) == 2:
            (begin, x, u), (end, xnext, _) = self._seen
            del self._seen[0]
            if end > begin:
                self._take(x, u, xnext, end - begin)

    def _take(self, x: Reals, u: Reals, xnext: Reals, dt: float) -> None:
        knot, state, P = self._knot, self._problem.state, self._covariance
        knot.parameters[:] = self._problem.table.values[0, : len(knot.parameters)]
        knot.set_time_step(dt)
        P += np.diag(dt * (WALK * self._deviations) ** 2)
        expected = self._predicted(x, u, self._theta)
        J = np.empty((state.ndx, len(self._theta)))
        for i, deviation in enumerate(self._deviations):
            moved = self._theta.copy()
            moved[i] += SLIGHT * deviation
            J[:, i] = state.difference_unchecked(expected, self._predicted(x, u, moved)) / (SLIGHT * deviation)
        error = state.difference_unchecked(expected, xnext)
        if not (np.all(np.isfinite(J)) and np.all(np.isfinite(error))):
            return
        np.maximum(self._largest, np.abs(state.difference_unchecked(x, xnext)), out=self._largest)
        noise = (NOISE * self._largest) ** 2 + math.ulp(1.0)
        gain = np.linalg.solve(J @ P @ J.T + np.diag(noise), J @ P).T
        self._theta = np.clip(self._theta + gain @ error, self._least, self._most)
        self._covariance = P - gain @ J @ P
        self._tell()

    def _predicted(self, x: Reals, u: Reals, theta: Reals) -> Reals:
        knot, count = self._knot, len(self._names)
        for name, value in zip(self._names, theta):
            knot.parameters[knot.layout.slices[name]] = value
        d = theta[count:] if self._own else 0.0
        return knot.next_state(x, (u + d)[: knot.model.nu])

    def _tell(self) -> None:
        """Sets the problem's parameters; one that is not allowed keeps its last value."""
        for i, name in enumerate(self._names):
            try:
                self._problem.set_parameter(name, self._theta[i])
            except InvalidArgumentError:
                self._theta[i] = float(self._problem.table.at(0)[name])
        if self._own:
            self.disturbance = self._theta[len(self._names) :].copy()
