"""Steps of the simulator: interface and shared parts of the modes."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula
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
        Dqdq: Derivative of the result with respect to the input `qdq` (q, v, and accelerations if the mode has them);
            the columns of the model's unknowns stand behind those of q.
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
        velocity: v₊ (nv,), in the axes of q or of q₊, see `SymplecticStep.turns`.
        parts: Derivatives of v₊ with respect to (q, θ) (nv, nv + k), v and τ (nv, nv).
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
        """Derivatives of q₊ = q ⊕ dt v by q and by v, (nv, nv) each; v is in the axes of q₊."""
        first, second = self.model.world_axes.move_derivatives(q, self.model.dt * v)
        return first, self.model.dt * second

    @property
    def input_size(self) -> int:
        """Number of elements of the input `qdq`: nq + nv, plus nv for each acceleration [-]."""
        return self.model.nq + (1 + self.accelerations) * self.model.nv

    @property
    def given_size(self) -> int:
        """Size of the torque input, or of the settings that replace it [-]."""
        return self.model.nv

    def _parts(self, program: Program, inputs: Inputs) -> tuple[Array, ...]:
        """Adds the call that splits the input into q, v and the rest."""
        m = self.model
        ends = [0, *(m.nq + i * m.nv for i in range(2 + self.accelerations))]
        return call_formula(program, "parts", lambda x: [x[i:j] for i, j in itertools.pairwise(ends)], inputs.qdq)

    def _formula(
        self, program: Program, inputs: Inputs, name: str, formula: Callable[..., Sequence[SX]], *arrays: Array
    ) -> tuple[Array, ...]:
        """Adds the call of a formula that may read the model's parameters."""
        return call_formula(program, name, formula, *arrays, reads=[(self.model.layout.symbols, inputs.parameters)])


def velocity_rows(program: Program, d: StepDerivatives) -> VelocityDerivatives:
    """Adds the call that extracts v₊ and its derivatives from those of the whole state."""
    nv = d.Dtau.shape[1]

    def rows(x: SX, F: SX, G: SX) -> list[SX]:
        return [x[x.numel() - nv :], F[nv:, :-nv], F[nv:, -nv:], G[nv:, :]]

    velocity, *parts = call_formula(program, "rows", rows, d.values.result, d.Dqdq, d.Dtau)
    return VelocityDerivatives(values=d.values, velocity=velocity, parts=parts, force_parts=d.force_parts)


class SymplecticStep(StepAbstract):
    """Step that moves positions with the new velocity: q₊ = q ⊕ dt v₊.

    It steps the velocity of free joints in world axes, see `trajopt.states.world_axes`; ⊕ is `WorldAxesStep.move`.

    Args:
        model: The simulator's model.

    Attributes:
        turns: Whether the new velocity comes in the axes of q and must be turned into those of q₊.
    """

    turns = True

    @abstractmethod
    def new_velocity(self, program: Program, inputs: Inputs) -> VelocityDerivatives:
        """Adds the steps that compute the results, and the new velocity with its derivatives; see `turns`."""

    def velocity_derivatives(self, program: Program, inputs: Inputs) -> VelocityDerivatives:
        """Adds the steps that compute the results, and the derivatives of the new velocity v₊ in the axes of q₊."""
        d = self.new_velocity(program, inputs)
        if not self._is_turned:
            return d
        velocity, *parts = self._formula(program, inputs, "turned", self._into_new_axes, d.velocity, *d.parts)
        return replace(d, velocity=velocity, parts=parts)

    def derivatives(self, program: Program, inputs: Inputs) -> StepDerivatives:
        q, _ = self._parts(program, inputs)
        d = self.new_velocity(program, inputs)

        def assembled(x: SX, v: SX, *parts: SX) -> list[SX]:
            after, *turned = self._into_new_axes(v, *parts) if self._is_turned else [v, *parts]
            first, second = self.lift(x, after)
            if self._is_turned:  # shares products with `turned`
                second = self.model.dt * self.model.world_axes.move_derivative_before(self.model.dt * after)
            moved = [second @ part for part in parts]
            Dqdq = ca.vertcat(ca.horzcat(first + moved[0], moved[1]), ca.horzcat(*turned[:2]))
            return [Dqdq, ca.vertcat(moved[2], turned[2])]

        Dqdq, Dtau = self._formula(program, inputs, "assemble", assembled, q, d.velocity, *d.parts)
        return StepDerivatives(values=d.values, Dqdq=Dqdq, Dtau=Dtau)

    def by_unknowns(self, program: Program, inputs: Inputs, velocity: Array, own: Array) -> Array:
        """Adds the call that computes the derivative (2 nv, k) of the state by the unknowns, from v₊ and its own."""

        def stacked(q: SX, v: SX, own: SX) -> list[SX]:
            second = self.lift(q, v)[1]
            moved = self.model.by_time(ca.mtimes(second, v) / self.model.dt)[:, self.model.nv :]
            return [ca.vertcat(second @ own + moved, own)]

        q, _ = self._parts(program, inputs)
        return self._formula(program, inputs, "by_unknowns", stacked, q, velocity, own)[0]

    def _moved(self, program: Program, inputs: Inputs, q: Array, velocity: Array) -> Array:
        """Adds the call that computes (q ⊕ dt v₊, v₊) from the new velocity; see `turns`."""
        world, dt = self.model.world_axes, self.model.dt

        def moved(x: SX, v: SX) -> list[SX]:
            v = world.turn(v, dt * v) if self._is_turned else v
            return [ca.densify(ca.vertcat(world.move(x, dt * v), v))]

        return self._formula(program, inputs, "move", moved, q, velocity)[0]

    @property
    def _is_turned(self) -> bool:
        return self.turns and self.model.world_axes.free

    def _into_new_axes(self, w: SX, *parts: SX) -> list[SX]:
        """v₊ in the axes of q₊, and its derivatives, from w in the axes of q and the derivatives of w."""
        world, dt = self.model.world_axes, self.model.dt
        by_w, by_d = world.turn_derivatives(w, dt * w)
        by_q, *others = (ca.mtimes(by_w + dt * by_d, part) for part in parts)
        return [world.turn(w, dt * w), by_q + self.model.by_time(ca.mtimes(by_d, w)), *others]
