"""Lanes accept the steps that the rules of single solves accept."""

from __future__ import annotations

import itertools

import casadi as ca
import pytest
from casadi import SX

from trajopt.solvers.ddp.acceptance import DDPAcceptance, FDDPAcceptance, Promise, negligible
from trajopt.solvers.ddp.lanes.numbers import PROMISE, RULES, named, rule_numbers
from trajopt.solvers.ddp.lanes.trials import _accepted
from trajopt.solvers.options import DDPOptions, FDDPOptions


@pytest.mark.parametrize("rule", [DDPAcceptance(DDPOptions()), FDDPAcceptance(FDDPOptions())])
def test_verdicts_are_those_of_single_solves(rule: DDPAcceptance | FDDPAcceptance) -> None:
    p, o, trial = SX.sym("p", len(PROMISE)), SX.sym("o", len(RULES)), SX.sym("trial", 4)
    gaps = isinstance(rule, FDDPAcceptance)
    formula = _accepted(named(PROMISE, p), named(RULES, o), tuple(ca.vertsplit(trial)), gaps=gaps)
    accepted = ca.Function("accepted", [p, o, trial], [formula])
    scale, numbers = 3.0, rule_numbers(rule.options, exact=False)
    slight = negligible(rule.options, Promise(0.0, 0.0, scale=scale))
    slopes = [sign * size for sign in (-1.0, 1.0) for size in (0.0, 0.4 * slight, 0.9 * slight, 1.1 * slight, 1.0)]
    parts = [-3.0, -1.0, -0.05, 0.05, 0.15, 1.0, 3.0]  # of what was expected
    verdicts = []
    for d0, d1, part, least, feasible in itertools.product(slopes, slopes, parts, [-1.0, 0.5], [False, True]):
        promise = Promise(d0, d1, scale=scale, least=least)
        expected = promise.decrease(0.5)
        decrease = part * expected
        verdict = rule.accepts(promise, expected, decrease, feasible=feasible)
        values = {"d0": d0, "d1": d1, "scale": scale, "least": least, "feasible": feasible}
        judged = accepted([values.get(name, 0.0) for name in PROMISE], numbers, [d0, d1, expected, decrease])
        assert bool(judged) is verdict, (promise, expected, decrease, feasible)
        verdicts.append(verdict)
    assert 0.2 < sum(verdicts) / len(verdicts) < 0.8
