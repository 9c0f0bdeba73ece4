"""Dynamics that a neural network has learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy.typing as npt
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Stage
from trajopt.checks import check_instance
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.content import Without
from trajopt.model.functions import call_user, function_of
from trajopt.model.parts import Part, computed, kept_part
from trajopt.networks.network import Network
from trajopt.networks.steps import add_derivatives, add_values
from trajopt.states.base import StateAbstract

_WEIGHTS = 6_000
"""Largest number of weights, times stages of a step, whose second derivatives compile within some seconds."""
_CURE = "a function of x and u may use numbers besides"


class DifferentialActionModelNetwork(DifferentialActionModelAbstract):
    """Learned dynamics: dv/dt = g(x, u) + N(φ(x, u)) with x = (q, v), or dx/dt = g(x, u) + N(φ(x, u)).

    The layers are matrix products of the compiled code: 3 x 64 compile and run several times faster than a `Network` in
    the expression of a DifferentialActionModelSymbolic. The number of outputs decides the order of the system.

    Second derivatives of the dynamics are those of the whole expression, which takes longer to compile: by default up
    to 6,000 weights, a quarter of that with IntegratedActionModelRK4, and beyond with `hessian="exact"` of a solver.
    Without them SolverSQP uses Gauss-Newton Hessians, and may take ten times the iterations.

    Args:
        state: The state's manifold.
        nu: Number of controls [-].
        costs: Running costs [cost/s]. The model freezes them.
        network: The network N. It returns the acceleration (ndx / 2,) or the rate of the state (ndx,).
        features: Function φ of CasADi symbols x (nx,) and u (nu,) that returns the input of the network, such as
            `lambda x, u: [ca.sin(x[0]), ca.cos(x[0]), x[1], u[0]]`; by default x and u, stacked.
        nominal: Function g of x and u that returns what is known of the dynamics, in the size of the network's output;
            by default 0.
        constraints: Constraints of each knot; none by default. The model freezes them.
        lower: Lower limits of the controls (nu,), see DifferentialActionModelAbstract.
        upper: Upper limits of the controls (nu,).
        control_names: Name of each control, for plots.
        control_units: Unit of each control, for plots.

    Raises:
        InvalidArgumentError: The size of the network does not fit the state or the features.
    """

    exact_hessian = True

    def __init__(
        self,
        state: StateAbstract,
        nu: int,
        costs: CostStack,
        network: Network,
        *,
        features: Callable[[SX, SX], Any] | None = None,
        nominal: Callable[[SX, SX], Any] | None = None,
        constraints: ConstraintStack | None = None,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        control_names: list[str] | None = None,
        control_units: list[str] | None = None,
    ) -> None:
        names: dict[str, Any] = {"control_names": control_names, "control_units": control_units}
        super().__init__(state, nu, costs, constraints=constraints, lower=lower, upper=upper, **names)
        self.network = check_instance("network", network, Network, "such as trajopt.Network(weights, biases)")
        n = network.outputs
        self.second_order = n != state.ndx
        if self.second_order and not (state.has_velocities and 2 * n == state.ndx):
            accelerations = f"{state.ndx // 2} accelerations or " if state.has_velocities else ""
            raise InvalidArgumentError(
                f"network: expected one that returns {accelerations}{state.ndx} rates of {state!r}, got {network!r}"
            )
        i = self.instant()
        inputs = ca.vertcat(i.x, i.u) if features is None else call_user("features", features, i.x, i.u)
        if inputs.shape != (network.inputs, 1):
            cure = "" if features else f"; features=lambda x, u: [...] computes them from x ({state.nx},) and u ({nu},)"
            raise InvalidArgumentError(
                f"features: expected {network.inputs} inputs of the network, got shape {inputs.shape}{cure}"
            )
        g = SX(n, 1) if nominal is None else call_user("nominal", nominal, i.x, i.u)
        if g.shape != (n, 1):
            raise InvalidArgumentError(f"nominal: expected shape ({n}, 1) as the network returns, got {g.shape}")
        self._features = function_of("features", [i.x, i.u], [inputs], _CURE)
        self._nominal = None if nominal is None else function_of("nominal", [i.x, i.u], [g], _CURE)

    def has_long_hessian(self, stages: int) -> bool:
        return stages * sum(layer.weights.size for layer in self.network.layers) > _WEIGHTS

    def dynamics(self, instant: Instant) -> SX:
        f = self.network(SX(self._features(instant.x, instant.u)))
        return f if self._nominal is None else f + self._nominal(instant.x, instant.u)

    def _dynamics_arrays(self, program: Program, stage: Stage, *, derivatives: bool) -> dict[str, Array]:
        r = self._around_network(derivatives).call(program, stage.arrays, stage.parameters)
        if derivatives:
            results = dict(zip(("f", "Df"), add_derivatives(program, self.network, r["z"], r["Dz"])))
        else:
            results = {"f": add_values(program, self.network, r["z"])}
        if self._nominal is None:
            return results
        return {name: computed(program, "sum", _sum, array, r[f"{name} of g"]) for name, array in results.items()}

    def _around_network(self, derivatives: bool) -> Part:
        """Program part of φ, "z" and "Dz", and of g, "f of g" and "Df of g"."""

        def build() -> Part:
            i = self.instant(derivatives=derivatives)
            results = {"z": SX(self._features(i.x, i.u))}
            if self._nominal is not None:
                results["f of g"] = SX(self._nominal(i.x, i.u))
            if derivatives:
                results |= {f"D{name}": SX(ca.horzcat(*i.derivative(value))) for name, value in results.items()}
            label = f"{'derivatives of ' * derivatives}features of {self._dynamics_name()}"
            return Part.of(label, {"x": i.x, "u": i.u}, self.layout, results)

        name = f"{'derivatives of ' * derivatives}features"
        return kept_part(self, name, (Without(self, ("costs", "constraints")),), build)


def _sum(a: SX, b: SX) -> SX:
    return a + b
