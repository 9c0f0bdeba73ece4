"""Costs and constraint rows of a model, as functions of x, u and the quantities z its dynamics solve for.

Because z = (motion, forces, equations) is an input, these functions contain no dynamics. They return derivatives by y
= (x, u) and by z as if both were independent; the caller applies the chain rule from z to y.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import casadi as ca
from casadi import SX

from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.costs.cost_stack import CostStack
from trajopt.instant import Instant
from trajopt.model.base import Model
from trajopt.model.parts import Part, kept_part
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody


class Terms:
    """Program parts for the costs and constraints of one model at one kind of instant.

    Args:
        model: Model whose parameters are read.
        costs: Costs.
        constraints: Constraints.
        instant: Builds the symbols of an instant, for evaluation with derivatives (True) or without.
        of: Name of the robot or class for messages, such as "go2".
        weighted: Whether costs are multiplied by an input "weight" (1,).
    """

    def __init__(
        self,
        model: Model,
        costs: CostStack,
        constraints: ConstraintStack,
        instant: Callable[[bool], Instant],
        of: str,
        *,
        weighted: bool,
    ) -> None:
        self._model, self._costs, self._constraints, self._instant = model, costs, constraints, instant
        self._of, self._weighted = of, weighted

    @functools.cached_property
    def cost(self) -> Part:
        """Part of the program that computes the cost, with the result "cost" (1,)."""
        return self._kept("costs", self._costs, False, self._cost)

    @functools.cached_property
    def cost_derivatives(self) -> Part:
        """Part with "cost", "g" and "H"; if costs depend on z also "Lz", "Lzz" (nz, nz), "Lzy" (nz, n) and `felt`."""
        return self._kept("derivatives of costs", self._costs, True, self._cost_derivatives)

    @functools.cached_property
    def rows(self) -> Part:
        """Part of the program that computes the constraint rows, with the result "rows" (nc,)."""
        return self._kept("constraints", self._constraints, False, lambda i: {"rows": self._constraints.rows(i)})

    @functools.cached_property
    def row_derivatives(self) -> Part:
        """Part with "rows" and "C"; if rows depend on z also "Rz" (nc, nz) and `felt`."""
        return self._kept("derivatives of constraints", self._constraints, True, self._row_derivatives)

    def _kept(
        self,
        what: str,
        stack: CostStack | ConstraintStack,
        derivatives: bool,
        results: Callable[[Instant], Mapping[str, SX]],
    ) -> Part:
        def build() -> Part:
            i = self._instant(derivatives)
            expressions = results(i)
            weight = {"weight": self._weight} if self._weighted and isinstance(stack, CostStack) else {}
            return Part.of(f"{what} of {self._of}", inputs_of(i) | weight, self._model.layout, expressions)

        i = self._instant(derivatives)
        forces = " and forces" if i.forces else ""  # an impulse has no controls, as a running knot and as the end
        return kept_part(self._model, f"{what} at {i.nu} controls{forces}", (stack, i.signature, self._weighted), build)

    @functools.cached_property
    def _weight(self) -> SX:
        return SX.sym("weight")

    def _cost(self, i: Instant) -> dict[str, SX]:
        cost = sum(self._costs.values(i).values(), SX(0))
        return {"cost": self._weight * cost if self._weighted else cost}

    def _cost_derivatives(self, i: Instant) -> dict[str, SX]:
        q, w = self._costs.quadratic(i), self._weight if self._weighted else 1.0
        results = {"cost": w * q.cost, "g": w * q.Ly, "H": w * q.Lyy}
        if q.Lz.nnz():
            results |= {"Lz": w * q.Lz, "Lzz": w * q.Lzz, "Lzy": w * q.Lzy}
            results |= felt(i, ca.fabs(q.Lz) + ca.sum2(ca.fabs(q.Lzz)))
        return {name: SX(ca.sparsify(value)) for name, value in results.items()}

    def _row_derivatives(self, i: Instant) -> dict[str, SX]:
        rows, s = self._constraints.rows(i), i.state.ndx + i.nu
        C = self._constraints.derivative(i)
        results = {"rows": rows, "C": C[:, :s]}
        if C[:, s:].nnz():
            results |= {"Rz": C[:, s:], **felt(i, ca.sum1(ca.fabs(C[:, s:])).T)}
        return {name: SX(ca.sparsify(value)) for name, value in results.items()}


def inputs_of(i: Instant) -> dict[str, SX]:
    """Symbols of an instant by the names of a model's arrays: "x", "u", and the solved quantities."""
    named = {"x": i.x} | ({"u": i.u} if i.nu else {})
    if i.solved_motion.numel():
        named["motion"] = i.solved_motion
    for name, symbols in (("forces", i.forces), ("equations", i.equations)):
        if symbols:
            named[name] = SX(ca.vertcat(*symbols.values()))
    return named


def felt(i: Instant, sizes: SX) -> dict[str, SX]:
    """Sensitivities that show which entries of z matter: "felt" of forces, "solved_felt" of all z if it has more.

    Args:
        i: The instant.
        sizes: One value for each entry of `Instant.solved`, zero if nothing depends on it.
    """
    first = i.solved_motion.numel()
    count = sum(int(force.numel()) for force in i.forces.values())
    named = {"felt": sizes[first : first + count]}
    return named | ({"solved_felt": sizes} if first else {})


def name_of(state: StateAbstract, otherwise: type) -> str:
    """Name of the robot of a state, or else of a class, for messages."""
    return state.robot.name if isinstance(state, StateMultibody) else otherwise.__name__
