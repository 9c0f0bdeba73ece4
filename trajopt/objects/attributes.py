"""Attributes that there are not: what stands for the name in Crocoddyl, or a near name, in the message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from trajopt.errors import UnknownAttributeError, close_names

CROCODDYL = {
    "runningModels": "running",
    "terminalModel": "terminal",
    "runningDatas": "a problem keeps its arrays itself; problem.calc_diff(xs, us) returns them",
    "nthreads": "trajopt.set_num_threads(n)",
    "quasiStatic": "quasi_static",
    "calcDiff": "calc_diff",
    "createData": "create_data",
    "addCost": "add(name, residual, weight)",
    "addContact": "add(name, contact)",
    "addImpulse": "add(name, impulse)",
    "addConstraint": "add(name, residual, lower=..., upper=...)",
    "changeCostStatus": "problem.set_parameter('NAME.weight', 0.0, knots) leaves a term out",
    "changeContactStatus": "problem.set_parameter('contacts.NAME.active', 0, knots)",
    "circularAppend": "circular_append",
    "pinocchio": "model, that of Pinocchio",
    "diff": "difference",
    "Jdiff": "jdifference",
    "Jintegrate": "jintegrate",
    "lb": "lower",
    "ub": "upper",
    "u_lb": "lower",
    "u_ub": "upper",
    "q0": "configurations, by name",
}
"""Attributes and methods of Crocoddyl's classes, and what has their place."""

CLASSES = {
    "CostModelSum": "CostStack",
    "CostModelResidual": "CostStack(state).add(name, residual, weight)",
    "ConstraintModelManager": "ConstraintStack",
    "ConstraintModelResidual": "ConstraintStack(state).add(name, residual, lower=..., upper=...)",
    "ContactModelMultiple": "ContactStack",
    "ImpulseModelMultiple": "ImpulseStack",
    "SimpleQuadrupedalGaitProblem": "gaits.quadruped_walk and others, and gaits.gait_problem",
    "SimpleBipedGaitProblem": "gaits.biped_walk and gaits.gait_problem",
    "RobotExpressions": "dynamics.RobotExpressions",
    **{f"Solver{name}": f"solvers.Solver{name}" for name in ("DDP", "FDDP", "SQP", "Ipopt", "Fatrop")},
    **{f"{name}Options": f"solvers.{name}Options" for name in ("DDP", "FDDP", "SQP", "NLP")},
}
"""Classes of Crocoddyl, and of our solvers, and where they are."""


class ExplainsAttributes:
    """Base of objects that say what is meant when an attribute is asked for that they don't have."""

    attribute_hints: ClassVar[Mapping[str, str]] = CROCODDYL

    if not TYPE_CHECKING:  # type checkers are to refuse unknown attributes

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or hasattr(type(self), name):  # a property that failed keeps its error
                return object.__getattribute__(self, name)
            hint = self.attribute_hint(name)
            raise UnknownAttributeError(f"{type(self).__name__} has no attribute {name!r}{hint and f'; {hint}'}")

    def attribute_hint(self, name: str) -> str:
        """Words on what may be meant by an attribute that there is not; empty if nothing is known."""
        known = [each for each in dir(self) if not each.startswith("_")]
        if name in self.attribute_hints and name not in known:
            meant = self.attribute_hints[name]
            if not meant.isidentifier() or meant in known:
                return f"here: {meant}"
        close = close_names(name, known)
        return f"did you mean {' or '.join(close)}?" if close else ""
