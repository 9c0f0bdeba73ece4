"""Programs of a trial in lanes: rollouts that add up what the search needs, and the rules that judge them.

The rules are those of `solvers.ddp.searches` and `solvers.ddp.acceptance`, as formulas of a lane. Machine
code repeats rollout and judgement until no lane of a group is left.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import casadi as ca
from casadi import SX

from trajopt.actions.expression import ActionModelExpression
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import computed
from trajopt.model.programs import kept
from trajopt.shooting import programs
from trajopt.shooting.trials import LARGEST
from trajopt.solvers.ddp.lanes.numbers import AGAIN, FIRST, GROWS, SEARCH, TRIAL
from trajopt.solvers.ddp.lanes.rules import Numbers, both, either, rule
from trajopt.solvers.ddp.searches import NOISE


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
    """(search, promise, sums of the trial, rules, step lengths) -> search after a trial.

    Args:
        count: Number of step lengths [-].
        gaps: Whether a step of length α closes the part α of gaps, as in FDDP.
    """
    formula = functools.partial(_judged, gaps=gaps)
    return rule("judgement of a trial", formula, ("search", "promise", "trial", "rules"), "search", lengths=count)


def _judged(s: Numbers, p: Numbers, trial: Numbers, o: Numbers, lengths: SX, *, gaps: bool) -> Mapping[str, SX]:
    reached = trial["cost"]
    dv = ca.if_else(p["open"], trial["open"], 0)
    d0, d1 = p["d0"] + dv, p["d1"] - 2 * dv
    expected, decrease = s["alpha"] * (d0 + 0.5 * s["alpha"] * d1), p["cost"] - reached
    inside = both(ca.fabs(reached) < LARGEST, trial["square"] < LARGEST**2)  # false for NaN
    good = both(_accepted(p, o, (d0, d1, expected, decrease), gaps=gaps), inside)
    below = reached <= -LARGEST
    tried = {"length": s["alpha"], "cost": reached, "decrease": decrease, "expected": expected}
    first = _after_a_length(s, p, o, lengths, good, below, tried)
    falls = both(inside, reached < s["cost"])  # a step grows as long as the cost falls
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
    return new


def _accepted(p: Numbers, o: Numbers, trial: tuple[SX, SX, SX, SX], *, gaps: bool) -> SX:
    """Whether a trial is accepted, see `DDPAcceptance` and `FDDPAcceptance`."""
    d0, d1, expected, decrease = trial
    negligible = o["negligible"] + o["relative_negligible"] * p["scale"]
    enough = either(decrease > o["acceptance"] * expected, ca.fabs(d0) <= negligible)
    if gaps:
        rounded = ca.fabs(d0) + ca.fabs(d1) < negligible
        small = either(rounded, decrease > o["negative_acceptance"] * expected)
        rising = both(ca.logic_not(p["feasible"]), small)
        return ca.if_else(expected >= 0, enough, both(expected < 0, rising))
    brings = ca.if_else(p["feasible"], enough, decrease >= p["least"])
    return both(ca.logic_not(expected < 0), brings)


def _after_a_length(
    s: Numbers, p: Numbers, o: Numbers, lengths: SX, good: SX, below: SX, tried: dict[str, SX]
) -> dict[str, SX]:
    """State after a trial of one of the step lengths."""
    count, number = lengths.numel(), s["number"] + 1
    following = lengths[count - 1]
    for i in reversed(range(count - 1)):
        following = ca.if_else(number == i, lengths[i], following)
    wanted = p["excess"] * tried["expected"]
    grows = both(
        good,
        p["feasible"],
        s["alpha"] == 1,
        o["growth"] > 1,
        wanted > NOISE * p["scale"],
        tried["decrease"] > wanted,
    )
    more = both(ca.logic_not(good), number < count)
    return {
        **tried,
        "alpha": ca.if_else(grows, o["growth"], ca.if_else(more, following, s["alpha"])),
        "number": number,
        "phase": ca.if_else(grows, GROWS, FIRST),
        "accepted": good,
        "cost": ca.if_else(good, tried["cost"], p["cost"]),
        "unbounded": ca.if_else(good, 0, either(s["unbounded"], below)),
        "left": either(grows, more),
    }
