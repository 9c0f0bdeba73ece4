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
        max_iterations: Largest number of iterations, >= 1 [-].
        time_limit: Wall time without compiling after which a solve stops, checked once per iteration, and from several
            starts each of them [s]; None for no limit.
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

    def _check_flags(self, *names: str) -> None:
        """Raises InvalidArgumentError unless these fields are True or False; neither 1 nor 0."""
        for name in names:
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise InvalidArgumentError(f"{name}: expected True or False, got {getattr(self, name)!r}")


def check_hessian(hessian: Any) -> None:
    """Raises InvalidArgumentError unless `hessian` is a valid name."""
    if not isinstance(hessian, str) or hessian not in ("gauss-newton", "exact", "auto"):
        raise InvalidArgumentError(f"hessian: expected 'gauss-newton', 'exact' or 'auto', got {shown(hessian)}")


def check_step_lengths(lengths: Any) -> tuple[float, ...]:
    """Returns step lengths as floats; raises InvalidArgumentError unless they decrease and lie in (0, 1]."""
    expected = "a tuple of decreasing numbers in (0, 1]"
    fine = isinstance(lengths, tuple) and 0 < len(lengths) <= 1000
    numbers = as_numbers("step_lengths", lengths, expected) if fine else np.zeros(1)
    if numbers.ndim != 1 or not numbers[0] <= 1 or not all(a > b for a, b in itertools.pairwise((*numbers, 0.0))):
        raise InvalidArgumentError(f"step_lengths: expected {expected}, got {shown(lengths)}; such as (1.0, 0.5)")
    return tuple(float(a) for a in numbers)


