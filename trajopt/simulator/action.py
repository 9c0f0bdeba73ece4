"""Optimal control through the simulator: the solver finds the contacts, so they need no schedule."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
from casadi import SX

from trajopt.actions.costed import ActionModelCostedAbstract
from trajopt.actions.expansion import Expansion, Lift, Point, Values
from trajopt.actions.parts import ModelParts
from trajopt.actions.second_order_jacobian import lift_size
from trajopt.actuation import ActuationModelFloatingBase, ActuationModelFull
from trajopt.actuation.base import ActuationModelAbstract
from trajopt.checks import check_instance
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.contacts.implicit_steps import add_cost_of_solution
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array, Groups
from trajopt.model.parameters import Parameter
from trajopt.model.parts import Bindings, call_formula, named_call, symbol_of
from trajopt.simulator.formulas import beside, by_inputs
from trajopt.simulator.limited_step import limited_by_unknowns, limited_matrix, limited_torque
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.modes import Variant
from trajopt.simulator.programs import stepping_of
from trajopt.simulator.simulator import Simulator
from trajopt.simulator.steps import Inputs, StepAbstract, StepValues, SymplecticStep, VelocityDerivatives, velocity_rows
from trajopt.states.state_multibody import StateMultibody

Named = tuple[dict[str, int], Program]


class ActionModelSimulator(ActionModelCostedAbstract):
    """Action model that takes one step of a simulator, x⁺ = simulate(dt, x, B u).

    In a backward mode, x⁺ = (q ⊕ dt v⁺, v⁺) solves r(q ⊕ dt v⁺, v⁺, v, B u) = 0. Rollouts find it by iteration, so
    every solver with rollouts works. `SolverSQP` with `steps="linear"` keeps a trajectory of states and controls: it
    evaluates the residual once for each knot and linearises it, which is direct transcription.

    Costs and constraints may depend on x, u, contact forces and accelerations; the cost is multiplied by dt. Forces
    have the names of the simulator's contacts and are in the world's axes. In modes with impulses p, they are the
    means p / dt. Accelerations are (v⁺ - v) / dt. Run-time parameters are dt, those of the simulator, such as
    barrier_weight and contacts.LF_FOOT.friction, and those of costs and constraints.

    Args:
        simulator: Simulator whose mode steps (q, v), or has a backward mode. The model copies its settings; later
            changes have no effect.
        costs: Running costs [cost/s]. The model freezes them.
        dt: Time step, > 0 [s]. Run-time parameter `dt`.
        constraints: Constraints of the knot; none by default. The model freezes them.
        actuation: The motors; by default one at every joint except the base.

    Raises:
        InvalidArgumentError: States differ, the mode does not compute the next state, or a term needs a quantity that
            the mode does not provide.
    """

    state: StateMultibody
    calc_compiled = True

    def __init__(
        self,
        simulator: Simulator,
        costs: CostStack,
        *,
        dt: float = 1e-3,
        constraints: ConstraintStack | None = None,
        actuation: ActuationModelAbstract | None = None,
    ) -> None:
        simulator = check_instance("simulator", simulator, Simulator).copy()
        check_instance("costs", costs, CostStack)
        self.simulator: SimulatorModel = simulator.model
        state = self.simulator.state
        motors = default_actuation(state) if actuation is None else actuation
        if not isinstance(motors, ActuationModelAbstract):
            raise InvalidArgumentError(
                f"actuation: expected an actuation model such as ActuationModelFull(state), got {actuation!r}"
            )
        for name, part in (("costs", costs), ("actuation", motors)):
            if part.state != state:
                raise InvalidArgumentError(
                    f"{name}: expected {name} of {state!r}, got {name} of {part.state!r}; use one robot for both"
                )
        self._step  # noqa: B018 - raises an error here, not later
        if self.simulator.black_boxes:
            raise InvalidArgumentError(
                f"simulator: expected contacts by formulas, got the black box {self.simulator.black_boxes[0].name!r}; "
                "write its columns with casadi, or call simulator.simulate in your own ActionModelAbstract"
            )
        costs.freeze(type(self).__name__, motors.nu)
        constraints = ConstraintStack.of(constraints, type(self).__name__, state, motors.nu, costs)
        super().__init__(
            state,
            motors.nu,
            lower=motors.lower,
            upper=motors.upper,
            constraints=constraints,
            control_names=motors.names,
        )
        self.costs, self.actuation = costs, motors
        for stack in (costs, self.constraints):
            self._check_solution(stack)
        first = simulator.parameter_values() | {"dt": dt}
        self._first = {
            name: p.check(name, first[name]) for name, p in self.simulator.parameters().items() if name in first
        }
        options = {"dt": dt, "constraints": constraints, "actuation": motors}
        self._arguments = (simulator, costs), options

    @property
    def model_parts(self) -> ModelParts:
        return ModelParts(costs=self.costs, actuation=self.actuation)

    def _check_solution(self, stack: CostStack | ConstraintStack) -> None:
        """Raises an error for terms that need a quantity which the step does not provide."""
        try:
            stack.check_solution(self.instant())
        except InvalidArgumentError as error:
            if self._step.tells_forces:
                raise
            mode, variant = self.simulator.mode.name, self.simulator.variant
            way, cure = mode, "FORWARD_RK1F"
            if variant is not Variant.PROJECTED:  # such as forces at each stage of a step
                way, cure = f"{mode} with the variant {variant.name.lower()!r}", f"variant='projected', or {cure}"
            raise InvalidArgumentError(
                f"{error}; terms cannot use contact forces of steps of {way}: use {cure}"
            ) from error

    not_content = ("_first",)

    @functools.cached_property
    def _step(self) -> StepAbstract:
        step = stepping_of(self.simulator)
        if step is None:
            raise InvalidArgumentError(
                f"simulator: expected a mode that computes the next state, such as FORWARD_RK1F, got "
                f"{self.simulator.mode.name}"
            )
        return step

    def parameters(self) -> dict[str, Parameter]:
        parameters = {}
        for name, p in self.simulator.parameters().items():
            parameters[name] = replace(p, default=self._first[name]) if name in self._first else p
        return {**super().parameters(), **parameters, **self.costs.parameters(self.nu)}

    def instant(self) -> Instant:
        forces = self.simulator.force_sizes if self._step.tells_forces else {}
        return Instant(self.state, self.nu, forces=forces, motion="acceleration")

    @property
    def _force_time(self) -> SX:
        """Divisor that turns the force output of a step into a force: dt for impulses [s], 1 for forces."""
        return self.simulator.dt if self.simulator.mode.name.endswith("I") else SX(1)

    @functools.cached_property
    def lift_size(self) -> int | None:
        if not isinstance(self._step, SymplecticStep):
            return None
        q, d, still = SX.sym("q", self.state.nq), SX.sym("d", self.state.nv), SX.eye(self.state.nv)
        blocks = self.simulator.world_axes.move_derivatives(q, d)
        return lift_size(*(SX(ca.diagcat(block, still)) for block in blocks))

    # Values

    def running_values(self, program: Program, point: Point, u: Array) -> Values:
        instant = self.instant()
        v = self._step.values(program, self._inputs(program, point))
        results = {"cost": self.simulator.dt * self.costs.value(instant)}
        if self.constraints.constraints:
            results["rows"] = self.constraints.rows(instant)
        return Values.of({"xnext": v.result} | self._call(program, point, instant, v, results))

    def _inputs(self, program: Program, point: Point) -> Inputs:
        torque, own = self._requested(program, point)
        torque = limited_torque(program, self.simulator, torque, own)
        return Inputs(qdq=point.x, torque=torque, parameters=own, following=point.following)

    def _requested(self, program: Program, point: Point) -> tuple[Array, Array]:
        """Adds the calls that compute B u and the parameters of the simulator."""
        assert point.u is not None
        (torque,) = call_formula(program, "torque", lambda u: [ca.densify(self.actuation.torque(u))], point.u)
        return torque, self._of_parameters(program, point, "own", lambda: [self.simulator.layout.symbols])

    def _of_parameters(
        self, program: Program, point: Point, name: str, formula: Callable[..., Sequence[SX]], *arrays: Array
    ) -> Array:
        """Adds the call of a formula that may read the model's parameters."""
        return call_formula(program, name, formula, *arrays, reads=[(self.layout.symbols, point.parameters)])[0]

    def _motors(self, program: Program, point: Point) -> Array:
        """Adds the call that computes B, with zero rows for joints beyond their torque limits."""
        torque, own = self._requested(program, point)
        u = SX.sym("u", self.nu)
        assert point.u is not None
        B = self.actuation.torque_derivative(u)
        return limited_matrix(program, self.simulator, torque, own, B, reads=[(u, point.u)])

    def _call(
        self, program: Program, point: Point, instant: Instant, v: StepValues, results: dict[str, SX]
    ) -> dict[str, Array]:
        """Adds the call that computes expressions, which may depend on forces and accelerations."""
        assert point.u is not None
        results = {name: ca.sparsify(value) for name, value in results.items()}
        solved, inputs = self._solved(instant, v)
        if solved:
            values = ca.substitute(list(results.values()), *map(list, zip(*solved)))
            results = dict(zip(results, map(SX, values)))
        inputs = [(instant.x, point.x), (instant.u, point.u), (self.layout, point.parameters), *inputs]
        return named_call(program, type(self).__name__, inputs, results)

    def _solved(self, instant: Instant, v: StepValues) -> tuple[list[tuple[SX, SX]], Bindings]:
        """Symbols of forces and of the acceleration with their expressions, and the arrays that these read."""
        solved, inputs = list[tuple[SX, SX]](), Bindings()
        if instant.forces:
            output = SX.sym("told", v.force.size)
            solved.append((SX(ca.vertcat(*instant.forces.values())), output / self._force_time))
            inputs.append((output, v.force))
        if instant.solved_motion.numel():
            after = SX.sym("after", self.state.nx)
            acceleration = (after - instant.x)[self.state.nq :] / self.simulator.dt
            solved.append((instant.solved_motion, acceleration))
            inputs.append((after, v.result))
        return solved, inputs

    # Derivatives

    def running_expansion(self, program: Program, point: Point, u: Array, lift: int | None) -> Expansion:
        return self._expanded(program, point, self._step, lift)[0]

    def expansion_by(
        self, program: Program, point: Point, unknowns: SX, *, lift: int | None = None
    ) -> tuple[Expansion, dict[str, Array] | None]:
        if point.u is None:
            return super().expansion_by(program, point, unknowns, lift=lift)
        self.check_lift(lift)
        step = stepping_of(self.simulator.freed(unknowns))
        assert step is not None
        return self._expanded(program, point, step, lift)

    def _expanded(
        self, program: Program, point: Point, step: StepAbstract, lift: int | None
    ) -> tuple[Expansion, dict[str, Array]]:
        """Adds the steps of an expansion, and of its derivatives "F", "g" and "C" by the unknowns of a step."""
        unknowns = step.model.unknowns
        inputs, instant = self._inputs(program, point), self.instant()
        if isinstance(step, SymplecticStep):
            by = step.velocity_derivatives(program, inputs)
        else:
            d = step.derivatives(program, inputs)
            by = velocity_rows(program, d)
        results = self._cost_results(instant)
        for name, value in (("by g", results["cost"]), ("by C", results.get("rows"))):
            if unknowns.numel() and value is not None:
                results[name] = jacobian(value, unknowns)
        r = self._call(program, point, instant, by.values, results)
        motors = [self._motors(program, point)]
        if unknowns.numel():
            motors.append(limited_by_unknowns(program, step.model, *self._requested(program, point)))
        parts = by_inputs(program, by.parts, motors)
        self._add_chain(program, instant, point, unknowns, by, parts, motors, r)
        if isinstance(step, SymplecticStep):
            derivatives = self._lifted(program, point, by, parts[:3], lift)
            if unknowns.numel():
                derivatives["by F"] = step.by_unknowns(program, inputs, by.velocity, parts[3])
        else:
            columns = by_inputs(program, [d.Dqdq, d.Dtau], motors)
            derivatives = {"F": beside(program, *columns[:2]), **dict(zip(["by F"], columns[2:]))}
        named = {name[3:]: array for name, array in (r | derivatives).items() if name.startswith("by ")}
        own = {name: array for name, array in derivatives.items() if name in ("F", "lift")}
        return Expansion.of(r | {"xnext": by.values.result}, **own), named

    def _cost_results(self, instant: Instant) -> dict[str, SX]:
        """Costs and rows with derivatives by (x, u) and by forces and accelerations, as if both were independent."""
        s = self.state.ndx + self.nu
        rows = self.constraints.rows(instant)  # first, because it may read the acceleration
        q, dt = self.costs.quadratic(instant), self.simulator.dt
        results = {"cost": dt * q.cost, "g": dt * q.Ly, "H": dt * q.Lyy}
        felt = SX(instant.solved.numel(), 1)
        if q.Lz.nnz():
            results |= {"Lz": dt * q.Lz, "Lzz": dt * q.Lzz, "Lzy": dt * q.Lzy}
            felt += ca.fabs(q.Lz) + ca.sum2(ca.fabs(q.Lzz))
        if rows.numel():
            C = self.constraints.derivative(instant)
            results |= {"rows": rows, "C": C[:, :s]}
            if C[:, s:].nnz():
                results["Rz"] = C[:, s:]
                felt += ca.sum1(ca.fabs(C[:, s:])).T
        return results | ({"felt": felt} if felt.nnz() else {})

    def _add_chain(
        self,
        program: Program,
        instant: Instant,
        point: Point,
        unknowns: SX,
        by: VelocityDerivatives,
        parts: Sequence[Array],
        motors: Sequence[Array],
        r: dict[str, Array],
    ) -> None:
        """Applies the chain rule over forces and accelerations to g, H and C, and to derivatives by the unknowns."""
        if "felt" not in r:
            return
        force = by_inputs(program, by.force_parts(), motors) if instant.forces else []
        symbols = [symbol_of(program, a) for a in (*force, *parts)]
        nv, nu, dt = self.state.nv, self.nu, self.simulator.dt
        forces, motions = symbols[: len(force)], symbols[len(force) :]
        blocks = [ca.horzcat(*forces[:3]) / self._force_time] if force else []
        own = [each / self._force_time for each in forces[3:]]
        if instant.solved_motion.numel():
            still = ca.horzcat(SX(nv, nv), SX.eye(nv), SX(nv, nu))
            blocks.insert(0, (ca.horzcat(*motions[:3]) - still) / dt)
            own = [*(each / dt for each in motions[3:]), *own]
        inputs: Bindings = [*zip(symbols, (*force, *parts)), (self.layout, point.parameters)]
        Z = named_call(program, "solved", inputs, {"Z": SX(ca.vertcat(*blocks))})["Z"]
        felt = Groups(tuple((i, i + 1) for i in range(Z.shape[0])), r["felt"]) if Z.shape[0] <= 64 else None
        if "Lz" in r:
            add_cost_of_solution(program, r, Z, felt)
        if "Rz" in r:
            program.accumulate(r["C"], r["Rz"], Z, inner=felt)
        if own:
            solved, more = self._solved(instant, by.values)
            direct = ca.substitute(instant.solved, *(ca.vertcat(*each) for each in zip(*solved)))
            results = {"Z": SX(ca.vertcat(*own)) + jacobian(direct, unknowns)}
            Z = named_call(program, "solved by unknowns", [*inputs, (instant.x, point.x), *more], results)["Z"]
            for name, by_z in (("by g", "Lz"), ("by C", "Rz")):
                if by_z in r:
                    r[name] = program.matmul(r[by_z], Z, transpose_a=by_z == "Lz", initial=r[name])

    def _lifted(
        self, program: Program, point: Point, by: VelocityDerivatives, parts: list[Array], lift: int | None
    ) -> dict[str, Any]:
        """Adds the call that computes F, or the lift."""
        nv = self.state.nv
        x, v = SX.sym("x", self.state.nx), SX.sym("v", nv)
        symbols = [symbol_of(program, array) for array in parts]
        first, second = self._step.lift(x[: self.state.nq], v)
        Fv = ca.horzcat(*symbols)
        inputs: Bindings = [(x, point.x), (v, by.velocity), *zip(symbols, parts), (self.layout, point.parameters)]
        if lift is None:
            Fq = second @ Fv + ca.horzcat(first, SX(nv, nv + self.nu))
            return named_call(program, "F", inputs, {"F": SX(ca.vertcat(Fq, Fv))})
        blocks = {"J0": first[:lift, :lift], "J1": second[:lift, :lift], "Fv": Fv}
        return {"lift": Lift(**named_call(program, "lift", inputs, {"dt": self.simulator.dt, **blocks}))}

    # Inspection

    def make_simulator(self) -> Simulator:
        """New simulator with the settings that this model uses."""
        simulator: Simulator = self._arguments[0][0]
        return simulator.copy()

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        terms = self.costs.values(instant)
        return terms if terminal else {name: self.simulator.dt * term for name, term in terms.items()}

    def torques(self, instant: Instant) -> dict[str, SX]:
        return self.actuation.by_motor(instant.u)

    def build_terms(self, *, terminal: bool) -> Named:
        if terminal:
            return super().build_terms(terminal=True)
        program, point, v = self._alone("terms")
        instant = self.instant()
        terms = self.term_expressions(instant, terminal=False)
        stacked = SX(ca.vertcat(SX(0, 1), *terms.values()))
        program.output(self._call(program, point, instant, v, {"terms": stacked})["terms"])
        return dict.fromkeys(terms, 1), program

    def build_forces(self) -> Named:
        program, point, v = self._alone("forces")
        mean = self._of_parameters(program, point, "mean", lambda output: [output / self._force_time], v.force)
        program.output(mean)
        return dict(self.simulator.force_sizes), program

    def _alone(self, name: str) -> tuple[Program, Point, StepValues]:
        """New program of (x, u, parameters) that computes the values of a step."""
        program = Program(f"{type(self).__name__}: {name}")
        x, u = program.input(self.state.nx), program.input(self.nu)
        point = Point(x=x, u=u, parameters=program.input(self.layout.size))
        return program, point, self._step.values(program, self._inputs(program, point))


def default_actuation(state: StateMultibody) -> ActuationModelAbstract:
    """Actuation with a motor at every joint except the base."""
    floating = state.model.njoints > 1 and state.model.joints[1].nv > 1
    return ActuationModelFloatingBase(state) if floating else ActuationModelFull(state)
