"""Options of the solvers: frozen, keyword-only, checked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import casadi as ca
import numpy as np

from trajopt.checks import as_numbers, check_count, check_mapping
from trajopt.errors import InvalidArgumentError, shown


@dataclass(frozen=True, kw_only=True)
class SolverOptions:
    """Options of every solver.

    Attributes:
        max_iterations: At most this many iterations are begun, >= 1 [-].
        time_limit: A solve stops after this time, checked once an iteration [s]; None is no limit.
    """

    max_iterations: int = 300
    time_limit: float | None = None

    def __post_init__(self) -> None:
        check_count("max_iterations", self.max_iterations, least=1, most=2**62)
        if self.time_limit is not None:
            self._check("time_limit", above=0.0, inclusive=False)

    def _check(self, name: str, *, above: float, inclusive: bool) -> None:
        value, bound = getattr(self, name), f"a number {'>=' if inclusive else '>'} {above:g}"
        number = as_numbers(name, value, bound)
        fine = number.shape == () and not isinstance(value, (bool, np.bool_)) and np.isfinite(number)
        if not fine or number < above or (number == above and not inclusive):
            raise InvalidArgumentError(f"{name}: expected {bound}, got {shown(value)}")
        object.__setattr__(self, name, float(number))


def check_hessian(hessian: Any) -> None:
    """Raises InvalidArgumentError unless it names a Hessian."""
    if not isinstance(hessian, str) or hessian not in ("gauss-newton", "exact", "auto"):
        raise InvalidArgumentError(f"hessian: expected 'gauss-newton', 'exact' or 'auto', got {shown(hessian)}")


def check_step_lengths(lengths: Any) -> tuple[float, ...]:
    """Returns step lengths as numbers; raises InvalidArgumentError unless they decrease from at most 1."""
    expected = "a tuple of decreasing numbers in (0, 1]"
    fine = isinstance(lengths, tuple) and 0 < len(lengths) <= 1000
    numbers = as_numbers("step_lengths", lengths, expected) if fine else np.zeros(1)
    if numbers.ndim != 1 or not numbers[0] <= 1 or not all(a > b for a, b in itertools.pairwise((*numbers, 0.0))):
        raise InvalidArgumentError(f"step_lengths: expected {expected}, got {shown(lengths)}; such as (1.0, 0.5)")
    return tuple(float(a) for a in numbers)


@dataclass(frozen=True, kw_only=True)
class DDPOptions(SolverOptions):
    """Options of SolverDDP, beside those of every solver.

    `DDPOptions()` holds our defaults, `DDPOptions.crocoddyl()` those of Crocoddyl.

    Multiplying all costs by a number > 0 changes neither trajectories nor number of iterations nor status, as long as
    `tolerance` and `gradient_tolerance` are 0. For that, there are two units, taken from the problem:

    - S [cost], the scale of the costs: min(Σ|l_t|, S1) + 1e-14 S1, with l_t the cost of knot t, and S1 = Σ|l_t| + |d0 +
      d1 / 2| at the first rollout. S1 keeps a cost that falls without end from moving its own tolerance.
    - h, the scale of the curvature at the guess: sqrt(a b), with a the mean of the diagonals of all Luu, and b that of
      the diagonal of Σ Lxx, the end included; negative entries count as 0. It is of the order of Vxx where control is
      cheap (of a scalar integrator, V² = Luu Lxx). Where a or b is 0 it is the other one, where both are, the largest
      slope of the cost.

    Attributes:
        tolerance: Converged when |d0 + d1 / 2| <= tolerance + relative_tolerance · S, with d0 + d1 / 2 the decrease of
            the cost that a full step promises (half of the squared Newton step in the metric of the Hessian, that is
            the gradient in its natural unit), and the last step started from a rollout [cost].
        relative_tolerance: See `tolerance` [-].
        confirm_gradient: Whether a promise below the tolerance only counts without regularisation, as ρ makes it small
            where the gradient is not: it is computed again with the smallest ρ, from min_regularization on, with which
            Quu is positive definite. Crocoddyl does not.
        acceptance: A step is accepted when dV > acceptance · expected dV [-].
        gradient_tolerance: ... or when |d0| <= gradient_tolerance + 1e-3 relative_tolerance · S [cost].
        step_lengths: Step lengths that are tried, decreasing, the first two alone, then several at once [-].
        step_growth: Factor >= 1 by which a full step from a rollout grows, if it brought more than 1.5 times what it
            promised, as long as the cost falls further; 1 for never [-]. Gauss-Newton takes the cost for more curved
            than it is there. With 2, DDP balances 70 of 100 cart-poles instead of 61, in half the iterations.
        relative_regularization: Whether all ρ are in units of h; Crocoddyl's are absolute.
        initial_regularization: First regularisation ρ [-]. Crocoddyl starts with 1e-9 (absolute). DDP, whose every
            trajectory is a rollout, is more robust with 2: of three arm reaches with small costs of control all end
            near the best minimum known, with 1e-9 none.
        min_regularization: Smallest ρ, > 0; only the first one may be smaller [-].
        max_regularization: Largest ρ; a solve that needs more stops [-].
        regularization_increase: Factor by which ρ grows after a failed direction or search [-].
        regularization_decrease: Factor by which ρ shrinks after a good step [-].
        good_step: A step longer than this decreases ρ [-].
        bad_step: A step not longer than this, or none, increases ρ [-].
        regularize_value: Whether ρ is added to Vxx at every knot beside Quu, as Crocoddyl does.
        rollout_on_failure: Whether DDP goes on from the rollout of the guess's controls when no step from a guess with
            gaps is accepted; Crocoddyl gives up with the guess.
        hessian: "gauss-newton"; "exact", the Hessian of the Lagrangian where it is convex, blended with Gauss-Newton's
            where it is not, for models that have it; or "auto", Gauss-Newton until many steps were short or brought
            little, or many are still to come (`solvers/curvature.py`), then exact in the same way; short steps are then
            tried along a parabola, too, and increase ρ from a length of 1/8 on. Where a step of Gauss-Newton's is
            better and brings what it promised, exact ones pause. Crocoddyl's is "gauss-newton".
        rollout_margin: With rollout_on_failure, a step from a guess with gaps is accepted if its cost is at most that
            of this rollout plus rollout_margin · Σ|l_t| of it [-]; Crocoddyl accepts any.
    """

    tolerance: float = 0.0
    relative_tolerance: float = 1e-9
    confirm_gradient: bool = True
    acceptance: float = 0.1
    gradient_tolerance: float = 0.0
    step_lengths: tuple[float, ...] = tuple(0.5**i for i in range(9))
    step_growth: float = 2.0
    relative_regularization: bool = True
    initial_regularization: float = 2.0
    min_regularization: float = 1e-9
    max_regularization: float = 1e9
    regularization_increase: float = 10.0
    regularization_decrease: float = 10.0
    good_step: float = 0.5
    bad_step: float = 0.01
    regularize_value: bool = True
    rollout_on_failure: bool = True
    rollout_margin: float = 2.0
    hessian: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("tolerance", "relative_tolerance", "acceptance", "gradient_tolerance"):
            self._check(name, above=0.0, inclusive=True)
        for name in ("initial_regularization", "bad_step", "rollout_margin"):
            self._check(name, above=0.0, inclusive=True)
        for name in ("min_regularization", "max_regularization", "good_step"):
            self._check(name, above=0.0, inclusive=False)
        for name in ("regularization_increase", "regularization_decrease"):
            self._check(name, above=1.0, inclusive=False)
        for name in ("confirm_gradient", "relative_regularization", "regularize_value", "rollout_on_failure"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise InvalidArgumentError(f"{name}: expected True or False, got {getattr(self, name)!r}")
        for name in ("initial_regularization", "min_regularization"):
            if getattr(self, name) > self.max_regularization:
                raise InvalidArgumentError(
                    f"{name}: {getattr(self, name)} is above max_regularization, {self.max_regularization}"
                )
        self._check("step_growth", above=1.0, inclusive=True)
        check_hessian(self.hessian)
        object.__setattr__(self, "step_lengths", check_step_lengths(self.step_lengths))

    @classmethod
    def crocoddyl(cls, *, max_iterations: int = 100, initial_regularization: float = 1e-9) -> Self:
        """Crocoddyl's algorithm and values (3.2.1)."""
        return cls(
            max_iterations=max_iterations,
            tolerance=1e-9,
            relative_tolerance=0.0,
            confirm_gradient=False,
            acceptance=0.1,
            gradient_tolerance=1e-12,
            step_lengths=tuple(0.5**i for i in range(10)),
            step_growth=1.0,
            relative_regularization=False,
            initial_regularization=initial_regularization,
            min_regularization=1e-9,
            max_regularization=1e9,
            regularization_increase=10.0,
            regularization_decrease=10.0,
            good_step=0.5,
            bad_step=0.01,
            regularize_value=True,
            rollout_on_failure=False,
            hessian="gauss-newton",
        )


