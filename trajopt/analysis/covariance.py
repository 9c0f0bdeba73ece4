"""Covariance of the state along a solution, under process noise and feedback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.basics import check_solution
from trajopt.analysis.noise import noise_covariances
from trajopt.checks import check_flag, check_known, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution


@dataclass(frozen=True, kw_only=True)
class Ellipses:
    """Ellipses (z - centre)ᵀ P⁻¹ (z - centre) = k² of two coordinates z, one per knot, with k standard deviations.

    Attributes:
        names: Names of the two coordinates.
        units: Units of the two coordinates.
        centres: Centres, shape (T + 1, 2) [units].
        covariances: Covariances P, shape (T + 1, 2, 2).
        sigmas: Number k of standard deviations [-].
    """

    names: tuple[str, str]
    centres: Reals
    covariances: Reals
    sigmas: float
    units: tuple[str, str] = ("-", "-")

    @property
    def areas(self) -> Reals:
        """Area π k² √det P of each ellipse, shape (T + 1,)."""
        det = np.linalg.det(self.covariances)
        return np.asarray(np.pi * self.sigmas**2 * np.sqrt(np.maximum(det, 0.0)))

    @property
    def axes(self) -> tuple[Reals, Reals]:
        """Semi-axes, longer first, shape (T + 1, 2), and the angle of the longer one, shape (T + 1,) [rad]."""
        values, vectors = np.linalg.eigh(self.covariances)
        lengths = self.sigmas * np.sqrt(np.maximum(values[:, ::-1], 0.0))
        return lengths, np.arctan2(vectors[:, 1, 1], vectors[:, 0, 1])


@dataclass(frozen=True, kw_only=True)
class StateCovariance:
    """Covariances of the deviation x ⊖ xs along a solution.

    Attributes:
        solution: The solution.
        P: Covariances of the tangent coordinates, shape (T + 1, ndx, ndx).
        names: Names of the tangent coordinates.
    """

    solution: Solution
    P: Reals
    names: tuple[str, ...]

    @property
    def deviations(self) -> Reals:
        """Standard deviations of the tangent coordinates, shape (T + 1, ndx)."""
        return np.sqrt(np.maximum(np.einsum("tii->ti", self.P), 0.0))

    def ellipses(
        self, first: str | int = 0, second: str | int = 1, *, sigmas: float = 2.0, frame: str | None = None
    ) -> Ellipses:
        """Returns covariance ellipses of two coordinates, such as x and y of a mobile robot or of a robot's hand.

        For a frame they are those of its position in the world, linearised: J P Jᵀ with its Jacobian J.

        Args:
            first: Name or number of a coordinate whose tangent is its rate, such as a position; for a frame "x", "y"
                or "z".
            second: Name or number of another coordinate.
            sigmas: Size in standard deviations, > 0; an ellipse of size 2 contains 86 % of the states [-].
            frame: Name of a frame of the robot; None for coordinates of the state.

        Raises:
            InvalidArgumentError: Both coordinates are equal, or a frame is set although the state has no robot.
            UnknownNameError: There is no coordinate or no frame of this name.
        """
        names = self.names if frame is None else ("x", "y", "z")
        pair = [_number(name, names) for name in (first, second)]
        if pair[0] == pair[1]:
            raise InvalidArgumentError(f"second: expected a coordinate other than first, got {second!r} twice")
        if frame is not None:
            (points, P), units = self._of_frame(frame), ["m"] * 3
            names = tuple(f"{frame} {name}" for name in names)
        else:
            state = self.solution.problem.state  # type: ignore[union-attr]
            points, P = np.array([state.difference(state.zero(), x) for x in self.solution.xs]), self.P
            units = state.tangent_units
        return Ellipses(
            names=(names[pair[0]], names[pair[1]]),
            units=(units[pair[0]], units[pair[1]]),
            centres=points[:, pair],
            sigmas=check_positive("sigmas", sigmas),
            covariances=P[:, pair][:, :, pair],
        )

    def _of_frame(self, frame: str) -> tuple[Reals, Reals]:
        """Positions of a frame (T + 1, 3) and their covariances (T + 1, 3, 3)."""
        robot = self.solution.robot
        if robot is None:
            raise InvalidArgumentError(f"frame: expected None, as the state has no robot, got {frame!r}")
        qs = self.solution.xs[:, : robot.nq]
        J = robot.jacobian(qs, frame)[:, :3]
        return robot.placement(qs, frame)[:, :3, 3], J @ self.P[:, : robot.nv, : robot.nv] @ J.swapaxes(1, 2)

    def __repr__(self) -> str:
        end = ", ".join(f"{name} {value:.3g}" for name, value in list(zip(self.names, self.deviations[-1]))[:6])
        return f"StateCovariance({len(self.P)} knots; standard deviations at the end: {end})"


def _number(name: str | int, names: tuple[str, ...]) -> int:
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < len(names):
        return int(name)
    return names.index(check_known("coordinate", name, names))


def state_covariance(
    solution: Solution, noise: npt.ArrayLike, *, initial: npt.ArrayLike = 0.0, feedback: bool = True
) -> StateCovariance:
    """Propagates the covariance of x ⊖ xs along a solution, linearised: P⁺ = A P Aᵀ + Q, A = Fx - Fu K.

    Args:
        solution: The solution, with its problem.
        noise: Noise of the state after each knot: one standard deviation for all tangent coordinates, one for each
            (ndx,), a covariance (ndx, ndx), or a covariance for each knot (T, ndx, ndx).
        initial: Noise of the first state, in one of the first three forms.
        feedback: True for controls us - K (x ⊖ xs), False for us.

    Raises:
        InvalidArgumentError: The noise has another shape or is not a covariance, or the solver has no gains.

    Source: Thrun, Burgard and Fox, Probabilistic Robotics, 2005, table 3.1 without measurements.
    """
    with check_solution(solution).as_solved() as problem:
        T, n = problem.T, problem.state.ndx
        Q = noise_covariances("noise", noise, T, n)
        P = np.empty((T + 1, n, n))
        P[0] = noise_covariances("initial", initial, 1, n)[0]
        derivatives = problem.calc_diff(solution.xs, solution.us)
        A = derivatives.Fx - derivatives.Fu @ gains_of(solution, feedback)
        for t in range(T):
            P[t + 1] = A[t] @ P[t] @ A[t].T + Q[t]
        return StateCovariance(solution=solution, P=P, names=tuple(problem.state.tangent_names))


def gains_of(solution: Solution, feedback: Any) -> Reals:
    """Returns the gains K of the feedback (T, nu, ndx), or zeros without feedback or controls."""
    if not check_flag("feedback", feedback) or not solution.us.size:
        return np.zeros((*solution.us.shape, solution.problem.state.ndx))  # type: ignore[union-attr]
    if solution.K is None:
        raise InvalidArgumentError(
            f"solution: expected gains K, got none from {solution.solver}; use SolverFDDP, or pass feedback=False"
        )
    return solution.K
