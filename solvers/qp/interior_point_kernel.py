"""Machine code of the interior-point method: what a Newton step does to each row.

A row has two sides, upper (sign 1) and lower (sign -1), each with a slack t and a multiplier y, both positive, and if
it is soft with a slack s that costs a s + ½ b s², and its own multiplier w = a + b s - y:

    sign C z - bound + t - s - δ y + shift = 0,  t y = μ,  s w = μ

An equation has a multiplier of either sign, C z - bound - δ y + shift = 0. From Newton's equations
dy = D (sign C dz + e), 1/D = t/y + δ + s / (w + b s); so D is the row's weight in the Hessian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from trajopt.solvers.riccati.recursion.flat import (
    Cell,
    Flat,
    Value,
    maximum,
    minimum,
    where_equal,
    where_negative,
)

SIDES = {"upper": 1.0, "lower": -1.0}
GIVEN = {"lower": -math.inf, "upper": math.inf, "given_delta": 0.0, "y_ref": 0.0, "row_size": 1.0}
GIVEN_SOFT = {"soft_linear": math.inf, "soft_quadratic": 0.0}
ROW = {"h": 0.0, "values": 0.0, "at_values": 0.0, "weights": 0.0, "y": 0.0, "delta": 0.0, "shift": 0.0}
EQUATION = {"equal": 0.0, "equal_weight": 0.0, "equal_bound": 0.0, "equal_delta": 0.0, "equal_y": 0.0, "missed": 0.0}
SIDE = {"on": 0.0, "bound": 0.0, "t": 1.0, "y": 1.0, "residual": 0.0, "D": 0.0, "dt": 0.0, "dy": 0.0, "second": 0.0}
SIDE |= {"inverse": 1.0}  # 1/y; a division takes as long as all else that is done to a row
SOFT = {"soft": 0.0, "linear": 0.0, "quadratic": 0.0}
SOFT_SIDE = {"s": 0.0, "w": 1.0, "ds": 0.0, "dw": 0.0, "second_soft": 0.0, "give": 1.0}  # 1 / (w + b s)

ARRAYS = GIVEN | ROW | EQUATION | {f"{side}_{name}": value for side in SIDES for name, value in SIDE.items()}
SOFT_ARRAYS = (
    ARRAYS | GIVEN_SOFT | SOFT | {f"{side}_{name}": value for side in SIDES for name, value in SOFT_SIDE.items()}
)
"""Name and first value of each array, without and with soft rows; see `InteriorRows`."""

GIVEN_NUMBERS = ("floor", "push", "slack", "least", "proximal", "damped")
NUMBERS = (
    *GIVEN_NUMBERS,
    "beyond",
    "count",
    "gap",
    "missed",
    "target",
    "weight",
    "mean",
    "length",
    "product",
    "largest",
    "heaviest",
)
PASSES = ("table", "factor", "solve", "forward", "residuals", "measure", "at", "step", "size")
"""Of `Newton`: table and passes of the recursion, table and pass of the residuals, iterate, step, and their size."""
BEGIN, ENTER, RELEASE, MEASURE, ITERATE = (
    f"trajopt_ipm_{name}" for name in ("begin", "enter", "release", "measure", "iterate")
)
FREE, EQUATIONS = "trajopt_ipm_free", "trajopt_ipm_equations"
PREPARE, CENTER, ADVANCE = "trajopt_ipm_prepare", "trajopt_ipm_center", "trajopt_ipm_advance"
SHRINK = 0.995  # part of the way to the boundary, at least
PUSH = 0.03  # first product of slack and multiplier, relative to a typical cost


def rows_text(soft: bool) -> str:
    """LLVM text of the functions of (block, size, numbers) that work on rows alone, which return 0."""
    return "\n".join(write(soft) for write in (_begin, _enter, _free, _equations, _prepare, _center, _advance))


@dataclass
class _Side:
    """One side of eight rows."""

    row: Cell
    name: str
    soft: bool

    @property
    def sign(self) -> float:
        """1 of the upper side, -1 of the lower one."""
        return SIDES[self.name]

    def __getitem__(self, name: str) -> Value:
        return self.row[f"{self.name}_{name}"]

    def __setitem__(self, name: str, value: Value) -> None:
        self.row[f"{self.name}_{name}"] = value

    def moved(self, target: Value | None = None, weight: Value | None = None) -> tuple[Value, Value | None]:
        """Wanted changes of t y and s w: of the predictor, or to a target, with a weight of the corrector."""
        change = -(self["t"] * self["y"])
        slack = -(self["s"] * self["w"]) if self.soft else None
        if target is None or weight is None:
            return change, slack
        change = change - weight * self["second"] + target
        return change, None if slack is None else slack - weight * self["second_soft"] + self.row["soft"] * target

    def missing(self, change: Value, slack: Value | None) -> Value:
        """e: what the Newton step of the rows has to make up for."""
        e = self["residual"] + change * self["inverse"]
        return e if slack is None else e - slack * self["give"]

    def step(self, rows: Value, change: Value, slack: Value | None) -> list[tuple[str, Value, str, Value]]:
        """Changes of t and y, and of s and w."""
        dy = self["D"] * (self.sign * rows + self.missing(change, slack))
        steps = [("t", self["on"] * ((change - self["t"] * dy) * self["inverse"]), "y", dy)]
        if slack is not None:
            on = self.row["soft"] * self["on"]
            ds = on * ((slack + self["s"] * dy) * self["give"])
            steps.append(("s", ds, "w", on * (self.row["quadratic"] * ds - dy)))
        return steps

    def raise_rate(self, steps: list[tuple[str, Value, str, Value]]) -> None:
        """Raises the largest rate at which a t, y, s or w falls: one of a is 0 after 1 / max(- da / a) steps."""
        for first, change, second, other in steps:
            a, b = self[first], self[second]
            fall = minimum(change * b, other * a)  # of one of the two, times both
            self.row.most("rate", where_negative(fall, -fall / (a * b), 0.0))


def _sides(row: Cell, soft: bool) -> list[_Side]:
    return [_Side(row, name, soft) for name in SIDES]


def _function(name: str, soft: bool) -> Flat:
    return Flat(name, list(SOFT_ARRAYS if soft else ARRAYS), NUMBERS)


def _begin(soft: bool) -> str:
    """Kinds and bounds of the rows by the `GIVEN` arrays, and multipliers of equations."""
    f = _function(BEGIN, soft)
    nothing = Value(f.b, "zeroinitializer")
    proximal = f.number("proximal")
    with f.cells(count="sum") as row:
        delta, slack = row["given_delta"], nothing
        row["shift"] = delta * row["y_ref"]
        if soft:
            slack, give = _begin_soft(row)
            delta = delta + give
        row["delta"] = delta
        equal = where_equal(row["lower"], row["upper"], 1.0 - slack, 0.0)
        held = where_negative(-delta, row["y_ref"], 0.0)
        row["equal"], row["equal_bound"] = equal, where_equal(equal, 1.0, row["lower"], 0.0)
        row["equal_delta"] = where_equal(equal, 1.0, delta, 0.0)
        hard = proximal * (row["row_size"] * row["row_size"])
        row["equal_weight"] = where_equal(equal, 1.0, 1.0 / where_negative(-delta, delta, hard), 0.0)
        row["equal_y"] = where_equal(equal, 1.0, held, 0.0)
        for name in ("missed", "values", "at_values"):
            row[name] = nothing
        for side in _sides(row, soft):
            side["on"] = on = _finite(row[side.name]) * (1.0 - equal)
            side["bound"] = where_equal(on, 1.0, side.sign * row[side.name], 0.0)
            row.add("count", on + on * slack)
    f.set("count", row.results["count"])
    return f.text()


def _finite(x: Value) -> Value:
    """1 where x is finite, else 0."""
    return where_equal(x - x, 0.0, 1.0, 0.0)


def _begin_soft(row: Cell) -> tuple[Value, Value]:
    """1 where a row has a slack with a linear price, else 0; and what a quadratic price alone adds to δ."""
    linear, quadratic = row["soft_linear"], row["soft_quadratic"]
    slack = where_negative(-linear, _finite(linear), 0.0)
    plain = _finite(linear) - slack
    row["soft"] = slack
    row["linear"], row["quadratic"] = (where_equal(slack, 1.0, each, 0.0) for each in (linear, quadratic))
    return slack, where_equal(plain, 1.0, 1.0 / quadratic, 0.0)


def _enter(soft: bool) -> str:
    """Slacks and multipliers of inequalities well inside, at an iterate; how far it is beyond them."""
    f = _function(ENTER, soft)
    push, slack, least = f.number("push"), f.number("slack"), f.number("least")
    with f.cells(beyond="max", missed="max") as row:
        y = row["equal_y"]
        row.most("missed", abs(_missed(row)) / row["row_size"])
        for side in _sides(row, soft):
            on = side["on"]
            room = where_equal(on, 1.0, side["bound"] - side.sign * row["at_values"], 0.0)
            row.most("beyond", -room / row["row_size"])
            y = y + side.sign * (on * _enter_side(side, room, push, slack, least))
        row["y"] = y
    f.set("beyond", row.results["beyond"])
    f.set("missed", row.results["missed"])
    return f.text()


def _enter_side(side: _Side, room: Value, push: Value, slack: Value, least: Value) -> Value:
    """The multiplier."""
    row, on = side.row, side["on"]
    side["t"] = t = where_equal(on, 1.0, maximum(room, slack * row["row_size"]), 1.0)
    y = maximum(push / t, least / row["row_size"])
    y = where_negative(-row["delta"], maximum(y, side.sign * row["y_ref"]), y)
    zeros = ["residual", "dt", "dy", "second"]
    if side.soft:
        zeros += ["ds", "dw", "second_soft"]
        soft, linear = row["soft"] * on, row["linear"]
        y = where_equal(soft, 1.0, minimum(y, 0.5 * linear), y)
        rest = where_equal(soft, 1.0, linear - y, 1.0)
        side["s"] = s = where_equal(soft, 1.0, t * y / rest, 0.0)
        side["w"] = where_equal(soft, 1.0, rest + row["quadratic"] * s, 1.0)
    for name in zeros:
        side[name] = Value(row.b, "zeroinitializer")
    side["y"] = where_equal(on, 1.0, y, 1.0)
    return y


def _free(soft: bool) -> str:
    """Weights, h and multipliers of equations alone."""
    f = _function(FREE, soft)
    with f.cells() as row:
        row["missed"] = missed = _missed(row)
        row["weights"], row["h"], row["y"] = row["equal_weight"], row["equal_weight"] * missed, row["equal_y"]
    return f.text()


def _missed(row: Cell) -> Value:
    """Residuals of equations."""
    values = where_equal(row["equal"], 1.0, row["at_values"], 0.0)
    return row["equal"] * (values - row["equal_bound"] - row["equal_delta"] * row["equal_y"] + row["shift"])


def _equations(soft: bool) -> str:
    """Takes a whole step of the multipliers of equations."""
    f = _function(EQUATIONS, soft)
    with f.cells() as row:
        values = where_equal(row["equal"], 1.0, row["values"], 0.0)
        row["equal_y"] = row["y"] = row["equal_y"] + row["equal_weight"] * (values + row["missed"])
    return f.text()


def _prepare(soft: bool) -> str:
    """Residuals of the rows, their weights, and h of the predictor."""
    f = _function(PREPARE, soft)
    with f.cells(gap="sum", missed="max") as row:
        values = row["at_values"]
        row["missed"] = missed = _missed(row)
        row.most("missed", abs(missed) / row["row_size"])
        weights, h = row["equal_weight"], row["equal_weight"] * missed
        for side in _sides(row, soft):
            t, y, on = side["t"], side["y"], side["on"]
            residual = side.sign * values - side["bound"] + t - row["delta"] * y + side.sign * row["shift"]
            side["inverse"] = inverse = 1.0 / y
            compliance = t * inverse + row["delta"]
            row.add("gap", on * (t * y))
            if soft:
                s, w = side["s"], side["w"]
                side["give"] = give = 1.0 / (w + row["quadratic"] * s)
                residual, compliance = residual - s, compliance + s * give
                row.add("gap", row["soft"] * on * (s * w))
            side["residual"], side["D"] = on * residual, on / compliance
            row.most("missed", abs(on * residual) / row["row_size"])
            D = side["D"]
            weights, h = weights + D, h + side.sign * (D * side.missing(*side.moved()))
        row["weights"], row["h"] = weights, h
    f.set("gap", row.results["gap"])
    f.set("missed", row.results["missed"])
    return f.text()


def _center(soft: bool) -> str:
    """Target of the products by what the predictor reaches, and h of the corrector (Mehrotra, 1992).

    A damped corrector is that of the part of the predictor's step that can be taken (Colombo, Gondzio, 2008).
    """
    f = _function(CENTER, soft)
    b = f.b
    with f.cells(rate="max", first="sum", second="sum") as row:
        for side in _sides(row, soft):
            steps = side.step(row["values"], *side.moved())
            side.raise_rate(steps)
            for (name, change, other_name, other), second in zip(steps, ("second", "second_soft")):
                product = change * other
                row.add("first", side[name] * other + side[other_name] * change)
                row.add("second", product)
                side[second] = product
    longest = _longest(f, row)
    curvature = row.results["second"]
    gap, count = f.scalar("gap"), f.scalar("count")
    slope = b.op(f"fadd double {row.results['first']}, {b.op(f'fmul double {longest}, {curvature}')}")
    reached = b.op(f"fadd double {gap}, {b.op(f'fmul double {longest}, {slope}')}")
    part, mean = b.op(f"fdiv double {reached}, {gap}"), b.op(f"fdiv double {gap}, {count}")
    cube = b.op(f"fmul double {part}, {b.op(f'fmul double {part}, {part}')}")
    wanted = b.op(f"fmul double {mean}, {cube}")
    target = b.op(f"call double @llvm.maximum.f64(double {wanted}, double {f.scalar('floor')})")
    f.set("target", target)
    f.set("mean", mean)
    shorter = b.op(f"fsub double {b.op(f'fmul double {longest}, {longest}')}, 1.0")
    less = b.op(f"fmul double {f.scalar('damped')}, {shorter}")
    weight = b.op(f"fadd double 1.0, {less}")
    f.set("weight", weight)
    every, part_of = f.splat(target), f.splat(weight)
    with f.cells() as row:
        h = row["equal_weight"] * row["missed"]
        for side in _sides(row, soft):
            h = h + side.sign * (side["D"] * side.missing(*side.moved(every, part_of)))
        row["h"] = h
    return f.text()


def _longest(f: Flat, row: Cell) -> str:
    """Longest step with which all slacks and multipliers stay positive, at most 1."""
    rate = f.b.op(f"call double @llvm.maximum.f64(double {row.results['rate']}, double 1.0)")
    return f.b.op(f"fdiv double 1.0, {rate}")


def _advance(soft: bool) -> str:
    """Goes along the corrector's step, as far as slacks and multipliers stay positive."""
    f = _function(ADVANCE, soft)
    b, target, weight = f.b, f.number("target"), f.number("weight")
    with f.cells(rate="max") as row:
        for side in _sides(row, soft):
            steps = side.step(row["values"], *side.moved(target, weight))
            side.raise_rate(steps)
            for first, change, second, other in steps:
                side[f"d{first}"], side[f"d{second}"] = change, other
    longest = _longest(f, row)
    short = b.op(f"fcmp olt double {longest}, 1.0")
    near = b.op(f"fsub double 1.0, {f.scalar('mean')}")
    near = b.op(f"call double @llvm.maximum.f64(double {near}, double {SHRINK})")
    length = b.op(f"select i1 {short}, double {b.op(f'fmul double {longest}, {near}')}, double 1.0")
    f.set("length", length)
    step = f.splat(length)
    with f.cells(product="max", largest="max", heaviest="max") as row:
        change = row["equal_weight"] * (row["values"] + row["missed"])
        row["equal_y"] = y = row["equal_y"] + step * change
        for side in _sides(row, soft):
            pairs = (("t", "y"), ("s", "w")) if soft else (("t", "y"),)
            for first, second in pairs:
                one, other = side[first] + step * side[f"d{first}"], side[second] + step * side[f"d{second}"]
                side[first], side[second] = one, other
                row.most("product", side["on"] * (one * other))
            row.most("largest", side["on"] * side["y"] * row["row_size"])
            y = y + side.sign * (side["on"] * side["y"])
        row["y"] = y
        row.most("heaviest", abs(y) * row["row_size"])
    for name in ("product", "largest", "heaviest"):
        f.set(name, row.results[name])
    return f.text()
