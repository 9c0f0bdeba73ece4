"""Rules of DDP and FDDP between the compiled passes, as formulas of the numbers of a lane.

They are those of `RolloutSolverAbstract`, `solvers.ddp.acceptance` and `Curvature`. Each program reads vectors of
`solvers.ddp.lanes.numbers` and writes new ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import casadi as ca
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.model.parts import call_formula, computed
from trajopt.shooting.trials import LARGEST
from trajopt.solution import SolverStatus
from trajopt.solvers.ddp import curvature, scales
from trajopt.solvers.ddp.lanes.numbers import FIRST, PROMISE, RECORD, RULES, SEARCH, STATE, TRIAL, named
from trajopt.solvers.ddp.searches import EXCESS
from trajopt.solvers.riccati.lanes import SUMS

STATUSES = (
    None,
    SolverStatus.MAX_ITERATIONS,
    SolverStatus.LINE_SEARCH_FAILED,
    SolverStatus.UNBOUNDED,
    SolverStatus.CONVERGED,
)
"""Why a solve ends, by the number `code` of its state; of several reasons the last one counts."""

Numbers = Mapping[str, SX]
NAMES = {"state": STATE, "search": SEARCH, "promise": PROMISE, "trial": TRIAL, "totals": SUMS, "rules": RULES}
NAMES |= {"record": RECORD}


def both(*conditions: SX) -> SX:
    """Whether all conditions hold."""
    return functools.reduce(ca.logic_and, conditions)


def either(*conditions: SX) -> SX:
    """Whether any condition holds."""
    return functools.reduce(ca.logic_or, conditions)


def neither(*conditions: SX) -> SX:
    """Whether no condition holds."""
    return both(*(ca.logic_not(condition) for condition in conditions))


def rule(
    name: str, formula: Callable[..., Mapping[str, SX]], inputs: Sequence[str], output: str, *, lengths: int = 0
) -> Program:
    """Program of a formula of named vectors, which returns the elements of one that differ from before.

    Args:
        name: Name of the program.
        formula: The formula; with `lengths`, its last argument are the step lengths.
        inputs: Names of the vectors that it reads, see `NAMES`.
        output: Name of the vector that it writes.
        lengths: Number of step lengths [-].
    """
    program = Program(name)
    arrays = [program.input(len(NAMES[each])) for each in inputs]
    more = [program.input(lengths)] if lengths else []

    def results(*vectors: SX) -> list[SX]:
        values = {each: named(NAMES[each], vector) for each, vector in zip(inputs, vectors)}
        new = formula(*values.values(), *vectors[len(inputs) :])
        before = values.get(output, {})
        return [ca.densify(ca.vertcat(*[SX(new.get(each, before.get(each, 0))) for each in NAMES[output]]))]

    program.output(*call_formula(program, name.replace(" ", "_"), results, *arrays, *more))
    return program


@functools.cache
def identity(size: int) -> Program:
    """x -> x, with which a new vector replaces the one before."""
    program = Program("identity")
    program.output(computed(program, "identity", lambda x: SX(+x), program.input(size)))
    return program


@functools.cache
def beginning() -> Program:
    """(state, rules) -> state at the beginning of an iteration."""
    return rule("beginning of an iteration", _begun, ("state", "rules"), "state")


def _begun(s: Numbers, o: Numbers) -> Mapping[str, SX]:
    zeros = dict.fromkeys(("lowered", "failed", "tried", "blend", "exact_decrease", "lost", "code", "moves"), SX(0))
    more = {"iterations": s["iterations"] + 1, "with_gaps": ca.logic_not(s["feasible"])}
    return {**zeros, **more, **_regularized(s["rho"], s, o), "left": s["active"], "searches": s["active"]}


def _regularized(rho: SX, s: Numbers, o: Numbers) -> dict[str, SX]:
    now = rho * s["unit"]
    return {"rho": rho, "rho_now": now, "rho_on_value": ca.if_else(o["regularize_value"], now, 0)}


@functools.cache
def direction() -> Program:
    """(state, sums of a backward pass, rules) -> state, with another ρ where a further pass is `left`."""
    return rule("rule of directions", _directed, ("state", "totals", "rules"), "state")


def _directed(s: Numbers, d: Numbers, o: Numbers) -> Mapping[str, SX]:
    """As `_backward` of the solver: more regularisation until there is a direction, least to confirm a small one."""
    fine = both(ca.fabs(d["decrease"]) < LARGEST, ca.fabs(d["bend"]) < LARGEST)
    good, bad = both(s["left"], fine), both(s["left"], ca.logic_not(fine))
    promised = 0.5 * d["decrease"]
    new, first = both(good, s["loose"] < 0, s["feasible"]), d["scale"] + promised
    first_scale = ca.if_else(new, first, s["first_scale"])
    bound = o["tolerance"] + o["relative_tolerance"] * (1.0 + scales.FLOOR) * first
    loose = ca.if_else(new, bound, s["loose"])
    least = both(s["fresh"], either(s["lowered"], s["rho"] <= o["min_regularization"]))
    confirmed = ca.if_else(good, least, s["confirmed"])
    small = _is_small(promised, d["scale"], first_scale, loose, o)
    again = both(good, s["fresh"], ca.logic_not(confirmed), o["confirm_gradient"], small)
    rho = ca.if_else(again, o["min_regularization"], ca.if_else(bad, _grown(s["rho"], o), s["rho"]))
    finite = ca.fabs(d["cost"]) < ca.inf
    ends = either(rho >= o["max_regularization"], ca.logic_not(finite))
    failed = either(s["failed"], both(bad, ends))
    return {
        **_regularized(rho, s, o),
        # later the cost is that of the trial, whose sum rounds as those that it is compared with
        "cost": ca.if_else(both(s["left"], s["iterations"] == 1), d["cost"], s["cost"]),
        "first_scale": first_scale,
        "loose": loose,
        "confirmed": confirmed,
        "lowered": either(s["lowered"], again),
        "failed": failed,
        "left": either(again, both(bad, ca.logic_not(failed))),
    }


def _is_small(promised: SX, scale: SX, first: SX, loose: SX, o: Numbers) -> SX:
    """Whether a decrease that is promised from a rollout is below the tolerance, see `_is_small` of the solver."""
    unit = ca.fmin(scale, first) + scales.FLOOR * first
    return both(promised <= loose, promised <= o["tolerance"] + o["relative_tolerance"] * unit)


def _grown(rho: SX, o: Numbers) -> SX:
    return ca.fmin(ca.fmax(rho * o["increase"], o["min_regularization"]), o["max_regularization"])


@functools.cache
def promise(*, gaps: bool) -> Program:
    """(state, sums of the backward pass, rules) -> promise, as `promise` of DDP, or with `gaps` of FDDP."""

    def promised(s: Numbers, d: Numbers, o: Numbers) -> Mapping[str, SX]:
        decrease = ca.if_else(s["blend"] > 0, s["exact_decrease"], d["decrease"])
        feasible, scale = s["feasible"], ca.fmin(ca.fabs(s["cost"]), s["first_scale"])
        least = s["cost"] - s["rolled_cost"] - o["rollout_margin"] * s["rolled_scale"]
        always = either(feasible, ca.logic_not(o["rollout_on_failure"]), ca.logic_not(s["rolled_cost"] < ca.inf))
        eager = both(o["exact"], s["crawled"] >= curvature.ENOUGH)
        return {
            "d0": ca.if_else(feasible, decrease, decrease - d["slope"]) if gaps else decrease,
            "d1": ca.if_else(feasible, -decrease, d["bend"] - decrease) if gaps else -decrease,
            "scale": ca.if_else(feasible, scale, ca.fabs(s["cost"])) if gaps else scale,
            "least": SX(-ca.inf) if gaps else ca.if_else(always, -ca.inf, least),
            "open": ca.logic_not(feasible) if gaps else SX(0),
            "cost": s["cost"],
            "feasible": feasible,
            "excess": ca.if_else(eager, curvature.EAGER, EXCESS),
        }

    return rule("promise of a direction", promised, ("state", "totals", "rules"), "promise")


@functools.cache
def search_begins(count: int) -> Program:
    """(state, search, step lengths) -> search, begun in lanes that search; others keep theirs."""

    def begun(s: Numbers, t: Numbers, lengths: SX) -> Mapping[str, SX]:
        starts = both(s["searches"], ca.logic_not(s["failed"]))
        values = {**dict.fromkeys(SEARCH, SX(0)), "alpha": lengths[0], "phase": SX(FIRST), "left": SX(1)}
        kept = {**t, "left": SX(0)}
        return {each: ca.if_else(starts, values[each], kept[each]) for each in SEARCH}

    return rule("beginning of a search", begun, ("state", "search"), "search", lengths=count)


@functools.cache
def step(*, gaps: bool) -> Program:
    """(state, search, promise, rules) -> state after a step, and whether it needs exact Hessians."""

    def stepped(s: Numbers, t: Numbers, p: Numbers, o: Numbers) -> Mapping[str, SX]:
        accepted = t["accepted"]
        closed = either(s["feasible"], t["length"] == 1) if gaps else SX(1)
        lost = both(s["active"], neither(s["failed"], accepted, s["feasible"]), o["rollout_on_failure"])
        return {
            **_judged(s, t, p, o),
            "was_feasible": ca.if_else(accepted, s["feasible"], s["was_feasible"]),
            "feasible": ca.if_else(accepted, closed, s["feasible"]),
            "cost": ca.if_else(accepted, t["cost"], s["cost"]),
            "fresh": accepted,
            "used": s["rho"],
            "moves": both(s["active"], ca.logic_not(s["failed"]), accepted),
            "lost": both(lost, s["rho"] >= 1) if gaps else lost,
        }

    return rule("rule of steps", stepped, ("state", "search", "promise", "rules"), "state")


def _judged(s: Numbers, t: Numbers, p: Numbers, o: Numbers) -> dict[str, SX]:
    """As `Curvature.judge`: whether steps call for exact Hessians, and whether these are worth their time."""
    accepted, stop, before, loose = t["accepted"], _stop(p), s["promised"], s["loose"]
    cut = either(ca.logic_not(accepted), t["length"] < 1)
    crawled = s["crawled"] + either(cut, t["decrease"] < curvature.POOR * t["expected"])
    exact = s["blend"] > 0
    falls = both(loose > 0, loose < stop, stop < before, before < ca.inf, neither(cut, exact))
    left = ca.if_else(falls, ca.log(stop / loose) / ca.log(before / stop), 0)
    steady = ca.if_else(left > curvature.FAR, s["steady"] + 1, 0)
    crawled = ca.if_else(steady >= curvature.STEADY, curvature.ENOUGH, crawled)
    beaten = both(ca.logic_not(exact), accepted, t["decrease"] >= t["expected"])
    count, tried = ca.if_else(beaten, s["beaten"] + 1, 0), s["tried"]
    lower = s["ridge"] / o["decrease"]
    lower = ca.if_else(lower >= o["min_regularization"], lower, 0)
    higher = ca.fmax(s["ridge"] * o["increase"], curvature.FIRST_RIDGE)
    long = both(accepted, t["length"] > o["good_step"])
    short = both(ca.logic_not(long), either(ca.logic_not(accepted), t["length"] <= _bad_step(crawled, o)))
    ridge = ca.if_else(both(exact, long), lower, ca.if_else(both(exact, short), higher, s["ridge"]))
    return {
        "crawled": crawled,
        "steady": steady,
        "promised": stop,
        "beaten": ca.if_else(tried, count, s["beaten"]),
        "pause": ca.if_else(tried, count, s["pause"]),
        "ridge": ridge,
    }


def _bad_step(crawled: SX, o: Numbers) -> SX:
    """Longest step that counts as bad; longer once a solve turns to exact Hessians."""
    engaged = both(o["exact"], crawled >= curvature.ENOUGH)
    return ca.if_else(engaged, ca.fmax(curvature.BAD, o["bad_step"]), o["bad_step"])


def _stop(p: Numbers) -> SX:
    """Size of the predicted decrease of a full step."""
    return ca.fabs(p["d0"] + 0.5 * p["d1"])


@functools.cache
def end() -> Program:
    """(state, search, promise, sums of the backward pass, rules) -> state at the end of an iteration, with its code."""
    return rule("end of an iteration", _ended, ("state", "search", "promise", "totals", "rules"), "state")


def _ended(s: Numbers, t: Numbers, p: Numbers, d: Numbers, o: Numbers) -> Mapping[str, SX]:
    accepted, length = t["accepted"], t["length"]
    lower = ca.fmax(s["rho"] / o["decrease"], o["min_regularization"])
    rho = ca.if_else(both(accepted, length > o["good_step"]), lower, s["rho"])
    short = either(ca.logic_not(accepted), length <= _bad_step(s["crawled"], o))
    rho = ca.if_else(short, _grown(rho, o), rho)
    first = s["first_scale"]
    small = _is_small(_stop(p), d["scale"], first, s["loose"], o)
    converged = both(small, s["was_feasible"], either(s["confirmed"], ca.logic_not(o["confirm_gradient"])))
    at_limit = rho >= o["max_regularization"]
    stuck = both(at_limit, either(ca.logic_not(accepted), length <= o["bad_step"]))
    spent = s["iterations"] >= o["max_iterations"]
    fallen = both(either(stuck, spent), s["cost"] < -scales.FALLEN * first, first > 0)
    code = SX(0)
    for number, holds in enumerate((spent, stuck, either(t["unbounded"], fallen), converged), start=1):
        code = ca.if_else(holds, number, code)
    return {"rho": rho, "code": ca.if_else(both(s["active"], ca.logic_not(s["failed"])), code, 0)}


@functools.cache
def record() -> Program:
    """(state before the end of an iteration, search, promise, sums of the backward pass) -> record."""

    def recorded(s: Numbers, t: Numbers, p: Numbers, d: Numbers) -> Mapping[str, SX]:
        return {
            "iteration": s["iterations"],
            "cost": s["cost"],
            "feasible": s["feasible"],
            "accepted": t["accepted"],
            "step_length": t["length"],
            "expected_decrease": t["expected"],
            "decrease": t["decrease"],
            "stop": _stop(p),
            "regularization": s["used"],
            "gap_norm": ca.if_else(s["with_gaps"], d["gap"], 0),
            "blend": s["blend"],
        }

    return rule("record of an iteration", recorded, ("state", "search", "promise", "totals"), "record")
