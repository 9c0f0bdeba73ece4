"""Directions with exact Hessians in lanes, and whether they are worth their time, as in `solvers.ddp.curvature`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.actions.expression import ActionModelExpression
from trajopt.kernels import GroupCalls, KernelCall, compile_together
from trajopt.shooting.trials import LARGEST
from trajopt.solvers.ddp import curvature
from trajopt.solvers.ddp.lanes.memory import GUESS, LaneMemory, call_at_knots, lane_kernel
from trajopt.solvers.ddp.lanes.rules import Flags, Rules
from trajopt.solvers.ddp.lanes.search import LaneSteps
from trajopt.solvers.ddp.lanes.state import LaneState
from trajopt.solvers.riccati import lanes
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem

GAINS = (("K", "K"), ("k", "k"))
KEEP = (("K", "K_kept"), ("k", "k_kept"))
SWAP = (("K", "K_exact"), ("k", "k_exact"), ("xs_try", "xs_exact"), ("us_try", "us_exact"))
BACK = tuple((b, a) for a, b in KEEP)
AGAIN = tuple((b, a) for a, b in SWAP)


@dataclass
class ExactDirections:
    """Outcome for lanes (m,).

    Attributes:
        tried: Whether an exact direction was computed, or tried.
        blend: Part θ of the exact Hessian; 0 for Gauss-Newton's direction.
        decrease: Σ Qu · k of the exact directions [cost].
    """

    tried: Flags
    blend: Reals
    decrease: Reals


class ExactLanes:
    """Exact directions of lanes, computed in the extra groups.

    Args:
        problem: The problem; its models have Hessians of the Lagrangian.
        memory: Memory of the lanes.
        rules: Options and rules of the solver.
        first_extra: First extra group [-].
    """

    def __init__(self, problem: ShootingProblem, memory: LaneMemory, rules: Rules, first_extra: int) -> None:
        self._memory, self._options, self._T = memory, rules.options, problem.T
        self._first, self._extra = first_extra, np.arange(first_extra * memory.W, memory.groups * memory.W)
        n, nx, nu = problem.state.ndx, problem.state.nx, problem.nu
        more = {"K_kept": nu * n, "k_kept": nu, "K_exact": nu * n, "k_exact": nu, "xs_exact": nx, "us_exact": nu}
        memory.extend(more | {"lam": n, "dx_linear": n})
        end = problem.kinds[-1].model
        assert isinstance(end, ActionModelExpression)
        models = [kind.model for kind in problem.kinds[:-1]]
        self._forward_kernels = [lane_kernel(lanes.forward_step(model, nu)) for model in models]  # type: ignore[arg-type]
        self._step_kernels = [lane_kernel(lanes.exact_step(model, nu)) for model in models]  # type: ignore[arg-type]
        self._end_kernel = lane_kernel(lanes.exact_end(end))
        compile_together([*self._forward_kernels, *self._step_kernels, self._end_kernel])
        groups, parts = range(first_extra, memory.groups), memory.threads
        self._forward = GroupCalls([self._forward_calls(g) for g in groups], parts=parts)
        self._backward = GroupCalls([self._backward_calls(g) for g in groups], parts=parts)

    def _forward_calls(self, g: int) -> list[KernelCall]:
        m = self._memory
        own = [*m.of(g, "xs", "us", "p", "xs+", "K", "k", "dx_linear"), *m.shared(g, "V+", "v+")]
        outputs = m.of(g, "dx_linear+", "lam+")
        steps = call_at_knots(self._forward_kernels, np.arange(self._T), [*own, *outputs], m.kinds)
        return [*m.backward_calls(g)[:2], steps]

    def _backward_calls(self, g: int) -> list[KernelCall]:
        m = self._memory
        at_end = [*m.of(g, "xs", "p", "rho_on_value", "dx_linear", "theta"), *m.shared(g, "V", "v", "sums")]
        end = call_at_knots([self._end_kernel], [self._T], at_end)
        order = np.arange(self._T)[::-1]
        inputs = [*m.of(g, "xs", "us", "p", "xs+"), *m.shared(g, "V+", "v+", "sums+")]
        inputs += m.of(g, "rho", "rho_on_value", "with_gaps", "lam+", "theta")
        outputs = [*m.shared(g, "V", "v", "sums"), *m.of(g, "K", "k", "f+", "Vf+")]
        steps = call_at_knots(self._step_kernels, order, [*inputs, *outputs], m.kinds[order])
        return [end, steps, m.backward_calls(g)[2]]

    def directions(self, state: LaneState, chosen: Ints, rho: Reals) -> ExactDirections:
        """Replaces the gains of lanes `chosen` (m,) by those of exact directions, where these are to be tried.

        Args:
            state: Numbers of the lanes.
            chosen: The lanes.
            rho: Regularisation of the Gauss-Newton direction (m,).
        """
        n = len(chosen)
        engaged = (state.crawled[chosen] >= curvature.ENOUGH) & state.feasible[chosen]
        tried = engaged & (state.pause[chosen] == 0)
        state.pause[chosen[engaged & ~tried]] -= 1
        found = ExactDirections(tried, np.zeros(n), np.zeros(n))
        which = np.flatnonzero(tried)
        for part in np.array_split(which, -(-len(which) // len(self._extra))) if len(which) else ():
            self._factor(state, chosen[part], rho[part], part, found)
        exact = found.blend > 0.0
        state.confirmed[chosen[exact]] = state.ridge[chosen[exact]] <= self._options.min_regularization
        return found

    def _factor(self, state: LaneState, chosen: Ints, rho: Reals, part: Ints, found: ExactDirections) -> None:
        """Tries parts θ as `ExactDirection.factor` does."""
        m, places, o = self._memory, self._extra[: len(chosen)], self._options
        m.copy(GUESS, chosen, places)
        m.set("with_gaps", places, np.zeros(len(places)))
        m.regularize(places, rho, on_value=o.regularize_value)
        m.clear("dx_linear", places)
        self._forward(m.groups_of(places) - self._first)
        m.regularize(places, state.ridge[chosen] * state.unit[chosen], on_value=o.regularize_value)
        first, left, theta = state.part[chosen], np.ones(len(chosen), np.bool_), np.ones(len(chosen))
        for turn in range(curvature.TRIES):
            number = first + turn
            left &= number < len(curvature.BLENDS)
            if not left.any():
                break
            theta[left] = np.array(curvature.BLENDS)[number[left]]
            m.set("theta", places, theta)
            self._backward(m.groups_of(places[left]) - self._first)
            decrease = m.totals()[lanes.SUMS.index("decrease"), places]
            good = left & (np.abs(decrease) < LARGEST)
            found.blend[part[good]], found.decrease[part[good]] = theta[good], decrease[good]
            state.part[chosen[good]] = np.maximum(0, number[good] - 1)
            left &= ~good
        state.part[chosen[found.blend[part] == 0.0]] = len(curvature.BLENDS) - 1
        exact = found.blend[part] > 0.0
        m.copy(KEEP, chosen[exact], chosen[exact])
        m.copy(GAINS, places[exact], chosen[exact])

    def put_aside(self, chosen: Ints) -> None:
        """Sets the exact gains and trials of lanes (m,) aside; the gains are then those of Gauss-Newton."""
        self._memory.copy(SWAP, chosen, chosen)
        self._memory.copy(BACK, chosen, chosen)

    def take_back(self, chosen: Ints) -> None:
        """Takes the exact gains and trials of lanes (m,) back."""
        self._memory.copy(AGAIN, chosen, chosen)

    def judge(self, state: LaneState, chosen: Ints, steps: LaneSteps, found: ExactDirections) -> None:
        """Learns from steps whether exact directions are worth their time, as `Curvature.judge`."""
        s, o = state, self._options
        beaten = (found.blend == 0.0) & steps.accepted & (steps.decrease >= steps.expected)
        count = np.where(beaten, s.beaten[chosen] + 1, 0)
        s.beaten[chosen] = np.where(found.tried, count, s.beaten[chosen])
        s.pause[chosen] = np.where(found.tried, count, s.pause[chosen])
        exact, ridge = found.blend > 0.0, s.ridge[chosen]
        lower = ridge / o.regularization_decrease
        lower = np.where(lower >= o.min_regularization, lower, 0.0)
        higher = np.maximum(ridge * o.regularization_increase, curvature.FIRST_RIDGE)
        long = steps.accepted & (steps.length > o.good_step)
        engaged = s.crawled[chosen] >= curvature.ENOUGH
        bad_step = np.where(engaged, max(curvature.BAD, o.bad_step), o.bad_step)
        short = ~long & (~steps.accepted | (steps.length <= bad_step))
        s.ridge[chosen] = np.where(exact & long, lower, np.where(exact & short, higher, ridge))
