"""Levenberg-Marquardt with exact limits, as the body of an iteration; each lane has one configuration.

The merit of a configuration is Φ = σ f + ½ ρ |w|², with w = s - clip(s, lower, upper) and s = c + y / ρ: the augmented
Lagrangian of costs f and constraints c. For soft rows w loses the slack s, and Φ gains its price, for the s of least Φ;
with σ = 0 they do not count. With σ = 0, y = 0 and ρ = 1 it is half the squared violation. An iteration solves (H + λ
I) d = -g for the coordinates that are not at an active limit; with costs again, with those that d takes beyond a limit
stopped there. It moves to q ⊕ clip(d), and accepts the step if Φ falls; otherwise λ grows. When no step lowers Φ any
more, y becomes ρ w. Tasks are evaluated once in each iteration, because g and H are stored with the configuration.

H has the Gauss-Newton terms of costs and constraints. With costs it is exact but for the curvature of collision rows,
since costs far from zero and multipliers bend flat valleys.

Source: Nocedal and Wright, Numerical Optimization (2006): algorithm 17.4; Bertsekas, Projected Newton methods (1982).
"""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.ik.coordinates import SIMPLE, clipped, coordinate
from trajopt.ik.tasks import TaskModel, beyond
from trajopt.kernels import Array, Program
from trajopt.model.parts import call_formula
from trajopt.states.joint_spaces import JointSpace, joint_spaces

MEMORY = ("q", "y", "scalars", "g", "H")
SCALARS = ("damping", "merit", "penalty", "phase", "violation", "cost", "ended")
"""Memory of a lane besides q, y, g and H: λ, Φ, ρ, the phase of its next iteration, the largest violation, f, and
whether it has ended; then it does not change any more."""
START, DESCEND, MULTIPLIERS = 0.0, 1.0, 2.0
"""Phases. START: an iteration without a step, which chooses ρ. MULTIPLIERS: one that updates y."""
SETTINGS = ("tolerance", "stall", "sigma")
"""Run-time settings: largest violation at the end; fraction of Φ that a step must gain; σ."""

FIRST_DAMPING, LEAST_DAMPING, LARGEST_DAMPING = 1e-2, 1e-12, 1e12
SHRINK, GROW = 0.1, 6.0  # measured on four arms: fewest iterations among 0.05 to 0.3 and 2 to 10
FIRST_PENALTY, PENALTY_GROWTH, LARGEST_PENALTY = 100.0, 10.0, 1e10
"""Initial ρ, in traces of the costs' Hessian per trace of CᵀC; its growth if violations fall too slowly."""
NEAR = 1e-6
"""Fraction of Φ that a step must predict so that multipliers wait for it; along flat valleys of costs the exact minimum
takes hundreds of iterations, and multipliers must be right before it."""
RANK_DAMPING = 1e-3


