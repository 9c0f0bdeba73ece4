"""Directions with exact Hessians in lanes, as in `solvers.ddp.curvature`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.actions.expression import ActionModelExpression
from trajopt.kernels import GroupCalls, KernelCall, Stage, compile_together
from trajopt.shooting.trials import LARGEST
from trajopt.solvers.ddp import curvature
from trajopt.solvers.ddp.lanes.memory import GUESS, LaneMemory, call_at_knots, lane_kernel
from trajopt.solvers.ddp.lanes.state import LaneState
from trajopt.solvers.options import DDPOptions
from trajopt.solvers.riccati import lanes
from trajopt.types import Ints

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem

GAINS = (("K", "K"), ("k", "k"))
KEEP = (("K", "K_kept"), ("k", "k_kept"))
SWAP = (("K", "K_exact"), ("k", "k_exact"), ("xs_try", "xs_exact"), ("us_try", "us_exact"))
BACK = tuple((b, a) for a, b in KEEP)
AGAIN = tuple((b, a) for a, b in SWAP)


class ExactLanes:
    """Exact directions of lanes, computed in the extra groups.

    Args:
        problem: The problem; its models have Hessians of the Lagrangian.
        memory: Memory of the lanes.
        options: Options of the solver.
        first_extra: First extra group [-].
    """

    def __init__(self, problem: ShootingProblem, memory: LaneMemory, options: DDPOptions, first_extra: int) -> None:
        self._memory, self._options, self._T = memory, options, problem.T
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
        groups = range(first_extra, memory.groups)
        self._forward = GroupCalls(Stage([self._forward_calls(g) for g in groups]))
        self._backward = GroupCalls(Stage([self._backward_calls(g) for g in groups]))

    def _forward_calls(self, g: int) -> list[KernelCall]:
        m = self._memory
        own = [*m.of(g, "xs", "us", "p", "xs+", "K", "k", "dx_linear"), *m.shared("V+", "v+")]
        outputs = m.of(g, "dx_linear+", "lam+")
        steps = call_at_knots(self._forward_kernels, np.arange(self._T), [*own, *outputs], m.kinds)
        return [*m.backward_calls(g)[:2], steps]

    def _backward_calls(self, g: int) -> list[KernelCall]:
        m = self._memory
        at_end = [*m.of(g, "xs", "p", "rho_on_value", "dx_linear", "theta"), *m.shared("V", "v", "sums")]
        end = call_at_knots([self._end_kernel], [self._T], at_end)
        order = np.arange(self._T)[::-1]
        inputs = [*m.of(g, "xs", "us", "p", "xs+"), *m.shared("V+", "v+", "sums+")]
        inputs += m.of(g, "rho_now", "rho_on_value", "with_gaps", "lam+", "theta")
        outputs = [*m.shared("V", "v", "sums"), *m.of(g, "K", "k", "f+", "Vf+")]
        steps = call_at_knots(self._step_kernels, order, [*inputs, *outputs], m.kinds[order])
        return [end, steps, m.backward_calls(g)[2]]

    def directions(self, state: LaneState, engaged: Ints) -> None:
        """Replaces the gains of lanes by those of exact directions, where these are to be tried.

        Args:
            state: Numbers of the lanes.
            engaged: Lanes (m,) that turn to exact Hessians.
        """
        waits = state["pause"][engaged] > 0.0
        state["pause"][engaged[waits]] -= 1.0
        chosen = engaged[~waits]
        state["tried"][chosen] = 1.0
        for part in np.array_split(chosen, -(-len(chosen) // len(self._extra))) if len(chosen) else ():
            self._factor(state, part)

    def _factor(self, state: LaneState, chosen: Ints) -> None:
        """Tries parts θ as `ExactDirection.factor` does."""
        m, places, o = self._memory, self._extra[: len(chosen)], self._options
        m.copy(GUESS, chosen, places)
        m.set("with_gaps", places, np.zeros(len(places)))
        m.regularize(places, state["rho_now"][chosen], on_value=o.regularize_value)
        m.clear("dx_linear", places)
        self._forward(m.groups_of(places) - self._first)
        m.regularize(places, state["ridge"][chosen] * state["unit"][chosen], on_value=o.regularize_value)
        first, left, theta = state["part"][chosen], np.ones(len(chosen), np.bool_), np.ones(len(chosen))
        blend, last = np.zeros(len(chosen)), len(curvature.BLENDS) - 1
        for turn in range(curvature.TRIES):
            number = first.astype(np.int64) + turn
            left &= number <= last
            if not left.any():
                break
            theta[left] = np.array(curvature.BLENDS)[number[left]]
            m.set("theta", places, theta)
            self._backward(m.groups_of(places[left]) - self._first)
            decrease = m.totals()[lanes.SUMS.index("decrease"), places]
            good = left & (np.abs(decrease) < LARGEST)
            blend[good], state["exact_decrease"][chosen[good]] = theta[good], decrease[good]
            state["part"][chosen[good]] = np.maximum(0, number[good] - 1)
            left &= ~good
        state["blend"][chosen] = blend
        state["part"][chosen[blend == 0.0]] = last
        exact = blend > 0.0
        turned = chosen[exact]
        state["confirmed"][turned] = state["ridge"][turned] <= o.min_regularization
        m.copy(KEEP, turned, turned)
        m.copy(GAINS, places[exact], turned)

    def put_aside(self, chosen: Ints) -> None:
        """Sets the exact gains and trials of lanes (m,) aside; the gains are then those of Gauss-Newton."""
        self._memory.copy(SWAP, chosen, chosen)
        self._memory.copy(BACK, chosen, chosen)

    def take_back(self, chosen: Ints) -> None:
        """Takes the exact gains and trials of lanes (m,) back."""
        self._memory.copy(AGAIN, chosen, chosen)
