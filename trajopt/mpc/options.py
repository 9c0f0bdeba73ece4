"""Options of a model-predictive controller: frozen, keyword-only, checked."""

from __future__ import annotations

from dataclasses import dataclass

from trajopt.checks import check_count, check_instance, check_non_negative, check_positive
from trajopt.errors import InvalidArgumentError, shown
from trajopt.solvers import SolverOptions

MODES = ("real-time", "converged")
ON_FAILURE = ("feedback", "solve")
HESSIANS = ("exact", "gauss-newton")


@dataclass(frozen=True, kw_only=True)
class MPCOptions:
    """Options of MPCController.

    Attributes:
        dt: Time from one measurement to the next [s]; by default that from the first knot to the second one. It may
            be a part of it, or several of them.
        mode: "real-time", SQP iterations with full steps, of which all that does not need the measurement is done
            before it comes; it takes SolverSQP. Or "converged": the solver goes on until it has converged.
        iterations: SQP iterations of a step under "real-time" [-].
        hessian: Of these iterations: "exact", that of the Lagrangian as far as all models give it and it is convex; or
            "gauss-newton", that of the costs alone, which takes less time. It tracks references as well; where little
            else than an effort is paid for, as in a swing-up, plans fall apart with it.
        time_budget: Time that the feedback phase may take, checked once an iteration of SQP, and of the interior point
            inside it [s]; then it returns the best so far. None for no limit, and results that are the same each time.
        solver_options: Options of the solver: of the first solve, and of all under "converged".
        soft: Prices (linear, quadratic) of the slacks of hard constraints that are free of the control, which a
            measurement may violate [cost by unit of the row]; by default such that they give only where nothing else
            helps. Constraints that are soft in the model keep their own.
        on_failure: After a failed step, "feedback": further steps start from the last plan, until one succeeds; or
            "solve": the next one is a solve from there, as the first one.
    """

    dt: float | None = None
    mode: str = "real-time"
    iterations: int = 1
    hessian: str = "exact"
    time_budget: float | None = None
    solver_options: SolverOptions | None = None
    soft: tuple[float, float] | None = None
    on_failure: str = "feedback"

    def __post_init__(self) -> None:
        for name in ("dt", "time_budget"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_positive(name, getattr(self, name), unit="s"))
        for name, known in (("mode", MODES), ("hessian", HESSIANS), ("on_failure", ON_FAILURE)):
            if getattr(self, name) not in known:
                expected = " or ".join(repr(each) for each in known)
                raise InvalidArgumentError(f"{name}: expected {expected}, got {shown(getattr(self, name))}")
        check_count("iterations", self.iterations, least=1)
        if self.solver_options is not None:
            check_instance("solver_options", self.solver_options, SolverOptions, "such as SQPOptions(qp='admm')")
        if self.soft is not None:
            self._check_soft()

    def _check_soft(self) -> None:
        if not isinstance(self.soft, (list, tuple)) or len(self.soft) != 2:
            raise InvalidArgumentError(f"soft: expected two weights (linear, quadratic), got {shown(self.soft)}")
        linear, quadratic = (check_non_negative("soft", weight) for weight in self.soft)
        if linear == quadratic == 0.0:
            raise InvalidArgumentError("soft: expected a weight > 0, got 0 and 0")
        object.__setattr__(self, "soft", (linear, quadratic))
