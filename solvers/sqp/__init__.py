"""Sequential quadratic programming: rows of constraints, a quadratic model, a search, and the loop."""

from typing import TYPE_CHECKING

from trajopt.objects.lazy import lazy

if TYPE_CHECKING:
    from trajopt.solvers.sqp.solver import SolverSQP
else:
    __getattr__, __dir__ = lazy(__name__)

__all__ = ["SolverSQP"]