class DescentBuilder:
    """Builds the programs that descend to the tasks of a model.

    Args:
        model: The tasks.

    Attributes:
        memory: Symbols of a lane's memory, in the order of `MEMORY`.
        constants: Symbols of a lane's other inputs: parameters, limits (nv,) each, settings.
    """

    def __init__(self, model: TaskModel) -> None:
        self.model = model
        self.tasks = model.expressions()
        self.moving = [int(i) for i in model.moving]
        n, nc, state = len(self.moving), model.nc, model.state
        self.q, self.y, self.s = SX.sym("q", state.nq), SX.sym("y", nc), SX.sym("s", len(SCALARS))
        self.g, self.H = SX.sym("g", n), SX.sym("H", n, n)
        self.memory = [self.q, self.y, self.s, self.g, self.H]
        self.p, self.settings = SX.sym("p", model.layout.size), SX.sym("settings", len(SETTINGS))
        self.low, self.high = SX.sym("low", state.nv), SX.sym("high", state.nv)
        self.constants = [self.p, self.low, self.high, self.settings]
        self.joints = joint_spaces(state.model)
        self.now = dict(zip(SCALARS, ca.vertsplit(self.s)))

    def descent(self, limit: int) -> Program:
        """At most `limit` iterations: (memory, constants) -> (memory, left)."""
        program, memory, constants = self._begun("inverse_kinematics")
        left = program.iterate(self._pass(), memory, constants, limit=limit)
        program.output(*memory, left)
        return program

    def start(self) -> Program:
        """First iteration, without a step, and the next step's length: (memory, constants) -> (memory, |J⁺Δ|²)."""
        program, memory, constants = self._begun("starts_of_inverse_kinematics")
        program.iterate(self._pass(), memory, constants, limit=1)
        step = self._solved(program, [*memory, *constants], SX(RANK_DAMPING))
        program.output(*memory, *call_formula(program, "length", lambda d: [SX(ca.sumsqr(d))], step))
        return program

    def _begun(self, name: str) -> tuple[Program, list[Array], list[Array]]:
        program = Program(name)
        inputs = [program.input(*each.shape) for each in (*self.memory, *self.constants)]
        count = len(self.memory)
        copied = program.call(ca.Function("copy", self.memory, self.memory), *inputs[:count])
        return program, list(copied), inputs[count:]

    def _pass(self) -> Program:
        """One iteration."""
        program = Program("pass")
        arrays = [program.input(*each.shape) for each in (*self.memory, *self.constants)]
        step = self._solved(program, arrays, self.now["damping"])
        if self.model.has_costs:  # other starts cost less than a second solve
            step = self._solved(program, arrays, self.now["damping"], step)
        reads = list(zip([*self.memory, *self.constants], arrays))
        program.output(*call_formula(program, "move", self._moved, step, reads=reads))
        return program

    def _solved(self, program: Program, arrays: list[Array], damping: SX, last: Array | None = None) -> Array:
        """Adds the step (n,); coordinates at an active limit have a row of the identity, and do not move.

        With a step `last` (n,), those that it takes beyond a limit stop there, and the others are solved for again.
        """
        n, H = self.g.numel(), ca.tril2symm(ca.tril(self.H))
        down, up = self._room
        free = ca.if_else(ca.logic_or(ca.logic_and(down >= 0, self.g > 0), ca.logic_and(up <= 0, self.g < 0)), 0.0, 1.0)
        d, reads = SX.sym("d", n), [*self.memory, *self.constants]
        stop = SX.zeros(n)
        if last is not None:
            arrays, reads = [*arrays, last], [*reads, d]
            stops = ca.logic_and(free, ca.logic_or(d <= down, d >= up))
            stop, free = ca.if_else(stops, ca.fmin(ca.fmax(d, down), up), 0.0), ca.if_else(stops, 0.0, free)
        matrix = SX.zeros(n, n)
        for i in range(n):
            for j in range(i):
                matrix[i, j] = ca.if_else(free[i] * free[j], H[i, j], 0.0)
            matrix[i, i] = ca.if_else(free[i], H[i, i] + damping, 1.0)
        right = ca.if_else(free, -self.g - H @ stop, stop)
        a, b = program.call(ca.Function("system", reads, [matrix, right]), *arrays)
        return program.solve(program.factor(a), b)

    @functools.cached_property
    def _room(self) -> tuple[SX, SX]:
        """Distance of each moving coordinate to its lower and upper limit; infinite without limits."""
        nv = self.model.state.nv
        down, up = SX(-np.inf * np.ones(nv)), SX(np.inf * np.ones(nv))
        for joint in self.joints:
            if isinstance(joint.space, SIMPLE):
                at = coordinate(joint, self.q)
                down[joint.v], up[joint.v] = self.low[joint.v] - at, self.high[joint.v] - at
        return down[self.moving], up[self.moving]

    def _moved(self, d: SX) -> list[SX]:
        """Memory after an iteration with the step d (n,), and whether work is left."""
        now, (tolerance, stall, sigma) = self.now, ca.vertsplit(self.settings)
        descends, goes_on = now["phase"] == DESCEND, ca.logic_not(now["ended"])
        down, up = self._room
        d = ca.if_else(ca.mmax(ca.fabs(d)) < np.inf, d, 0.0)  # NaN if H + λ I is not positive definite
        step = ca.if_else(descends, ca.fmin(ca.fmax(d, down), up), 0.0)
        whole = SX.zeros(self.model.state.nv)
        whole[self.moving] = step
        q = ca.vertcat(*(self._moved_joint(joint, whole) for joint in self.joints))
        merit, g, H, violation, cost, y, penalty = self._evaluated(q)

        promised = -ca.dot(self.g, step) - 0.5 * ca.bilin(ca.tril2symm(ca.tril(self.H)), step, step)
        gained = now["merit"] - merit
        better = ca.logic_and(goes_on, ca.logic_or(ca.logic_not(descends), gained > 1e-4 * ca.fmax(promised, 0.0)))
        factor = ca.if_else(better, ca.if_else(gained > 0.25 * promised, SHRINK, 1.0), GROW)
        damping = ca.fmin(ca.fmax(factor * now["damping"], LEAST_DAMPING), LARGEST_DAMPING)

        def chosen(new: SX, old: SX) -> SX:
            return ca.if_else(better, new, old)

        violation = chosen(violation, now["violation"])
        feasible = violation <= tolerance
        # The step of each coordinate alone
        alone = ca.fmin(ca.fmax(-self.g / (ca.fabs(ca.diag(self.H)) + now["damping"]), down), up)
        hope = ca.fmax(promised, -ca.dot(self.g, alone))  # a clipped step may predict no gain although there is a slope
        settled = ca.logic_and(descends, hope <= stall * ca.fabs(now["merit"]) + 1e-26)
        near = ca.logic_and(descends, hope <= NEAR * ca.fabs(now["merit"]) + 1e-26)  # enough for new multipliers
        updates = ca.logic_and(ca.logic_and(near, sigma > 0), ca.logic_not(feasible))
        done = ca.if_else(sigma > 0, ca.logic_and(settled, feasible), ca.logic_or(settled, feasible))
        done = ca.logic_or(now["ended"], done)
        damping = ca.if_else(ca.logic_and(descends, goes_on), damping, now["damping"])
        scalars = {
            "damping": ca.if_else(updates, FIRST_DAMPING, damping),
            "merit": chosen(merit, now["merit"]),
            "penalty": penalty,
            "phase": ca.if_else(updates, MULTIPLIERS, DESCEND),
            "violation": violation,
            "cost": chosen(cost, now["cost"]),
            "ended": done,
        }
        memory = [chosen(q, self.q), y, ca.vertcat(*scalars.values()), chosen(g, self.g), chosen(H, ca.tril(self.H))]
        return [*memory, ca.if_else(done, 0.0, 1.0)]

    def _moved_joint(self, joint: JointSpace, step: SX) -> SX:
        """Coordinates of a joint after a step (nv,), exactly within limits."""
        return clipped(joint, self.q[joint.q], step[joint.v], self.low[joint.v], self.high[joint.v])

    def _slacks(self, y: SX, penalty: SX) -> tuple[SX, SX]:
        """Rows beyond their bounds for multipliers y (nc,), and slacks s (nc,) of least Φ, 0 for hard rows."""
        t = self.tasks
        w = beyond(t.rows + y / penalty, t.lower, t.upper)
        least = ca.fmax(penalty * ca.fabs(w) - t.linear, 0.0) / (penalty + t.quadratic)
        return w, ca.if_else(w < 0, -least, least) * SX(np.where(self.model.soft, 1.0, 0.0))

    def _price(self, s: SX) -> SX:
        """Price of slacks s (nc,) [cost]."""
        t = self.tasks
        return ca.dot(t.linear, ca.fabs(s)) + 0.5 * ca.dot(t.quadratic, s * s) if self.model.nc else SX(0)

    def _evaluated(self, q: SX) -> list[SX]:
        """Φ, its gradient and Hessian, the largest violation, f, y and ρ at a configuration."""
        t, now, sigma = self.tasks, self.now, self.settings[2]

        updates = now["phase"] == MULTIPLIERS
        w, s = self._slacks(self.y, now["penalty"])
        y = ca.if_else(updates, now["penalty"] * (w - s), self.y)
        stiffness = ca.sumsqr(t.jacobian) + 1e-12
        priced = ca.trace(t.hessian) + ca.dot(t.linear + t.quadratic, ca.sum2(t.jacobian**2))
        first = ca.if_else(sigma > 0, FIRST_PENALTY * (sigma * priced + 1e-6) / stiffness, 1.0)
        grown = ca.fmin(PENALTY_GROWTH * now["penalty"], LARGEST_PENALTY)
        penalty = ca.if_else(now["phase"] == START, first, ca.if_else(updates, grown, now["penalty"]))

        w, s = self._slacks(y, penalty)
        counts = SX(np.where(self.model.soft, 0.0, 1.0)) + sigma * SX(np.where(self.model.soft, 1.0, 0.0))
        violation = ca.mmax(counts * ca.fabs(beyond(t.rows - s, t.lower, t.upper))) if self.model.nc else SX(0)
        active = ca.if_else(ca.logic_or(w != 0, t.lower == t.upper), penalty, 0.0)
        active = ca.if_else(s != 0, penalty * t.quadratic / (penalty + t.quadratic), active)
        merit = 0.5 * penalty * ca.dot(counts * (w - s), w - s) + sigma * self._price(s)
        g = penalty * t.jacobian.T @ (counts * (w - s))
        H = t.jacobian.T @ (ca.diag(counts * active) @ t.jacobian)
        if self.model.has_costs:
            merit, g, H = merit + sigma * t.cost, g + sigma * t.gradient, H + sigma * t.hessian
            second = self.model.curvature(penalty * counts * (w - s), sigma)
            H += ca.if_else(sigma > 0, second, 0.0)
        cost = t.cost + self._price(beyond(t.rows, t.lower, t.upper))
        results = [merit, g[self.moving], ca.tril(H[self.moving, self.moving]), violation, cost, y, penalty]
        symbols = [t.q, self.model.layout.symbols, self.y, self.s, self.settings]
        evaluated = ca.Function("tasks", symbols, [ca.densify(each) for each in results])
        return list(evaluated(q, self.p, self.y, self.s, self.settings))
