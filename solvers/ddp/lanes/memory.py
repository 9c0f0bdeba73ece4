"""Trajectories and directions of many problems, one a lane, and the compiled calls that work on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from trajopt.actions.expression import ActionModelExpression
from trajopt.kernels import (
    GroupCalls,
    Kernel,
    KernelCall,
    LaneChoice,
    Program,
    Rows,
    Stage,
    compile_together,
    copy_vectors,
    kernel,
    lane_count,
    rows,
    with_vector_sines,
)
from trajopt.shooting.arrays import padded
from trajopt.solvers.ddp.lanes import rules, trials
from trajopt.solvers.ddp.lanes.numbers import PROMISE, RECORD, RULES, SEARCH, STATE, TRIAL
from trajopt.solvers.riccati import lanes
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem

GUESS = tuple((name, name) for name in ("xs", "us", "x0", "p"))
"""Arrays that a problem brings into its lane, as pairs of names for `LaneMemory.copy`."""
ACCEPTED = (("xs_try", "xs"), ("us_try", "us"))


VECTORS = {"trial": TRIAL, "search": SEARCH, "promise": PROMISE, "state": STATE, "record": RECORD}
"""Names of the numbers of a lane, by array."""
SINGLE = {"alpha": "search", "rho_now": "state", "rho_on_value": "state", "with_gaps": "state"}
"""Numbers of a lane that are passed alone, with the array that they are part of."""


class LaneMemory:
    """Arrays of G groups of W lanes, and calls that run chosen groups.

    Lane n is lane n % W of group n // W. An array (G, T + 1, ..., W) has the numbers of all knots; some of the last
    knot are unused.

    Args:
        problem: The problem.
        groups: Number of groups G [-].
        gaps: Whether a step of length α closes the part α of gaps; if not, each step closes all of them.
        varied: Whether parameters differ between lanes; if not, all groups share them.
        lengths: Step lengths of a search [-].

    Attributes:
        W: Lanes of a group [-].
        groups: Number of groups G [-].
        arrays: Arrays by name: states and controls `xs`, `us`, initial states `x0`, parameters `p`, direction `K`, `k`,
            gaps `f` and V f `Vf`, trials `xs_try`, `us_try`, their sums `trial`, and numbers of a lane (G, 1, size, W),
            such as `search` and `promise`, see `lanes.trials`.
        kinds: Number of the kind of each running knot (T,).
        backward: Expansion and backward pass.
        roll_out: Rollout with the step lengths `alpha`.
        iterate: An iteration: directions, search, finish.
        directions: Backward passes until each lane has a direction.
        search: Rollouts until each lane has found its step, see `trials.judgement`.
        finish: The step, and the end of the iteration, but in groups with a lane that is lost.
        end: The end of the iteration, with its record.
        measure: Expansion for scales alone.
        scales: Results of `measure` (G, T + 1, s + 2, W), see `lanes.scale_step`.
    """

    def __init__(
        self,
        problem: ShootingProblem,
        groups: int,
        *,
        gaps: bool,
        varied: bool,
        lengths: Sequence[float] = (1.0,),
    ) -> None:
        self.W, self.groups, self._T = lane_count(), groups, problem.T
        n, nx, nu, width = problem.state.ndx, problem.state.nx, problem.nu, problem.table.values.shape[1]
        self._numbers = {"xs": nx, "us": nu, "p": width, "K": nu * n, "k": nu, "f": n, "Vf": n}
        self._numbers |= {"xs_try": nx, "us_try": nu}
        copies = {"p": groups if varied else 1} | ({} if gaps else dict.fromkeys(("f", "Vf"), 1))  # of no use
        self.arrays = {name: self._array(size, copies.get(name, groups)) for name, size in self._numbers.items()}
        self._common = {name for name in copies if name != "p" or not varied}  # groups have none of their own
        several = {"x0": nx, "theta": 1, **{name: len(names) for name, names in VECTORS.items()}}
        self._numbers |= several
        self.arrays |= {name: padded((groups, 1, size, self.W)) for name, size in several.items()}
        self.arrays |= {name: self._part(name, whole) for name, whole in SINGLE.items()}
        self.rules, self._lengths = padded((1, len(RULES), self.W)), padded((1, len(lengths), self.W))
        self._lengths[:] = np.reshape(lengths, (-1, 1))
        vectors = {
            "sums": len(lanes.SUMS),
            "trial_sums": len(TRIAL),
            "new_state": len(STATE),
            "new_search": len(SEARCH),
        }
        vectors |= {"V": n * n, "v": n}
        self._shared = {name: padded((self._T + 1, size, self.W)) for name, size in vectors.items()}
        self.scales = self._array(n + nu + 2)
        self._address = {name: self._addresses(array) for name, array in self.arrays.items()}
        self._pairs: dict[tuple[tuple[str, str], ...], tuple[Ints, Ints, Ints]] = {}
        self._totals = padded((groups, 1, len(lanes.SUMS), self.W))
        self._closed = padded((1, n, self.W))
        self._gaps = gaps
        self._kernels = _Kernels(problem, len(lengths), gaps=gaps)
        self.kinds = self._kernels.kinds
        compile_together(self._kernels.all)
        self._bind()

    def _bind(self) -> None:
        """Binds the kernels to the arrays of each group."""
        every, k = range(self.groups), self._kernels
        backward, rolled = [self.backward_calls(g) for g in every], [self._roll_out(g) for g in every]

        def applied(kernel: list[Kernel], output: str, *inputs: str) -> list[list[KernelCall]]:
            return [self._rule(g, kernel, output, inputs) for g in every]

        begin, directed = (
            applied(k.beginning, "state", "state", "rules"),
            applied(k.direction, "state", "state", "totals", "rules"),
        )
        promised = applied(k.promise, "promise", "state", "totals", "rules")
        begun = applied(k.search_begins, "search", "state", "search", "lengths")
        judged = applied(k.judge, "search", "search", "promise", "trial", "rules", "lengths")
        stepped = applied(k.on_step, "state", "state", "search", "promise", "rules")
        noted = applied(k.record, "record", "state", "search", "promise", "totals")
        ended = applied(k.ending, "state", "state", "search", "promise", "totals", "rules")
        moves = self._part("moves", "state")[:, 0, 0]
        pairs = [[(self.arrays[a][g], self.arrays[b][g]) for a, b in ACCEPTED] for g in every]
        moved = [[LaneChoice(pairs[g], moves[g])] for g in every]

        self.backward, self.roll_out = GroupCalls(Stage(backward)), GroupCalls(Stage(rolled))
        self.measure = GroupCalls(Stage([self._measure(g) for g in every]))
        left = self._part("left", "state")[:, 0, 0], self._part("left", "search")[:, 0, 0]
        directions = Stage(begin), Stage(_joined(backward, directed), left[0])
        search = Stage(promised), Stage(begun), Stage(_joined(rolled, judged), left[1])
        finish = Stage(stepped), Stage(moved, halts=self._part("lost", "state")[:, 0, 0]), Stage(noted), Stage(ended)
        self.directions, self.search, self.finish = (GroupCalls(*each) for each in (directions, search, finish))
        self.iterate = GroupCalls(*directions, *search, *finish)
        self.promise, self.end = GroupCalls(Stage(promised)), GroupCalls(*finish[2:])

    def _part(self, name: str, whole: str) -> Reals:
        """Array (G, 1, 1, W) of one of the numbers of a lane."""
        i = VECTORS[whole].index(name)
        return self.arrays[whole][:, :, i : i + 1]

    def _rule(self, g: int, kernel: list[Kernel], output: str, inputs: Sequence[str]) -> list[KernelCall]:
        """A rule of `lanes.rules` on the numbers of a group; it has its own output if it does not read it."""
        more = {"totals": [Rows(self._totals[g], 0)], "rules": [rows(self.rules)], "lengths": [rows(self._lengths)]}
        arguments = [row for name in inputs for row in more.get(name, []) or self.of(g, name)]
        if output not in inputs:
            return [call_at_knots(kernel, [0], [*arguments, *self.of(g, output)])]
        new = self.shared(f"new_{output}")
        replace = self._kernels.replace_state if output == "state" else self._kernels.replace_search
        return [
            call_at_knots(kernel, [0], [*arguments, *new]),
            call_at_knots(replace, [0], [*new, *self.of(g, output)]),
        ]

    def _array(self, size: int, count: int | None = None) -> Reals:
        return padded((self.groups if count is None else count, self._T + 1, size, self.W))

    def extend(self, sizes: Mapping[str, int]) -> None:
        """Adds arrays (G, T + 1, size, W), sizes by name."""
        for name, size in sizes.items():
            self.arrays[name] = self._array(size)
            self._numbers[name], self._address[name] = size, self._addresses(self.arrays[name])

    def _addresses(self, array: Reals) -> Ints:
        """Address of the first number of an array (G, ...) in each lane; all groups may share it."""
        lane, stride = np.arange(self.groups * self.W), array.strides[0] if len(array) > 1 else 0
        return int(array.ctypes.data) + lane // self.W * stride + lane % self.W * 8

    def set(self, name: str, places: Ints, values: Reals) -> None:
        """Sets a number of lanes (m,) to values (m,)."""
        self.arrays[name][places // self.W, 0, 0, places % self.W] = values

    def regularize(self, places: Ints, rho: Reals, *, on_value: bool) -> None:
        """Sets ρ of lanes (m,), on V too if wanted."""
        self.set("rho_now", places, rho)
        self.set("rho_on_value", places, rho if on_value else np.zeros(len(places)))

    def shared(self, *names: str) -> list[Rows]:
        """Rows of arrays that the groups share one after the other; `name+` begins at the next knot.

        They are the value function `V` and `v`, `sums` of the backward pass, `trial_sums`, and results of rules.
        """
        arrays = {name: self._shared[name.removesuffix("+")] for name in names}
        return [rows(array, offset=int(name.endswith("+"))) for name, array in arrays.items()]

    def of(self, g: int, *names: str) -> list[Rows]:
        """Rows of the arrays of a group; `name+` begins at the next knot, numbers of a lane are the same for all."""
        found = []
        for name in names:
            whole = self.arrays[name.removesuffix("+")]
            array = whole[g % len(whole)]
            found.append(
                rows(array, offset=1) if name.endswith("+") else Rows(array, 0) if len(array) == 1 else rows(array)
            )
        return found

    def backward_calls(self, g: int) -> list[KernelCall]:
        """Backward pass of a group: its end, its steps, the gap before its first knot."""
        kernels, order = self._kernels, np.arange(self._T)[::-1]
        at_end = [*self.of(g, "xs", "p", "rho_on_value"), *self.shared("V", "v", "sums")]
        end = call_at_knots(kernels.end, [self._T], at_end)
        inputs = [*self.of(g, "xs", "us", "p", "xs+"), *self.shared("V+", "v+", "sums+")]
        inputs += self.of(g, "rho_now", "rho_on_value", "with_gaps")
        outputs = [*self.shared("V", "v", "sums"), *self.of(g, "K", "k", "f+", "Vf+")]
        steps = call_at_knots(kernels.backward, order, [*inputs, *outputs], kernels.kinds[order])
        inputs = [*self.of(g, "x0", "xs"), *self.shared("V", "v", "sums"), *self.of(g, "with_gaps")]
        begin = call_at_knots(kernels.begin, [0], [*inputs, Rows(self._totals[g], 0), *self.of(g, "f", "Vf")])
        return [end, steps, begin]

    def _roll_out(self, g: int) -> list[KernelCall]:
        gaps = self.of(g, "f", "f+") if self._gaps else [Rows(self._closed, 0)] * 2
        start = call_at_knots(self._kernels.start, [0], [*self.of(g, "x0"), gaps[0], *self.of(g, "alpha", "xs_try")])
        sums = self.shared("trial_sums")
        inputs = [*self.of(g, "xs_try", "xs", "us", "k", "K"), gaps[1], *self.of(g, "alpha", "p", "Vf"), *sums]
        outputs = [*self.of(g, "xs_try+", "us_try"), *self.shared("trial_sums+")]
        steps = call_at_knots(self._kernels.step, np.arange(self._T), [*inputs, *outputs], self._kernels.kinds)
        at_end = [*self.of(g, "xs_try", "xs", "p", "Vf"), *sums, *self.of(g, "trial")]
        return [start, steps, call_at_knots(self._kernels.last, [self._T], at_end)]

    def _measure(self, g: int) -> list[KernelCall]:
        whole = self.scales[g]
        s = whole.shape[1] - 2
        n = self.arrays["f"].shape[2]
        parts = [_part(whole, 0), _part(whole, s), _part(whole, s + 1)]
        steps = call_at_knots(
            self._kernels.scale, np.arange(self._T), [*self.of(g, "xs", "us", "p", "xs+"), *parts], self._kernels.kinds
        )
        ends = [_part(whole, 0), _part(whole, s), _part(whole, s + 1)]
        end = call_at_knots(self._kernels.scale_end, [self._T], [*self.of(g, "xs", "p"), *ends])
        whole[self._T, n:s] = 0.0
        return [steps, end]

    def totals(self) -> Reals:
        """Sums of the last backward pass in each lane (6, G W), in the order of `lanes.SUMS`."""
        return self._totals[:, 0].transpose(1, 0, 2).reshape(len(lanes.SUMS), -1)

    # Copies between lanes and rows

    def copy(self, names: tuple[tuple[str, str], ...], source: Ints, target: Ints) -> None:
        """Copies arrays, pairs of names from and to, from lanes (m,) to other lanes (m,)."""
        if not len(source):
            return
        if names not in self._pairs:
            own = [(a, b) for a, b in names if a not in self._common]
            sizes = np.array([self.arrays[a][0].size // self.W for a, _ in own], dtype=np.int64)
            froms, tos = (np.array([self._address[pair[i]] for pair in own]) for i in (0, 1))
            self._pairs[names] = froms, tos, sizes
        froms, tos, sizes = self._pairs[names]
        table = np.empty((len(sizes), len(source), 5), dtype=np.int64)
        table[:, :, 0], table[:, :, 1], table[:, :, 2] = froms[:, source], tos[:, target], sizes[:, None]
        table[:, :, 3:] = 8 * self.W
        copy_vectors(table.reshape(-1, 5))

    def numbers(self, name: str, places: Ints) -> Reals:
        """Numbers (size, m) of lanes (m,) in an array (G, 1, size, W)."""
        found: Reals = self.arrays[name][places // self.W, 0, :, places % self.W].T
        return found

    def put(self, name: str, places: Ints, numbers: Reals) -> None:
        """Writes numbers (size, m) to lanes (m,) of an array (G, 1, size, W)."""
        self.arrays[name][places // self.W, 0, :, places % self.W] = numbers.T

    def load(self, name: str, values: Reals, target: Ints) -> None:
        """Writes rows (m, ...) of values to an array of lanes (m,); what all groups share is set to the first row."""
        if not len(target):
            return
        if name in self._common:
            self.arrays[name][0] = values[0][:, :, None]
            return
        held = np.ascontiguousarray(values, dtype=np.float64)
        starts = int(held.ctypes.data) + np.arange(len(target)) * held.strides[0]
        copy_vectors(_table(starts, self._address[name][target], held[0].size, 8, 8 * self.W))

    def read(self, name: str, source: Ints, knots: int) -> Reals:
        """Rows (m, knots, size) of an array of lanes (m,)."""
        values = np.empty((len(source), knots, self._numbers[name]))
        if len(source):
            starts = int(values.ctypes.data) + np.arange(len(source)) * values.strides[0]
            copy_vectors(_table(self._address[name][source], starts, values[0].size, 8 * self.W, 8))
        return values

    def clear(self, name: str, target: Ints) -> None:
        """Writes zeros to an array of lanes (m,)."""
        array = self.arrays[name]
        if name not in self._common and len(target):
            array[target // self.W, ..., target % self.W] = 0.0

    def groups_of(self, places: Ints) -> Ints:
        """Groups of lanes (m,), ascending."""
        return np.flatnonzero(np.bincount(places // self.W))


def lane_kernel(program: Program) -> Kernel:
    """Kernel of a program for lanes."""
    return kernel(with_vector_sines(program), lane_count())


class _Kernels:
    """Kernels of a problem, one for each kind of running knot where there are several."""

    def __init__(self, problem: ShootingProblem, lengths: int, *, gaps: bool) -> None:
        nu, running, end = problem.nu, problem.kinds[:-1], problem.kinds[-1].model
        models = [kind.model for kind in running]
        assert isinstance(end, ActionModelExpression)

        def each(program: object) -> list[Kernel]:
            return [lane_kernel(program(model)) for model in models]  # type: ignore[operator]

        def one(program: Program) -> list[Kernel]:
            return [lane_kernel(program)]

        self.kinds = np.zeros(problem.T, dtype=np.int64)
        for i, kind in enumerate(running):
            self.kinds[list(kind.knots)] = i
        self.backward = each(lambda model: lanes.backward_step(model, nu))
        self.end, self.begin = one(lanes.backward_end(end)), one(lanes.backward_begin(end))
        self.scale = each(lambda model: lanes.scale_step(model, nu))
        self.scale_end = one(lanes.scale_end(end))
        self.step, self.last = each(trials.summed_step), one(trials.summed_end(end))
        self.start = one(lanes.start(end))
        self.judge, self.search_begins = one(trials.judgement(lengths, gaps=gaps)), one(rules.search_begins(lengths))
        self.beginning, self.direction = one(rules.beginning()), one(rules.direction())
        self.promise, self.on_step = one(rules.promise(gaps=gaps)), one(rules.step(gaps=gaps))
        self.record, self.ending = one(rules.record()), one(rules.end())
        self.replace_state, self.replace_search = one(rules.identity(len(STATE))), one(rules.identity(len(SEARCH)))

    @property
    def all(self) -> list[Kernel]:
        """All kernels."""
        several = [self.backward, self.end, self.begin, self.scale, self.scale_end, self.step, self.last, self.start]
        several += [self.judge, self.search_begins, self.beginning, self.direction, self.promise, self.on_step]
        several += [self.record, self.ending, self.replace_state, self.replace_search]
        return [each for some in several for each in some]


def call_at_knots(
    kernels: list[Kernel], order: Sequence[int] | Ints, arguments: list[Rows], kinds: Ints | None = None
) -> KernelCall:
    """Call at knots in this order."""
    blocks = np.asarray(order, dtype=np.int64).reshape(-1, 1)
    return KernelCall(kernels, np.zeros(len(blocks)) if kinds is None else kinds, blocks, arguments, packed=True)


def _joined(*calls: list[list[KernelCall]]) -> list[list[KernelCall]]:
    """Calls of each group, one list after the other."""
    return [[call for some in group for call in some] for group in zip(*calls)]


def _part(array: Reals, first: int) -> Rows:
    """Rows of an array (T + 1, size, W), of which each begins at element `first`."""
    return Rows(array[:, first:], array.strides[0])


def _table(source: Ints, target: Ints, count: int, apart: int, aside: int) -> Ints:
    """Numbers of copies, see `copy_vectors`."""
    table = np.empty((len(source), 5), dtype=np.int64)
    table[:, 0], table[:, 1], table[:, 2], table[:, 3], table[:, 4] = source, target, count, apart, aside
    return table
