"""Messages about missing attributes: they suggest the counterpart of a Crocoddyl name, or a similar name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from trajopt.errors import UnknownAttributeError, close_names

CROCODDYL = {
    "runningModels": "running",
    "terminalModel": "terminal",
    "runningDatas": "a problem manages its own arrays; problem.calc_diff(xs, us) returns them",
    "nthreads": "trajopt.set_num_threads(n)",
    "quasiStatic": "quasi_static",
    "calcDiff": "calc_diff",
    "createData": "create_data",
    "addCost": "add(name, residual, weight)",
    "addContact": "add(name, contact)",
    "addImpulse": "add(name, impulse)",
    "addConstraint": "add(name, residual, lower=..., upper=...)",
    "changeCostStatus": "problem.set_parameter('NAME.weight', 0.0, knots) switches a term off",
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
"""Attributes and methods of Crocoddyl's classes, and their replacements."""

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
"""Classes of Crocoddyl and solvers of this package, and where to find them."""


class ExplainsAttributes:
    """Base of objects whose error for a missing attribute suggests the right one."""

    attribute_hints: ClassVar[Mapping[str, str]] = CROCODDYL

    if not TYPE_CHECKING:  # type checkers shall reject unknown attributes

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or hasattr(type(self), name):  # the latter: a property failed with its own error
                return object.__getattribute__(self, name)
            hint = self.attribute_hint(name)
            raise UnknownAttributeError(f"{type(self).__name__} has no attribute {name!r}{hint and f'; {hint}'}")

    def attribute_hint(self, name: str) -> str:
        """Text that suggests a replacement for a missing attribute; empty without a suggestion."""
        names = [each for each in dir(self) if not each.startswith("_")]
        if name in self.attribute_hints and name not in names:
            meant = self.attribute_hints[name]
            if not meant.isidentifier() or meant in names:
                return f"here: {meant}"
        close = close_names(name, names)
        return f"did you mean {' or '.join(close)}?" if close else ""
