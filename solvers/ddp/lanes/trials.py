"""Programs of a trial in lanes: rollouts that add up what the search needs, and the rules that judge them.

The rules are those of `solvers.ddp.searches` and `solvers.ddp.acceptance`, as formulas of a lane. Machine
code repeats rollout and judgement until no lane of a group is left, so that Python is asked once for all groups.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import casadi as ca
from casadi import SX

from trajopt.actions.expression import ActionModelExpression
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula, computed
from trajopt.model.programs import kept
from trajopt.shooting import programs
from trajopt.shooting.trials import LARGEST
from trajopt.solvers.ddp.searches import NOISE

TRIAL = ("cost", "scale", "open", "square")
"""Sums over the knots of a trial: l_t, |l_t|, V f · dx of gaps that remain open, and xᵀx."""
SEARCH = (*("alpha", "number", "phase", "accepted", "length", "cost", "decrease", "expected", "unbounded", "left"),)
"""State of a search: step length of the next trial, its number in the list, FIRST, GROWS or AGAIN; then the outcome,
see `LaneSteps`; and whether the lane needs a further trial."""
PROMISE = ("d0", "d1", "scale", "least", "open", "cost", "feasible", "excess")
"""What a search is given, see `Promises` and `LaneSearch.along`."""
RULES = ("acceptance", "negative_acceptance", "negligible", "relative_negligible", "growth")
"""Numbers of the rules, from the options."""
FIRST, GROWS, AGAIN = 0.0, 1.0, 2.0


def summed_step(model: ActionModelExpression) -> Program:
    """(inputs of `programs.step`, V f, sums) -> (x_next, u, sums) of one step of a rollout; sums are `TRIAL`."""
    return kept(model, ("step with sums",), lambda: _summed_step(model))


def summed_end(model: ActionModelExpression) -> Program:
    """(inputs of `programs.terminal_step`, V f, sums) -> sums of the end of a rollout."""
    return kept(model, ("terminal step with sums",), lambda: _summed_end(model))


def _summed_step(model: ActionModelExpression) -> Program:
    program = Program(f"{type(model).__name__}: step with sums")
    x_next, u, cost, dx, *_ = programs.add_step(program, model)
    program.output(x_next, u, _summed(program, model.state.ndx, cost, dx))
    return program


def _summed_end(model: ActionModelExpression) -> Program:
    program = Program(f"{type(model).__name__}: terminal step with sums")
    cost, dx, *_ = programs.add_terminal_step(program, model)
    program.output(_summed(program, model.state.ndx, cost, dx))
    return program


def _summed(program: Program, n: int, cost: Array, dx: Array) -> Array:
    x, Vf, sums = program.inputs[0], program.input(n), program.input(len(TRIAL))

    def add(sums: SX, cost: SX, Vf: SX, dx: SX, x: SX) -> SX:
        return SX(sums + ca.vertcat(cost, ca.fabs(cost), ca.dot(Vf, dx), ca.dot(x, x)))

    return computed(program, "trial_sums", add, sums, cost, Vf, dx, x)


@functools.cache
def judgement(count: int, *, gaps: bool) -> Program:
    """(state, promise, sums, rules, step lengths) -> state after a trial; vectors of `SEARCH`, `PROMISE`, `TRIAL`.

    Args:
        count: Number of step lengths [-].
        gaps: Whether a step of length α closes the part α of gaps, as in FDDP.
    """
    program = Program("judgement of a trial")
    sizes = (len(SEARCH), len(PROMISE), len(TRIAL), len(RULES), count)
    inputs = [program.input(size) for size in sizes]

    def formula(*arrays: SX) -> Sequence[SX]:
        return [_judged(*arrays, gaps=gaps)]

    program.output(*call_formula(program, "judge", formula, *inputs))
    return program


@functools.cache
def identity(size: int) -> Program:
    """x -> x, with which the state after a trial replaces the one before."""
    program = Program("identity")
    program.output(computed(program, "identity", lambda x: SX(+x), program.input(size)))
    return program


def _judged(now: SX, promise: SX, trial: SX, rules: SX, lengths: SX, *, gaps: bool) -> SX:
    s, p, o = _named(SEARCH, now), _named(PROMISE, promise), _named(RULES, rules)
    reached, square = trial[TRIAL.index("cost")], trial[TRIAL.index("square")]
    dv = ca.if_else(p["open"], trial[TRIAL.index("open")], 0)
    d0, d1 = p["d0"] + dv, p["d1"] - 2 * dv
    expected, decrease = s["alpha"] * (d0 + 0.5 * s["alpha"] * d1), p["cost"] - reached
    inside = ca.logic_and(ca.fabs(reached) < LARGEST, square < LARGEST**2)  # false for NaN
    good = ca.logic_and(_accepted(p, o, (d0, expected, decrease), gaps=gaps), inside)
    below = reached <= -LARGEST
    tried = {"length": s["alpha"], "cost": reached, "decrease": decrease, "expected": expected}
    first = _after_a_length(s, p, o, lengths, good, below, tried)
    falls = ca.logic_and(inside, reached < s["cost"])  # a step grows as long as the cost falls
    longer = {
        **{name: ca.if_else(falls, value, s[name]) for name, value in tried.items()},
        "alpha": ca.if_else(falls, s["alpha"] * o["growth"], s["length"]),
        "phase": ca.if_else(falls, GROWS, AGAIN),
        "unbounded": ca.if_else(falls, 0, below),
    }
    new = {}
    for name in SEARCH:
        last = 0 if name == "left" else s[name]
        later = ca.if_else(s["phase"] == GROWS, longer.get(name, s[name]), last)
        value = ca.if_else(s["phase"] == FIRST, first.get(name, s[name]), later)
        new[name] = ca.if_else(s["left"], value, s[name])
    return ca.densify(ca.vertcat(*new.values()))


def _named(names: Sequence[str], vector: SX) -> dict[str, SX]:
    return {name: vector[i] for i, name in enumerate(names)}


def _accepted(p: dict[str, SX], o: dict[str, SX], trial: tuple[SX, SX, SX], *, gaps: bool) -> SX:
    """Whether a trial is accepted, see `DDPAcceptance` and `FDDPAcceptance`."""
    d0, expected, decrease = trial
    negligible = o["negligible"] + o["relative_negligible"] * p["scale"]
    enough = ca.logic_or(decrease > o["acceptance"] * expected, ca.fabs(d0) <= negligible)
    if gaps:
        rising = ca.logic_and(ca.logic_not(p["feasible"]), decrease > o["negative_acceptance"] * expected)
        return ca.if_else(expected >= 0, enough, ca.logic_and(expected < 0, rising))
    brings = ca.if_else(p["feasible"], enough, decrease >= p["least"])
    return ca.logic_and(ca.logic_not(expected < 0), brings)


def _after_a_length(
    s: dict[str, SX], p: dict[str, SX], o: dict[str, SX], lengths: SX, good: SX, below: SX, tried: dict[str, SX]
) -> dict[str, SX]:
    """State after a trial of one of the step lengths."""
    count, number = lengths.numel(), s["number"] + 1
    following = lengths[count - 1]
    for i in reversed(range(count - 1)):
        following = ca.if_else(number == i, lengths[i], following)
    wanted = p["excess"] * tried["expected"]
    grows = _all(
        good,
        p["feasible"],
        s["alpha"] == 1,
        o["growth"] > 1,
        wanted > NOISE * p["scale"],
        tried["decrease"] > wanted,
    )
    more = ca.logic_and(ca.logic_not(good), number < count)
    return {
        **tried,
        "alpha": ca.if_else(grows, o["growth"], ca.if_else(more, following, s["alpha"])),
        "number": number,
        "phase": ca.if_else(grows, GROWS, FIRST),
        "accepted": good,
        "cost": ca.if_else(good, tried["cost"], p["cost"]),
        "unbounded": ca.if_else(good, 0, ca.logic_or(s["unbounded"], below)),
        "left": ca.logic_or(grows, more),
    }


def _all(*conditions: SX) -> SX:
    return functools.reduce(ca.logic_and, conditions)
