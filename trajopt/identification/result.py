"""Result of an identification: estimates with their uncertainty, and what the log does not tell."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from trajopt.identification.combinations import Combination, reduced
from trajopt.identification.coordinates import Coordinates
from trajopt.identification.log import Log
from trajopt.objects.lazy import above
from trajopt.robots import Robot
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WITHIN_BODY = (0, 7, 3, 4, 2, 1, 9, 5, 6, 8)  # m, I_yy, m c_z, ...: what a joint about z hides first
_UNTOLD = 1e-6  # relative share of a parameter in directions that a log does not tell [-]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Identification:
    """Estimates of parameters from a log; `identify` returns it.

    Attributes:
        robot: The robot with the estimates; None without a robot, or if an estimated mass, damping or friction is < 0.
        logs: The logs.
        values: Estimates by name of the parameter. Where a log tells a combination only, these are the values closest
            to the guesses.
        guesses: Values in the model, by name.
        coordinates: Parameters in which dynamics are linear: instead of mass, centre of mass and inertia of a body, if
            all are unknown, its mass m, first moment m c and inertia I about the origin of the frame.
        estimate: Estimates of these k parameters (k,).
        information: Their information matrix, the inverse of the covariance if it is regular (k, k).
        null_space: Directions of these parameters that the log does not tell (k, p), in columns.
        chi2: Sum of squared residuals, each divided by its standard deviation [-].
        dof: Degrees of freedom: number of measurements minus that of estimated numbers. chi2 / dof is near 1 if model
            and noise are right.
        iterations: Number of Gauss-Newton steps.
        converged: Whether the last step was below 0.01 standard deviations.
        states: Estimated states (N + 1, nx) of each log.
        controls: Estimated controls (N, nu) of each log.
        controls_before: Controls (N, nu) with which the model of the guesses would move as estimated.
        of_robot: Whether the model is that of a robot.
        state_names: Name of each coordinate of a state (nx,).
        state_units: Unit of each coordinate of a state (nx,).
        state_noise: Standard deviation of each coordinate of a state (nx,); inf if it was not measured, NaN for
            elements of rotations.
        control_names: Names of the controls.
        control_units: Units of the controls.
        control_noise: Standard deviation of each control (nu,).
    """

    robot: Robot | None
    logs: tuple[Log, ...]
    values: dict[str, Reals]
    guesses: dict[str, Reals]
    coordinates: Coordinates
    estimate: Reals
    information: Reals
    null_space: Reals
    chi2: float
    dof: int
    iterations: int
    converged: bool
    states: tuple[Reals, ...]
    controls: tuple[Reals, ...]
    controls_before: tuple[Reals, ...]
    of_robot: bool
    state_names: tuple[str, ...]
    state_units: tuple[str, ...]
    state_noise: Reals
    control_names: tuple[str, ...]
    control_units: tuple[str, ...]
    control_noise: Reals

    def __post_init__(self) -> None:
        tables = (*self.states, *self.controls, *self.controls_before)
        numbers = (*self.values.values(), *self.guesses.values(), self.estimate, self.information, self.null_space)
        numbers += (self.state_noise, self.control_noise)
        for array in (*numbers, *tables):
            array.flags.writeable = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the k parameters in which dynamics are linear."""
        return tuple(self.coordinates.names)

    @functools.cached_property
    def _reduced(self) -> tuple[list[int], Reals]:
        """Parameters that are eliminated, and the directions that the log does not tell in reduced form."""
        bodies = self.coordinates.bodies
        order = [body[i] for body in reversed(bodies) for i in _WITHIN_BODY]
        inside = set(order)
        return reduced(self.null_space, order + [i for i in range(len(self.names)) if i not in inside])

    @property
    def coefficients(self) -> Reals:
        """Coefficients (r, k) of the parameters in each of the r `combinations`."""
        eliminated, rows = self._reduced
        kept = [i for i in range(len(self.names)) if i not in set(eliminated)]
        matrix = np.zeros((len(kept), len(self.names)))
        matrix[np.arange(len(kept)), kept] = 1.0
        matrix[:, eliminated] = -rows[:, kept].T
        return matrix

    @functools.cached_property
    def covariance(self) -> Reals:
        """Covariance (r, r) of the `combinations`."""
        eliminated = set(self._reduced[0])
        kept = [i for i in range(len(self.names)) if i not in eliminated]
        own = self.information[np.ix_(kept, kept)]
        scales = 1.0 / np.sqrt(np.diag(own))
        return np.asarray(np.linalg.inv(own * np.outer(scales, scales)) * np.outer(scales, scales))

    @property
    def correlation(self) -> Reals:
        """Correlation (r, r) of the `combinations` [-]."""
        scales = 1.0 / np.sqrt(np.diag(self.covariance))
        return np.asarray(self.covariance * np.outer(scales, scales))

    @functools.cached_property
    def combinations(self) -> tuple[Combination, ...]:
        """Sums of parameters that the log tells, with estimates and standard deviations."""
        deviations, matrix = np.sqrt(np.diag(self.covariance)), self.coefficients
        result = []
        for row, deviation in zip(matrix, deviations):
            order = sorted(np.flatnonzero(row), key=lambda i: row[i] != 1.0)
            kept = int(order[0])
            result.append(
                Combination(
                    coefficients={self.names[i]: float(row[i]) for i in order},
                    value=float(row @ self.estimate),
                    deviation=float(deviation),
                    unit=self.coordinates.units[kept],
                )
            )
        return tuple(result)

    @property
    def deviations(self) -> dict[str, Reals]:
        """Standard deviation of each element of `values`, by name; inf for one that the log does not tell alone."""
        slope = self.coordinates.slope(self.estimate)
        scales = self.coordinates.scales(self.estimate)
        null = np.linalg.qr(self.null_space / scales[:, None])[0]
        S = self.information * np.outer(scales, scales)
        weight = float(np.trace(S)) / len(S) or 1.0
        inverse = np.linalg.inv(S + weight * null @ null.T)
        rows = slope * scales
        variances = np.einsum("ij,jk,ik->i", rows, inverse, rows)
        hidden = np.linalg.norm(rows @ null, axis=1) > _UNTOLD * np.linalg.norm(rows, axis=1)
        whole, end, result = np.where(hidden, np.inf, np.sqrt(np.maximum(variances, 0.0))), 0, {}
        for name, value in self.values.items():
            result[name] = whole[end : end + value.size].reshape(value.shape, order="F")
            end += value.size
        return result

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Names of parameters that have no effect on the log."""
        eliminated, rows = self._reduced
        return tuple(self.names[i] for i, row in zip(eliminated, rows) if np.count_nonzero(row) == 1)

    def explain(self) -> str:
        """Text that says how well the model fits, what the log tells in combination only, and what it does not tell."""
        from trajopt.identification.explanation import explained

        return explained(self)

    def plot(self, path: str | PathLike[str] | None = None, *, log: int = 0) -> Figure:
        """Plots states and controls of a log: measured and as identified, with their residuals.

        Args:
            path: File to write (.png, .pdf or .svg).
            log: Number of the log.
        """
        return above("plotting.saved.saved")(above("plotting.identification.plot_identification"), path, self, log=log)

    def __repr__(self) -> str:
        logs = f"{len(self.logs)} log{'s' * (len(self.logs) != 1)}"
        fit = f"chi²/dof {self.chi2 / max(self.dof, 1):.3f} with {self.dof} degrees of freedom"
        head = f"{len(self.combinations)} combinations of {len(self.names)} parameters from {logs}; {fit}"
        return "\n".join([head, *(f"  {each}" for each in self.combinations)])
