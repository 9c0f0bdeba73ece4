"""Covariance of a state along a solution, under process noise and the feedback of its gains."""

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
    """Ellipses (z - centre)ᵀ P⁻¹ (z - centre) = k² of two coordinates, k standard deviations each, one a knot.

    Attributes:
        names: Names of the coordinates.
        units: Their units.
        centres: (T + 1, 2).
        covariances: P (T + 1, 2, 2).
        sigmas: k [-].
    """

    names: tuple[str, str]
    centres: Reals
    covariances: Reals
    sigmas: float
    units: tuple[str, str] = ("-", "-")

    @property
    def areas(self) -> Reals:
        """π k² √det P, (T + 1,)."""
        det = np.linalg.det(self.covariances)
        return np.asarray(np.pi * self.sigmas**2 * np.sqrt(np.maximum(det, 0.0)))

    @property
    def axes(self) -> tuple[Reals, Reals]:
        """Semi-axes, the longer first, (T + 1, 2), and the angle of the longer one (T + 1,) [rad]."""
        values, vectors = np.linalg.eigh(self.covariances)
        lengths = self.sigmas * np.sqrt(np.maximum(values[:, ::-1], 0.0))
        return lengths, np.arctan2(vectors[:, 1, 1], vectors[:, 0, 1])


@dataclass(frozen=True, kw_only=True)
class StateCovariance:
    """Covariances of x ⊖ xs along a solution.

    Attributes:
        solution: The solution.
        P: Covariances (T + 1, ndx, ndx), of the tangent coordinates.
        names: Names of these coordinates.
    """

    solution: Solution
    P: Reals
    names: tuple[str, ...]

    @property
    def deviations(self) -> Reals:
        """Standard deviations (T + 1, ndx)."""
        return np.sqrt(np.maximum(np.einsum("tii->ti", self.P), 0.0))

    def ellipses(
        self, first: str | int = 0, second: str | int = 1, *, sigmas: float = 2.0, frame: str | None = None
    ) -> Ellipses:
        """Ellipses of two coordinates around the solution, such as x and y of a mobile robot, or of a robot's hand.

        Those of a frame are of its position in the world, linearised: J P Jᵀ, J its Jacobian.

        Args:
            first: Name or number of a coordinate whose tangent is its rate, such as a position; "x", "y" or "z" of a
                frame.
            second: Another one.
            sigmas: Size in standard deviations, > 0; 2 hold 86 % of the states.
            frame: Name of a frame of the robot.

        Raises:
            InvalidArgumentError: Both coordinates are the same, or a frame is asked for of what is no robot.
            UnknownNameError: There is no such coordinate, or no such frame.
        """
        names = self.names if frame is None else ("x", "y", "z")
        pair = [_number(name, names) for name in (first, second)]
        if pair[0] == pair[1]:
            raise InvalidArgumentError(f"second: expected another coordinate than first, got {second!r} twice")
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
            raise InvalidArgumentError(f"frame: expected None for a state that is no robot's, got {frame!r}")
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
    """Linear propagation P⁺ = A P Aᵀ + Q, A = Fx - Fu K, of the covariance of x ⊖ xs along a solution.

    Args:
        solution: The solution, with its problem.
        noise: What disturbs the state after each knot: standard deviation of all tangent coordinates, of each (ndx,), a
            covariance (ndx, ndx), or one for each knot (T, ndx, ndx).
        initial: That of the first state: one of the first three.
        feedback: Whether controls are us - K (x ⊖ xs), or us alone.

    Raises:
        InvalidArgumentError: Noise is of another shape or no covariance, or the solver gave no gains.

    Source: Thrun, Burgard and Fox, Probabilistic Robotics, 2005, table 3.1 without measurements.
    """
    with check_solution(solution).as_solved() as problem:
        T, n = problem.T, problem.state.ndx
        Q = noise_covariances("noise", noise, T, n)
        P = np.empty((T + 1, n, n))
        P[0] = noise_covariances("initial", initial, 1, n)[0]
        found = problem.calc_diff(solution.xs, solution.us)
        A = found.Fx - found.Fu @ gains_of(solution, feedback)
        for t in range(T):
            P[t + 1] = A[t] @ P[t] @ A[t].T + Q[t]
        return StateCovariance(solution=solution, P=P, names=tuple(problem.state.tangent_names))


def gains_of(solution: Solution, feedback: Any) -> Reals:
    """Gains K of feedback (T, nu, ndx), zeros without."""
    if not check_flag("feedback", feedback):
        return np.zeros((*solution.us.shape, solution.problem.state.ndx))  # type: ignore[union-attr]
    if solution.K is None:
        raise InvalidArgumentError(
            f"solution: expected gains K, got none from {solution.solver}; use SolverFDDP, or pass feedback=False"
        )
    return solution.K