@dataclass(frozen=True, kw_only=True)
class DDPOptions(SolverOptions):
    """Options of SolverDDP, in addition to those of every solver.

    `DDPOptions()` holds the defaults of this package, `DDPOptions.crocoddyl()` those of Crocoddyl.

    If `tolerance` and `gradient_tolerance` are 0, scaling all costs by a positive number changes neither trajectories
    nor number of iterations nor status. Tolerances and regularisation are therefore relative to two scales of the
    problem:

    - S [cost], the scale of the costs: min(Σ|l_t|, S1) + 1e-14 S1, where l_t is the cost of knot t, and S1 = Σ|l_t| +
      |d0 + d1 / 2| at the first rollout. S1 keeps the tolerance fixed while a cost decreases without bound.
    - h, the scale of the curvature at the guess: sqrt(a b), where a is the mean of the diagonals of all Luu and b that
      of the diagonal of Σ Lxx, terminal included; negative entries count as 0. It is of the order of Vxx if control is
      cheap (for a scalar integrator, V² = Luu Lxx). If one of a, b is 0, h is the other one; if both are, h is the
      largest slope of the cost.

    Attributes:
        tolerance: Converged when |d0 + d1 / 2| <= tolerance + relative_tolerance · S [cost] and the last step started
            from a rollout. d0 + d1 / 2 is the predicted decrease of the cost for a full step (half the squared Newton
            step in the metric of the Hessian).
        relative_tolerance: See `tolerance` [-].
        confirm_gradient: Whether a predicted decrease below the tolerance must be confirmed without regularisation,
            since a large ρ makes it small even where the gradient is not. It is computed again with the smallest ρ >=
            min_regularization for which Quu is positive definite. Crocoddyl does not.
        acceptance: A step is accepted when dV > acceptance · expected dV [-].
        gradient_tolerance: ... or when |d0| <= gradient_tolerance + 1e-3 relative_tolerance · S [cost].
        step_lengths: Step lengths of the line search, decreasing; the first two alone, then several at once [-].
        step_growth: Factor >= 1 by which a full step from a rollout grows while the cost keeps decreasing, if it
            achieved more than 1.5 times the predicted decrease; 1 disables it [-]. Gauss-Newton overestimates the
            curvature there. With 2, DDP balances 70 of 100 cart-poles instead of 61, in half the iterations.
        relative_regularization: Whether all ρ are in units of h; Crocoddyl's are absolute.
        initial_regularization: First regularisation ρ [-]. Crocoddyl starts with 1e-9 (absolute). Since every
            trajectory of DDP is a rollout, 2 is more robust: three arm reaches with small control costs all end near
            the best known minimum; with 1e-9 none does.
        min_regularization: Smallest ρ, > 0; only the first one may be smaller [-].
        max_regularization: Largest ρ; a solve that needs a larger one stops [-].
        regularization_increase: Factor by which ρ grows after a failed direction or search [-].
        regularization_decrease: Factor by which ρ shrinks after a good step [-].
        good_step: A step longer than this decreases ρ [-].
        bad_step: A step of at most this length, or a failed search, increases ρ [-].
        regularize_value: Whether ρ is added to Vxx at every knot as well as to Quu, as in Crocoddyl.
        rollout_on_failure: Whether DDP continues from the rollout of the guess's controls if no step from a guess with
            gaps is accepted. Crocoddyl stops with the guess.
        hessian: "gauss-newton"; "exact", the Hessian of the Lagrangian where it is convex, blended with Gauss-Newton
            where it is not, for models that have it; or "auto". "auto" starts with Gauss-Newton and switches to exact
            Hessians after many short or poor steps, or if many more are expected (`solvers/ddp/curvature.py`). Then
            step lengths up to 1/8 increase ρ. It pauses exact Hessians while a Gauss-Newton step is better and achieves
            its predicted decrease. Crocoddyl uses "gauss-newton".
        rollout_margin: With rollout_on_failure, a step from a guess with gaps is accepted if its cost exceeds that of
            this rollout by at most rollout_margin · Σ|l_t| of the rollout [-]. Crocoddyl accepts any step.
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
        self._check_flags("confirm_gradient", "relative_regularization", "regularize_value", "rollout_on_failure")
        for name in ("initial_regularization", "min_regularization"):
            if getattr(self, name) > self.max_regularization:
                raise InvalidArgumentError(
                    f"{name}: expected <= max_regularization = {self.max_regularization}, got {getattr(self, name)}"
                )
        self._check("step_growth", above=1.0, inclusive=True)
        check_hessian(self.hessian)
        object.__setattr__(self, "step_lengths", check_step_lengths(self.step_lengths))

    @classmethod
    def crocoddyl(cls, *, max_iterations: int = 100, initial_regularization: float = 1e-9) -> Self:
        """Options with Crocoddyl's algorithm and values (3.2.1)."""
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
    """Options of SolverFDDP, in addition to those of DDP.

    Attributes:
        initial_regularization: First ρ, 1e-9 as in Crocoddyl, since gaps absorb nonlinearity.
        negative_acceptance: While there are gaps, a step with a predicted increase of the cost is accepted when
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
        steps: "policy", rollouts with the feedback policy of the quadratic program, which are robust; or "linear",
            steps along a line at all knots at once, for good guesses and for receding horizons.
        qp: Solver of the quadratic programs: "ipm", an interior-point method, "osqp", or a solver that comes with
            CasADi, such as "hpipm", "proxqp", "qpoases" or "daqp".
        qp_iterations: Largest number of iterations of "ipm" or "osqp" per quadratic program; the result is used even
            if it has not converged. None for no limit of its own [-].
        tolerance: Converged when no entry of the Lagrangian's gradient along the controls exceeds this, relative to a
            typical cost over the size of the control, as the solver estimates them (`Units`) [-] ...
        relative_tolerance: ... or, since rounding may hide that, when the last QP predicted a change of the merit by
            less than this, relative to the cost. With a part of the exact Hessian, the gradient must also have stopped
            to fall by half in an iteration [-].
        feasibility: Largest violation of a row, and largest gap, relative to the size of the row or state. Products of
            multipliers and distances from bounds may be this, or `tolerance`, relative to a typical cost, or 1e-11 [-].
        initial_penalty: First penalty weight of rows, relative to the curvature of the cost along them [-].
        penalty_increase: Factor by which penalty weights grow after a sufficiently good step [-].
        max_penalty: Largest penalty weight of rows, relative to the same [-].
        step_lengths: Step lengths of the line search, decreasing [-].
        restart: Number of iterations within which the largest error must halve, or in the first attempt the cost of a
            motion that keeps all rows fall by a tenth. Otherwise the solver tries another method, or another guess [-].
        hessian: "auto", the Hessian of the Lagrangian where it is convex, blended with Gauss-Newton where it is not,
            if all models have it; "exact", the same, but it raises for models without it; or "gauss-newton".
    """

    steps: str = "policy"
    qp: str = "ipm"
    qp_iterations: int | None = None
    tolerance: float = 1e-8
    relative_tolerance: float = 1e-10
    feasibility: float = 1e-9
    initial_penalty: float = 15.0
    penalty_increase: float = 30.0
    max_penalty: float = 1e8
    step_lengths: tuple[float, ...] = tuple(0.5**i for i in range(12))
    restart: int = 25
    hessian: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_hessian(self.hessian)
        self._check_steps()
        for name in ("tolerance", "feasibility", "initial_penalty", "max_penalty"):
            self._check(name, above=0.0, inclusive=False)
        self._check("relative_tolerance", above=0.0, inclusive=True)
        self._check("penalty_increase", above=1.0, inclusive=False)
        object.__setattr__(self, "restart", check_count("restart", self.restart, least=1, most=2**62))
        object.__setattr__(self, "step_lengths", check_step_lengths(self.step_lengths))

    def _check_steps(self) -> None:
        if not isinstance(self.steps, str) or self.steps not in ("policy", "linear"):
            raise InvalidArgumentError(f"steps: expected 'policy' or 'linear', got {shown(self.steps)}")
        if isinstance(self.qp, str) and self.qp == "admm":
            raise InvalidArgumentError("qp: 'admm' is gone: use 'ipm', which is faster")
        own = ("ipm", "osqp")
        if not isinstance(self.qp, str) or not (self.qp in own or ca.has_conic(self.qp)):
            there = [name for name in ("hpipm", "proxqp", "qpoases", "daqp", "qrqp") if ca.has_conic(name)]
            raise InvalidArgumentError(f"qp: expected one of {', '.join((*own, *there))}, got {shown(self.qp)}")
        if self.qp_iterations is not None:
            check_count("qp_iterations", self.qp_iterations, least=1)
            if self.qp not in own:
                raise InvalidArgumentError(f"qp_iterations: expected None for {self.qp!r}, got a number; leave it out")


@dataclass(frozen=True, kw_only=True)
class NLPOptions(SolverOptions):
    """Options of SolverIpopt and SolverFatrop.

    Attributes:
        max_iterations: Largest number of iterations [-].
        tolerance: Tolerance of the solver, as it defines it; of derivatives it is absolute, so with very small weights
            solves end early: multiply all weights by one number [-].
        settings: Further settings of the solver, by the solver's own names.
    """

    max_iterations: int = 1000
    tolerance: float = 1e-9
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("tolerance", above=0.0, inclusive=False)
        check_mapping("settings", self.settings, "write {name: value}, with the solver's own names")
