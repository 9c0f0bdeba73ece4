"""Choice of a knot's unknowns among the values of all phases, by run-time parameters."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.model.parameters import Parameter


class PhaseSelection:
    """Unknowns of a knot: Σ_p s_p θ_p + (1 - Σ_p s_p) own, where row s is 1 at the knot's phase and 0 elsewhere.

    Args:
        sizes: Number of scalars of each unknown at one knot, by its name.
        phases: Number of phases of each unknown that has phases, by its name; of the others all knots have the value.
        parameters: Parameters of the model, which may lack some of the unknowns.

    Attributes:
        parameters: The rows s, a parameter "name.phase" (phases,) for each unknown of the model that has phases.
        states: Symbols of the values of all phases (k,); the phase changes fastest.
        values: The unknowns of the knot, of `states`, the rows and the parameters.
        matrix: Derivative of `values` by `states`; it has only rows s.
    """

    def __init__(
        self, sizes: Mapping[str, int], phases: Mapping[str, int], parameters: Mapping[str, Parameter]
    ) -> None:
        self.parameters = dict[str, Parameter]()
        blocks, kept = list[SX](), list[SX]()
        for name, size in sizes.items():
            count, own = phases.get(name), SX(size, 1)
            row = SX(1, count or 1)  # a model without the parameter reads no phase
            if count is None:
                row = SX.ones(1, 1)
            elif name in parameters:
                symbol = SX.sym(f"{name}.phase", count)
                self.parameters[f"{name}.phase"] = Parameter(f"{name}.phase", symbol, np.zeros(count))
                row, own = symbol.T, (1.0 - ca.sum1(symbol)) * ca.vec(parameters[name].symbol)
            blocks.append(ca.kron(SX.eye(size), row))
            kept.append(own)
        self.matrix, self._kept = SX(ca.diagcat(*blocks)), SX(ca.vertcat(*kept))
        self.states = SX.sym("theta", self.matrix.shape[1])
        self.values = self.at(self.states)

    def at(self, states: SX) -> SX:
        """The unknowns of the knot at values of all phases (k,)."""
        return SX(ca.densify(self.matrix @ states + self._kept))
