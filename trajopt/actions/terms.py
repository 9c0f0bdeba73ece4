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
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.base import Model
from trajopt.model.parts import ParameterArray, Part, kept_part
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
        self._parts: dict[tuple[str, bool], Part] = {}

    def call(
        self,
        program: Program,
        arrays: Mapping[str, Array],
        parameters: ParameterArray,
        *,
        derivatives: bool,
        rows: bool = True,
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Adds the calls that compute costs and constraint rows, and returns their results.

        Results of the costs are "cost" (1,), with derivatives also "g" and "H", and if costs depend on z "Lz", "Lzz"
        (nz, nz), "Lzy" (nz, n) and `felt`. Those of the rows are "rows" (nc,), with derivatives also "C", and if rows
        depend on z "Rz" (nc, nz) and `felt`; empty without constraints.

        Args:
            program: Program that gets the calls.
            arrays: x, u, weight and parts of z by name.
            parameters: Parameters of the model.
            derivatives: Whether derivatives are computed.
            rows: Whether rows are computed.
        """
        costs = self._part("costs", derivatives).call(program, arrays, parameters, joins=True)
        if not (rows and self._constraints.constraints):
            return costs, {}
        return costs, self._part("constraints", derivatives).call(program, arrays, parameters, joins=True)

    def _part(self, what: str, derivatives: bool) -> Part:
        if (what, derivatives) not in self._parts:
            self._parts[what, derivatives] = self._kept(what, derivatives)
        return self._parts[what, derivatives]

    def _kept(self, what: str, derivatives: bool) -> Part:
        stack, name = self._costs if what == "costs" else self._constraints, f"{'derivatives of ' * derivatives}{what}"

        def build() -> Part:
            i = self._instant(derivatives)
            if what == "costs":
                expressions = self._cost_derivatives(i) if derivatives else self._cost(i)
            else:
                expressions = self._row_derivatives(i) if derivatives else {"rows": self._constraints.rows(i)}
            weight = {"weight": self._weight} if self._weighted and what == "costs" else {}
            return Part.of(f"{name} of {self._of}", inputs_of(i) | weight, self._model.layout, expressions)

        i = self._instant(derivatives)
        forces = " and forces" if i.forces else ""  # an impulse has no controls, as a running knot and as the end
        return kept_part(self._model, f"{name} at {i.nu} controls{forces}", (stack, i.signature, self._weighted), build)

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
