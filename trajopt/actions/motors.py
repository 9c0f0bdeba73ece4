"""Action model whose controls act through motors with a delay of first order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.expansion import Expansion, Multipliers, Point, Values
from trajopt.actions.expression import ActionModelExpression, whole_cost
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.checks import as_numbers, check_array, check_count
from trajopt.constraints.row_block import RowBlock
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parameters import Parameter
from trajopt.model.parts import call_formula
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody
from trajopt.states.state_product import StateProduct
from trajopt.states.state_vector import StateVector
from trajopt.types import Reals


class ActionModelMotors(ActionModelExpression):
    """Model with motors of first order: T dm/dt = u - m, with the motor torques m behind the state.

    The step of the motors is exact for a constant command u, m⁺ = u + exp(-dt / T) (m - u). The model sees their mean
    during the step, u + (m - u) (1 - exp(-dt / T)) T / dt, as its control, in its dynamics, costs and constraints.

    Args:
        model: Model of a knot, such as an integrated one, with a time step; or a terminal model, or a CostStack at the
            end, of which `motors` is the number of motors.
        time_constant: T, one for all motors or one for each (n,), > 0 [s]. Run-time parameter `time_constant`; terminal
            models have none.
        motors: Number of motors of a terminal model [-]; None for other models.

    Attributes:
        model: The model inside.
        state: State of the model, then "motor.elbow" and so on if a robot has a motor at each joint, else "motor.x0".

    Raises:
        InvalidArgumentError: The model is a black box or has no time step, or the number of motors does not fit.
    """

    def __init__(
        self,
        model: ActionModelExpression | CostStack,
        time_constant: npt.ArrayLike = 0.05,
        *,
        motors: int | None = None,
    ) -> None:
        own = ActionModelTerminal(model) if isinstance(model, CostStack) else model
        if not isinstance(own, ActionModelExpression):
            raise InvalidArgumentError(f"model: expected a model that is an expression, got {model!r}")
        terminal = motors is not None
        if terminal == (own.nu > 0):
            raise InvalidArgumentError(
                f"motors: expected their number for a terminal model alone, got {motors} for {type(own).__name__} with "
                f"nu = {own.nu}"
            )
        if not terminal and "dt" not in own.parameters():
            raise InvalidArgumentError(
                f"model: expected one with a time step, got {type(own).__name__}; integrate a differential model"
            )
        self.model, self.motors = own, check_count("motors", own.nu if motors is None else motors, least=1)
        names, units = (None, None) if terminal else (list(own.control_names), list(own.control_units))
        joints, efforts = _joints(own.state, self.motors)
        behind = StateVector(self.motors, names=joints, units=efforts if units is None or joints else units)
        state = StateProduct(own.state, behind, labels=("x", "motor"))
        super().__init__(state, own.nu, lower=own.lower, upper=own.upper, control_names=names, control_units=units)
        self.constraints = own.constraints
        self.instantaneous, self.cost_time = own.instantaneous, own.cost_time
        self.time_constant: SX | None = None
        if not terminal:
            self.time_constant = self.parameter(
                "time_constant", self._times("time_constant", time_constant), unit="s", convert=self._times
            )

    def _times(self, argument: str, value: npt.ArrayLike) -> Reals:
        several = as_numbers(argument, value)
        several = np.full(self.motors, several) if several.ndim == 0 else several
        times = check_array(argument, several, (self.motors,), cure="one number [s] for each motor")
        if not np.all(times > 0.0):
            raise InvalidArgumentError(f"{argument}: expected numbers > 0 [s], got {times.tolist()}")
        return times

    @property
    def stage_nu(self) -> int:
        return self.model.stage_nu

    @property
    def row_blocks(self) -> tuple[RowBlock, ...]:
        return self.model.row_blocks

    def parameters(self) -> dict[str, Parameter]:
        own = {name: p for name, p in super().parameters().items() if name == "time_constant"}
        return self.model.parameters() | own

    def row_derivative(self) -> SX:
        return self.model.row_derivative()

    @property
    def rows_free_of_control(self) -> npt.NDArray[np.bool_]:
        return self.model.rows_free_of_control

    @property
    def rows_of_states(self) -> npt.NDArray[np.bool_]:
        return self.model.rows_of_states

    @property
    def rows_on_one_control(self) -> npt.NDArray[np.int64]:
        return np.full(self.model.nc, -1)

    # Motors

    def _shares(self) -> tuple[SX, SX]:
        """Weights of m in m⁺ and in the mean during the step (n,); those of u are 1 minus these."""
        assert self.time_constant is not None
        ratio = self.model.layout.columns["dt"] / self.time_constant
        return ca.exp(-ratio), -ca.expm1(-ratio) / ratio

    def _mean(self, m: SX, u: SX) -> SX:
        """Mean torques of the motors during the step (n,)."""
        share = self._shares()[1]
        return SX(share * m + (1.0 - share) * u)

    def _after(self, m: SX, u: SX) -> SX:
        """Torques of the motors after the step (n,)."""
        share = self._shares()[0]
        return SX(share * m + (1.0 - share) * u)

    def _chain(self, *, terminal: bool = False) -> SX:
        """Derivative of the model's (x, control) by (x, m, u); at the end of a horizon of x by (x, m)."""
        n, k = self.model.state.ndx, self.motors
        if terminal:
            return SX(ca.horzcat(SX.eye(n), SX(n, k)))
        share = self._shares()[1]
        rest = ca.horzcat(ca.diag(share), ca.diag(1.0 - share))
        return SX(ca.vertcat(ca.horzcat(SX.eye(n), SX(n, 2 * k)), ca.horzcat(SX(k, n), rest)))

    def _parted(self, program: Program, point: Point) -> Point:
        """The point of the model inside."""
        nx = self.model.state.nx
        following = None if point.following is None else program.slice(point.following, 0, nx)
        parameters = program.slice(point.parameters, 0, self.model.layout.size)
        x, u = program.slice(point.x, 0, nx), point.u
        if u is not None:
            m = program.slice(point.x, nx, self.motors)
            (u,) = call_formula(program, "mean", lambda m, u: [self._mean(m, u)], m, u, reads=self._reads(point))
        return replace(point, x=x, u=u, parameters=parameters, following=following)

    def _reads(self, point: Point) -> list[tuple[SX, Array]]:
        return [(self.layout.symbols, point.parameters)]

    def _reached(self, program: Program, point: Point, xnext: Array) -> Array:
        """Adds the call that appends the motors after the step."""
        nx = self.model.state.nx

        def reached(x: SX, u: SX, after: SX) -> list[SX]:
            return [ca.densify(ca.vertcat(after, self._after(x[nx:], u)))]

        assert point.u is not None
        return call_formula(program, "motors", reached, point.x, point.u, xnext, reads=self._reads(point))[0]

    # Values and derivatives

    def values(self, program: Program, point: Point) -> Values:
        v = self.model.values(program, self._parted(program, point))
        return v if v.xnext is None else replace(v, xnext=self._reached(program, point, v.xnext))

    def expansion(
        self, program: Program, point: Point, multipliers: Multipliers | None = None, *, lift: int | None = None
    ) -> Expansion:
        self.check_multipliers(multipliers)
        self.check_lift(lift)
        e, n, k = self.model.expansion(program, self._parted(program, point)), self.model.state.ndx, self.motors
        reads, chain = self._reads(point), self._chain(terminal=point.u is None)

        def moved(F: SX) -> list[SX]:
            decay = self._shares()[0]
            own = ca.horzcat(SX(k, n), ca.diag(decay), ca.diag(1.0 - decay))
            return [SX(ca.sparsify(ca.vertcat(F @ chain, own)))]

        F = C = xnext = None
        if e.F is not None and e.xnext is not None:
            xnext, (F,) = self._reached(program, point, e.xnext), call_formula(program, "F", moved, e.F, reads=reads)
        if e.C is not None:
            (C,) = call_formula(program, "C", lambda C: [C @ chain], e.C, reads=reads)
        (g,) = call_formula(program, "gradient", lambda g: [ca.densify(chain.T @ g)], e.g, reads=reads)
        H = self._chained(program, point, e.H)
        whole = Expansion(xnext=xnext, F=F, cost=e.cost, g=g, H=H, rows=e.rows, C=C, kept=e.kept)
        if multipliers is None:
            return whole
        return replace(whole, H=self.lagrangian_hessian(program, point, multipliers, e.kept))

    def _chained(self, program: Program, point: Point, H: Array) -> Array:
        """Adds the call that computes the Hessian by (x, m, u) from that by the model's x and control."""
        chain = self._chain(terminal=point.u is None)

        def chained(H: SX) -> list[SX]:
            return [ca.densify(chain.T @ H @ chain)]

        return call_formula(program, "Hessian", chained, H, reads=self._reads(point))[0]

    @property
    def kept_shapes(self) -> tuple[tuple[int, int], ...]:
        return self.model.kept_shapes

    @property
    def has_lagrangian_hessian(self) -> bool:
        return self.model.has_lagrangian_hessian

    @property
    def hessian_on_request(self) -> bool:
        return self.model.hessian_on_request

    def lagrangian_hessian(
        self, program: Program, point: Point, multipliers: Multipliers, kept: Sequence[Array] = ()
    ) -> Array:
        self.check_multipliers(multipliers)
        lam = multipliers.dynamics
        lam = None if lam is None else program.slice(lam, 0, self.model.state.ndx)
        own = Multipliers(dynamics=lam, rows=multipliers.rows)
        H = self.model.lagrangian_hessian(program, self._parted(program, point), own, kept)
        return self._chained(program, point, H)

    def knot_expressions(self, *, terminal: bool) -> tuple[Instant, dict[str, SX]]:
        i, values = self.model.knot_expressions(terminal=terminal)
        own, nx = Instant(self.state, 0 if terminal else self.nu), self.model.state.nx
        pairs = [(i.x, own.x[:nx])]
        if not terminal:
            pairs.append((i.u, self._mean(own.x[nx:], own.u)))
        replaced = dict(zip(values, ca.substitute(list(values.values()), *map(list, zip(*pairs)))))
        if "xnext" in replaced:
            replaced["xnext"] = ca.vertcat(replaced["xnext"], self._after(own.x[nx:], own.u))
        return own, replaced

    # Inspection

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        return whole_cost(self, instant, terminal=terminal)

    def term_values(self, xs: Reals, us: Reals | None, parameters: Reals) -> dict[str, Reals]:
        inner = self._inner(xs, us, parameters)
        return self.model.term_values(*inner)

    def force_values(self, xs: Reals, us: Reals, parameters: Reals) -> dict[str, Reals]:
        x, u, p = self._inner(xs, us, parameters)
        assert u is not None
        return self.model.force_values(x, u, p)

    def torque_values(self, xs: Reals, us: Reals, parameters: Reals) -> dict[str, Reals]:
        x, u, p = self._inner(xs, us, parameters)
        assert u is not None
        return self.model.torque_values(x, u, p)

    def _inner(self, xs: Reals, us: Reals | None, parameters: Reals) -> tuple[Reals, Reals | None, Reals]:
        """States, controls and parameters of the model inside, at several knots."""
        nx, places = self.model.state.nx, self.layout.slices
        own = parameters[:, : self.model.layout.size]
        if us is None:
            return xs[:, :nx], None, own
        ratio = parameters[:, places["dt"]] / parameters[:, places["time_constant"]]
        share = -np.expm1(-ratio) / ratio
        return xs[:, :nx], share * xs[:, nx:] + (1.0 - share) * us, own

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        return self.model.quasi_static(np.asarray(x)[: self.model.state.nx], parameters)


def _joints(state: StateAbstract, motors: int) -> tuple[list[str] | None, list[str]]:
    """Names of the joints of a robot with a motor for each velocity but those of its base, or None; units of efforts.

    They depend on the state alone, as a terminal model knows no controls, and both kinds of knots have the same state.
    """
    if not isinstance(state, StateMultibody) or motors != state.nv - 6 * state.robot.floating_base:
        return None, ["N m, N"] * motors
    names, units = state.tangent_names[-motors:], state.tangent_units[-motors:]
    return [name.removeprefix("v:") for name in names], ["N" if unit == "m/s" else "N m" for unit in units]