@dataclass(frozen=True, kw_only=True)
class FDDPOptions(DDPOptions):
    """Options of SolverFDDP, beside those of DDP.

    Attributes:
        initial_regularization: As Crocoddyl's 1e-9: gaps absorb what is not linear.
        negative_acceptance: While there are gaps, a step that is expected to raise the cost is accepted when
            dV > negative_acceptance · expected dV (both negative) [-].
    """

    initial_regularization: float = 1e-9
    negative_acceptance: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("negative_acceptance", above=0.0, inclusive=True)


@dataclass(frozen=True, kw_only=True)
class SQPOptions(SolverOptions):
    """Options of SolverSQP.

    Attributes:
        steps: "policy", rollouts of the quadratic program's policy, which are robust; or "linear", steps along a line,
            all knots at once, for good guesses and for receding horizons.
        qp: What solves the quadratic programs: "ipm", an interior point, "admm", "osqp", or a solver that comes with
            CasADi, such as "hpipm", "proxqp", "qpoases" or "daqp".
        qp_iterations: Most iterations of "ipm", "admm" and "osqp", such as 20 steps of "admm", whose result is used as
            it is; None for those that it takes [-].
        tolerance: Largest gradient of the Lagrangian along the controls, of the cost scaled so that the mean of |diag
            Luu| is 1 [-].
        relative_tolerance: ... or, as rounding may hide that, decrease of the merit that the last QP has promised,
            relative to the scaled cost, at least 1, or a tenth of the increase [-].
        feasibility: Largest violation of a row, and largest product of a multiplier and the distance from its bound
            [-].
        initial_penalty: First penalty weight of rows at the end, of the scaled cost [-].
        path_penalty_ratio: Weight of other rows, relative to that [-].
        penalty_increase: Factor after a step that was good enough [-].
        max_penalty: Largest weight of rows at the end [-].
        step_lengths: Step lengths that are tried, decreasing [-].
        restart: Iterations within which the largest error must halve; else the solve tries another method, or begins
            anew from the guess's controls [-].
        hessian: "auto", the Hessian of the Lagrangian as far as it is convex, blended with Gauss-Newton's where it is
            not, where all models have it; "exact", the same, and models without it raise; or "gauss-newton".
    """

    steps: str = "policy"
    qp: str = "ipm"
    qp_iterations: int | None = None
    tolerance: float = 1e-8
    relative_tolerance: float = 1e-10
    feasibility: float = 1e-7
    initial_penalty: float = 100.0
    path_penalty_ratio: float = 100.0
    penalty_increase: float = 30.0
    max_penalty: float = 1e7
    step_lengths: tuple[float, ...] = tuple(0.5**i for i in range(12))
    restart: int = 40
    hessian: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_hessian(self.hessian)
        self._check_steps()
        for name in ("tolerance", "feasibility", "initial_penalty", "max_penalty"):
            self._check(name, above=0.0, inclusive=False)
        self._check("relative_tolerance", above=0.0, inclusive=True)
        self._check("path_penalty_ratio", above=1.0, inclusive=True)
        self._check("penalty_increase", above=1.0, inclusive=False)
        object.__setattr__(self, "restart", check_count("restart", self.restart, least=1, most=2**62))
        object.__setattr__(self, "step_lengths", check_step_lengths(self.step_lengths))

    def _check_steps(self) -> None:
        if not isinstance(self.steps, str) or self.steps not in ("policy", "linear"):
            raise InvalidArgumentError(f"steps: expected 'policy' or 'linear', got {shown(self.steps)}")
        own = ("ipm", "admm", "osqp")
        if not isinstance(self.qp, str) or not (self.qp in own or ca.has_conic(self.qp)):
            there = [name for name in ("hpipm", "proxqp", "qpoases", "daqp", "qrqp") if ca.has_conic(name)]
            raise InvalidArgumentError(f"qp: expected one of {', '.join((*own, *there))}, got {shown(self.qp)}")
        if self.qp_iterations is not None:
            check_count("qp_iterations", self.qp_iterations, least=1)
            if self.qp not in own:
                raise InvalidArgumentError(f"qp_iterations: {', '.join(own)} take it; expected None with {self.qp!r}")


@dataclass(frozen=True, kw_only=True)
class NLPOptions(SolverOptions):
    """Options of SolverIpopt and SolverFatrop.

    Attributes:
        max_iterations: At most this many iterations [-].
        tolerance: Tolerance of the solver, as it defines it [-].
        settings: Further settings of the solver by their own names.
    """

    max_iterations: int = 1000
    tolerance: float = 1e-9
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("tolerance", above=0.0, inclusive=False)
        check_mapping("settings", self.settings, "write {name: value}, with the solver's own names")
