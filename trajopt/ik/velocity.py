"""Differential inverse kinematics: one step of a velocity program within limits.

From q with velocity v, while targets move from p to p⁺ within dt, the step d = dt v⁺ minimises

    ½ |Ω (c⁺ - e - α J w + J d)|² + σ (β ∇f · d + ½ dᵀ ∇²f d) + ½ λ |d - β n|²

within a box: limits of velocity, |v⁺ - v| <= a dt, and speeds that allow a stop before a position limit, √(2 a Δq) for
small dt. Each row stands for c - clip(c, lower, upper). c⁺ are the constraints at (q, p⁺), and e is the violation at
(q, p) that earlier steps have left. w is the Levenberg-Marquardt step that removes e, and n is the step to the least
costs in the null space. Squared norms of steps weigh each coordinate by the weight of its joint. α and β are 1, or
smaller so that joints can stop at the end of these steps; costs f settle with a time constant. σ is so small that
costs act only in the null space of the constraints.

λ = |J| |r| bounds the curvature r · ∇²c that Gauss-Newton omits, for the part r of the residual that the last step did
not achieve, plus μ times the requested change; for w it is μ |e|. μ is small, and grows to 1 if steps achieve less
than predicted: an arm comes to rest if its target is out of reach. Bounded rows have more weight than equations, and
approach their bounds as slowly as costs settle: a hand leaves its path before it meets an obstacle.

Soft rows count among the costs: their weight is σ (b + a / max(|s|, tolerance)), whose force on a slack s is that of
their price a |s| + ½ b s² beyond the tolerance, and they ask for the part β of s.

Source: Kanoun, Lamiraux, Wieber, Kinematic control of redundant manipulators (2011), for inequalities; Sugihara,
Solvability-unconcerned inverse kinematics (2011), for damping by the residual.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.ik.box_program import add_box_program
from trajopt.ik.coordinates import SIMPLE, clipped, coordinate
from trajopt.ik.tasks import TaskModel, beyond
from trajopt.kernels import Program
from trajopt.model.parts import call_formula
from trajopt.states.joint_spaces import joint_spaces

INPUTS = ("p", "p_next", "low", "high", "slowest", "fastest", "acceleration", "weights", "settings")
"""Inputs of a step besides (q, v, before): parameters now and at its end, limits (nv,) each, weights of the coordinates
of a step (nv,), settings."""
SETTINGS = ("dt", "settling", "tolerance")
COSTS, LEAST = 1e-8, 1e-10
"""σ and the smallest λ, both relative to |J|²."""
BOUNDED_FIRST = 1e2  # weight of bounded rows; their violation is that of equations divided by its square
RESERVE = 0.5  # fraction of the acceleration that removes earlier violations; the rest follows the target
LEAST_CURVATURE, SHRINK, GROW, REST = 1e-4, 0.5, 8.0, 1.2
"""Smallest μ, and its factors after a step that achieved its prediction, that did not, or predicted too little."""
MAKING_UP = 0.1  # smallest μ for w, and that for missed changes; with less, joints that are not needed chatter
NOISE = 0.1  # fraction of the tolerance up to which a missed change counts as zero
FAR = 1e6  # stands for infinite distance [rad, m]
PROGRESS = 0.3  # sufficient decay rate of a violation [1/s]
DIAGNOSTICS = ("before", "promised", "curvature", "refused", "after")
"""Memory of a step: norm of the violation at its start for its targets, predicted norm at its end, μ, norm of the
requested change that it missed, and norm of the violation at its end."""


def braking_speed(way: SX, acceleration: SX, dt: SX) -> SX:
    """Largest speed of the next step from which braking steps end at rest after a distance `way` [rad, m].

    dt (v + (v - a dt) + ... + (v - n a dt)) = way, where v - n a dt is the last term that is not negative.
    """
    change, way = acceleration * dt, ca.fmin(way, FAR)
    n = ca.floor(0.5 * (ca.sqrt(1.0 + 8.0 * way / (change * dt)) - 1.0))
    return (way / dt + ca.if_else(n > 0, 0.5 * n * (n + 1.0) * change, 0.0)) / (n + 1.0)


class VelocityBuilder:
    """Builds the program of a step for a task model.

    Args:
        model: The tasks.
    """

    def __init__(self, model: TaskModel) -> None:
        self.model, state = model, model.state
        self.tasks = model.expressions()
        nv, size = state.nv, model.layout.size
        self.q, self.v = SX.sym("q", state.nq), SX.sym("v", nv)
        self.diagnostics = SX.sym("diagnostics", len(DIAGNOSTICS))
        sizes = dict.fromkeys(INPUTS, nv) | {"p": size, "p_next": size, "settings": len(SETTINGS)}
        self.inputs = {name: SX.sym(name, n) for name, n in sizes.items()}
        self.dt, self.settling, self.tolerance = ca.vertsplit(self.inputs["settings"])
        self.joints = joint_spaces(state.model)
        self.hard, self.has_hard = ca.DM((~model.soft).astype(np.float64)), not model.soft.all()

    def step(self) -> Program:
        """Program (q, v, diagnostics, inputs) -> (q⁺, v⁺, diagnostics⁺)."""
        program = Program("differential_inverse_kinematics")
        memory = [self.q, self.v, self.diagnostics]
        symbols = [*memory, *self.inputs.values()]
        inputs = [program.input(*each.shape) for each in symbols]
        speeds, *box = self._box()
        parts = program.call(ca.Function("tasks", symbols, ca.cse([*self._system(), *box])), *inputs)
        M, right, lag, N, down, c, e, J, lower, upper, weights, A, g, size, curvature, least_d, most_d = parts
        ways = program.solve(program.factor(M), right), program.solve(program.factor(N), down)
        begun = [*ways, c, e, J, lower, upper, lag, A, g, size, curvature, least_d, most_d]
        reads = list(zip(symbols, inputs))
        requested, least, most, A, b, d = call_formula(program, "begin", self._begin, *begun, reads=reads[1:])
        d = add_box_program(program, d, [requested, J, least, most, weights, A, b, least_d, most_d])
        reads = [*reads[:2], *reads[3:]]
        q, v = call_formula(program, "move", lambda step: self._moved(step, *speeds), d, reads=reads)
        reads = [(self.tasks.q, q), (self.model.layout.symbols, inputs[4])]
        news = [c, requested, J, lower, upper, curvature, d]
        program.output(q, v, *call_formula(program, "diagnostics", self._news, *news, reads=reads))
        return program

    def _system(self) -> list[SX]:
        """Matrix and right-hand sides for the remaining violations, rows, and the quadratic costs."""
        t, model = self.tasks, self.model
        symbols = [t.q, model.layout.symbols]
        quantities = [t.rows, t.jacobian, t.lower, t.upper, t.gradient, t.hessian, t.linear, t.quadratic]
        evaluate = ca.Function("at", symbols, [ca.densify(each) for each in quantities])
        c, J, lower, upper, g, H, linear, quadratic = evaluate(self.q, self.inputs["p_next"])
        now = evaluate(self.q, self.inputs["p"])
        e, before = self.hard * beyond(now[0], now[2], now[3]), beyond(c, lower, upper)
        dear = (1.0 - self.hard) * (quadratic + linear / ca.fmax(ca.fabs(before), self.tolerance))
        rows = ca.sum2(J**2)
        trace = ca.trace(H) + ca.dot(dear, rows)
        size = ca.dot(self.hard, rows) + (1e-12 if self.has_hard else trace)
        sigma = COSTS * size / (trace + 1e-12) if self.has_hard else SX(1)
        weights = self.hard * ca.if_else(lower == upper, 1.0, BOUNDED_FIRST**2) + sigma * dear
        active = ca.if_else(ca.logic_or(before != 0, lower == upper), weights, 0.0)
        curvature = self._curvature(ca.norm_2(e)) if self.has_hard else SX(0)
        metric = ca.diag(self.inputs["weights"])
        A = sigma * H + LEAST * size * metric
        A = ca.densify(0.5 * (A + A.T))
        N = A + J.T @ (ca.diag(active) @ J)
        M = N + ca.sqrt(size) * ca.fmax(curvature, MAKING_UP) * (ca.norm_2(e) if self.has_hard else 0.0) * metric
        lag = self.hard * ca.if_else(ca.logic_or(e != 0, lower == upper), 1.0, 0.0)
        pull = sigma * (g + J.T @ (dear * before))
        ways = [M, -J.T @ (active * e), lag, N, -pull]
        return [*ways, c, e, J, lower, upper, weights, A, sigma * g, size, curvature]

    def _curvature(self, violation: SX) -> SX:
        """μ after a step that has left a violation."""
        before, promised, mu, *_ = ca.vertsplit(self.diagnostics)
        missed, gain = violation - promised, before - promised
        grown = ca.logic_and(missed > 0.5 * gain, missed > NOISE * self.tolerance)
        enough = ca.logic_or(gain > PROGRESS * self.dt * before, before <= self.tolerance)
        kept = ca.logic_and(missed < ca.fmax(0.25 * gain, NOISE * self.tolerance), enough)
        mu = ca.if_else(grown, GROW * mu, ca.if_else(kept, SHRINK * mu, REST * mu))
        return ca.fmin(ca.fmax(mu, LEAST_CURVATURE), 1.0)

    def _news(self, c: SX, requested: SX, J: SX, lower: SX, upper: SX, mu: SX, d: SX) -> list[SX]:
        """The diagnostics for the next step, and the violation at the end."""
        t = self.tasks
        ends = [(r, lower, upper) for r in (c, c + J @ d, requested + J @ d)]
        ends.append((t.rows, t.lower, t.upper))
        norms = [ca.norm_2(self.hard * beyond(*rows)) if self.has_hard else SX(0) for rows in ends]
        return [ca.vertcat(*norms[:2], mu, *norms[2:])]

    def _box(self) -> tuple[tuple[SX, SX], SX, SX]:
        """Speed bounds from limits of velocity and acceleration; smallest and largest steps, (nv,) each."""
        g, dt, nv = self.inputs, self.dt, self.model.state.nv
        down, up = SX(-np.inf * np.ones(nv)), SX(np.inf * np.ones(nv))
        for joint in self.joints:
            if isinstance(joint.space, SIMPLE):
                for at, j in zip(ca.vertsplit(coordinate(joint, self.q)), range(joint.v.start, joint.v.stop)):
                    a = g["acceleration"][j]
                    rooms = at - g["low"][j], g["high"][j] - at
                    speeds = [ca.if_else(room >= 0, 1.0, -1.0) * braking_speed(ca.fabs(room), a, dt) for room in rooms]
                    down[j], up[j] = -speeds[0], speeds[1]
        change = g["acceleration"] * dt
        least = ca.fmin(ca.fmax(g["slowest"], self.v - change), self.v + change)
        most = ca.fmax(ca.fmin(g["fastest"], self.v + change), self.v - change)
        down, up = (dt * ca.fmin(ca.fmax(each, least), most) for each in (down, up))
        return (least, most), down, up

    def _begin(
        self, w: SX, down: SX, c: SX, e: SX, J: SX, lower: SX, upper: SX, lag: SX, A: SX, g: SX, size: SX, mu: SX,
        least: SX, most: SX,
    ) -> list[SX]:  # fmt: skip
        """Rows with the requested change, the costs' gradient, and the initial step."""
        alpha = self._stoppable(w)
        beta = ca.fmin(self._stoppable(down), self.dt / (self.dt + self.settling))
        made_up = lag * (J @ (alpha * w))
        paced = (1.0 - self.hard) * (1.0 - beta) * beyond(c, lower, upper)
        requested = c - e - made_up - paced
        refused = ca.fmax(self.diagnostics[DIAGNOSTICS.index("refused")] - NOISE * self.tolerance, 0.0)
        left = MAKING_UP * refused + (mu - LEAST_CURVATURE) * (ca.norm_2(lag * requested) if self.has_hard else 0.0)
        damping = ca.sqrt(size) * left
        A = A + damping * ca.diag(self.inputs["weights"])
        b = beta * (g - damping * self.inputs["weights"] * down)  # joints that no task needs go where costs want them
        first = ca.fmin(ca.fmax(self.dt * self.v, least), most)
        part = self.dt / (self.dt + self.settling)
        inside = ca.logic_and(lower < c, c < upper)
        lower = ca.if_else(inside, c + part * (lower - c), lower)
        upper = ca.if_else(inside, c + part * (upper - c), upper)
        return [requested, lower, upper, ca.densify(A), b, first]

    def _stoppable(self, way: SX) -> SX:
        """Largest fraction of a step, at most 1, after which every joint can stop at its end."""
        way = ca.fabs(way)
        speed = braking_speed(way, RESERVE * self.inputs["acceleration"], self.dt)
        return ca.fmin(1.0, ca.mmin(ca.if_else(way > 1e-12, self.dt * speed / way, 1.0)))

    def _moved(self, d: SX, least: SX, most: SX) -> list[SX]:
        """q⁺ and v⁺ after a step; a coordinate within its limits stays exactly within them."""
        g, parts = self.inputs, []
        for joint in self.joints:
            q = joint.space.integrate(self.q[joint.q], d[joint.v])
            if isinstance(joint.space, SIMPLE):
                low, high, old = g["low"][joint.v], g["high"][joint.v], coordinate(joint, self.q)
                inside = ca.logic_and(old >= low, old <= high)
                q = ca.if_else(inside, clipped(joint, self.q[joint.q], d[joint.v], low, high), q)
            parts.append(q)
        return [ca.vertcat(*parts), ca.fmin(ca.fmax(d / self.dt, least), most)]
