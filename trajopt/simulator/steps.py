"""Steps of the simulator: interface and shared parts of the modes."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import named_call
from trajopt.simulator.model import SimulatorModel


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Input arrays of a step of the simulator.

    Attributes:
        qdq: Input of the mode.
        torque: τ (nv,).
        parameters: Run-time parameters.
        following: State of the next knot (nx,), at which an implicit step is linearised; None to solve for it.
    """

    qdq: Array
    torque: Array
    parameters: Array
    following: Array | None = None


@dataclass(frozen=True, kw_only=True)
class StepValues:
    """Results of a step of the simulator.

    Attributes:
        result: Output of the mode.
        force: Reported force of each contact, stacked.
        velocity: Velocity after dissipation v̂ (nv,).
    """

    result: Array
    force: Array
    velocity: Array


@dataclass(frozen=True, kw_only=True)
class StepDerivatives:
    """Values and derivatives of a step, in tangent spaces.

    Attributes:
        values: Values of the step.
        Dqdq: Derivative of the result with respect to the input `qdq` (q, v, and accelerations if the mode has them).
        Dtau: Derivative of the result with respect to τ. It is zero in inverse modes.
        force_parts: Function that adds the steps for the derivatives of the reported forces, with respect to each part
            of `qdq` and to τ. It returns an empty list if the mode has none.
    """

    values: StepValues
    Dqdq: Array
    Dtau: Array
    force_parts: Callable[[], list[Array]] = list


@dataclass(frozen=True, kw_only=True)
class VelocityDerivatives:
    """Values of a step, with the derivatives of v₊.

    Attributes:
        values: Values of the step.
        velocity: v₊ (nv,).
        parts: Derivatives of v₊ with respect to q, v and τ, (nv, nv) each.
        force_parts: Function that adds the steps for the derivatives of the reported forces.
    """

    values: StepValues
    velocity: Array
    parts: list[Array]
    force_parts: Callable[[], list[Array]]


class StepAbstract(ABC):
    """The equation of one mode as steps of a program.

    Args:
        model: The simulator's model.

    Attributes:
        accelerations: Number of vectors (nv,) in the input after (q, v) [-].
        with_torque: Whether the step has a torque as input.
        steps_state: Whether the result is the next state.
        tells_forces: Whether derivatives of contact forces are available.
    """

    accelerations = 0
    with_torque = True
    steps_state = True
    tells_forces = False

    def __init__(self, model: SimulatorModel) -> None:
        self.model = model

    @abstractmethod
    def values(self, program: Program, inputs: Inputs) -> StepValues:
        """Adds the steps that compute the results of one step of the simulator."""

    @abstractmethod
    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        """Adds the steps that compute the results of one step of the simulator, and their derivatives."""

    def lift(self, q: SX, v: SX) -> tuple[SX, SX]:
        """Derivatives of q ⊕ dt v by q and by v, (nv, nv) each."""
        m = self.model
        rest = SX.zeros(m.nv)
        first, second = m.state.sx_jintegrate(ca.vertcat(q, rest), ca.vertcat(m.dt * v, rest))
        return first[: m.nv, : m.nv], m.dt * second[: m.nv, : m.nv]

    @property
    def input_size(self) -> int:
        """Number of elements of the input `qdq`: nq + nv, plus nv for each acceleration [-]."""
        return self.model.nq + (1 + self.accelerations) * self.model.nv

    @property
    def given_size(self) -> int:
        """Size of the torque input, or of the settings that replace it [-]."""
        return self.model.nv

    def _parts(self, program: Program, inputs: Inputs) -> list[Array]:
        """Adds the call that splits the input into q, v and the rest."""
        m = self.model
        x = SX.sym("x", self.input_size)
        ends = [0, *(m.nq + i * m.nv for i in range(2 + self.accelerations))]
        parts = [x[first:end] for first, end in itertools.pairwise(ends)]
        return list(program.call(ca.Function("parts", [x], parts), inputs.qdq))


def velocity_rows(program: Program, d: StepDerivatives) -> VelocityDerivatives:
    """Adds the call that extracts v₊ and its derivatives from those of the whole state."""
    nv = d.Dtau.shape[1]
    x, F, G = (SX.sym(name, *a.shape) for name, a in (("x", d.values.result), ("F", d.Dqdq), ("G", d.Dtau)))
    results = [x[x.numel() - nv :], F[nv:, :nv], F[nv:, nv:], G[nv:, :]]
    velocity, *parts = program.call(ca.Function("rows", [x, F, G], results), d.values.result, d.Dqdq, d.Dtau)
    return VelocityDerivatives(values=d.values, velocity=velocity, parts=parts, force_parts=d.force_parts)


class SymplecticStep(StepAbstract):
    """Step that moves positions with the new velocity: q₊ = q ⊕ dt v₊.

    Args:
        model: The simulator's model.
    """

    @abstractmethod
    def velocity_derivatives(self, program: Program, inputs: Inputs) -> VelocityDerivatives:
        """Adds the steps that compute the results, and the derivatives of the new velocity v₊."""

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        q, _ = self._parts(program, inputs)
        d = self.velocity_derivatives(program, inputs)
        Dqdq, Dtau = self._moved_derivatives(program, inputs, q, d.velocity, d.parts)
        return StepDerivatives(values=d.values, Dqdq=Dqdq, Dtau=Dtau)

    def _moved(self, program: Program, inputs: Inputs, q: Array, velocity: Array) -> Array:
        """Adds the call that computes (q ⊕ dt v, v)."""
        m = self.model
        x, v = SX.sym("q", m.nq), SX.sym("v", m.nv)
        start = ca.vertcat(x, SX(m.nv, 1))
        moved = m.state.sx_integrate(ca.densify(start), ca.densify(ca.vertcat(m.dt * v, SX(m.nv, 1))))[: m.nq]
        bindings = [(x, q), (v, velocity), (m.layout.symbols, inputs.parameters)]
        return named_call(program, "move", bindings, {"x": SX(ca.vertcat(moved, v))})["x"]

    def _moved_derivatives(
        self, program: Program, inputs: Inputs, q: Array, velocity: Array, parts: list[Array]
    ) -> tuple[Array, Array]:
        """Adds the call that computes Dqdq and Dtau of (q ⊕ dt v₊, v₊) from dv₊ by q, v and τ."""
        m = self.model
        x, v = SX.sym("q", m.nq), SX.sym("v", m.nv)
        changes = [SX.sym("by", m.nv, m.nv) for _ in parts]
        first, second = self.lift(x, v)
        by_q, by_v, by_torque = changes
        Dqdq = ca.vertcat(
            ca.horzcat(first + second @ by_q, second @ by_v),
            ca.horzcat(by_q, by_v),
        )
        bindings = [(x, q), (v, velocity), *zip(changes, parts), (m.layout.symbols, inputs.parameters)]
        results = {"Dqdq": SX(Dqdq), "Dtau": SX(ca.vertcat(second @ by_torque, by_torque))}
        r = named_call(program, "assemble", bindings, results)
        return r["Dqdq"], r["Dtau"]
