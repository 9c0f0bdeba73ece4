"""Machine code of ADMM: what a start and an iteration do to each row, and a loop of whole iterations."""

from __future__ import annotations

import math

from trajopt.solvers.recursion.flat import DECLARATIONS, Flat, maximum, minimum, times_plus, where_equal, with_sign
from trajopt.solvers.recursion.frame import SHORT, WITH_GAPS

ARRAYS = (
    *("h", "values", "z", "y", "weights", "inverse", "kappa", "lower", "upper", "shift", "linear", "quadratic"),
    *("delta", "factors"),
)
"""Arrays of all rows; see `ADMMRows`."""

NUMBERS = ("relaxation", "minus_sigma", "rho")
START, WEIGH, REPEAT = "trajopt_admm_start", "trajopt_admm_weigh", "trajopt_admm"
EQUATION, FREE = 1e3, 1e-6  # times ρ


def admm_text() -> str:
    """LLVM text of `i64 trajopt_admm(block, size, numbers, table, solve, forward, count)`: `count` iterations.

    It returns 0, or what `solve` does where it fails. `solve` and `forward` are passes of the Riccati recursion, and
    `table` is theirs. Before come `start` and `weigh` of (block, size, numbers).
    """
    return _start_text() + _weigh_text() + _update_text() + _LOOP + DECLARATIONS


def _start_text() -> str:
    """Factors of ρ from the bounds: large of an equation, tiny of a row that is switched off; z the nearest to 0."""
    f = Flat(START, ARRAYS, NUMBERS)
    zero = f.splat("0.0")
    with f.cells() as row:
        lower, upper = row["lower"], row["upper"]
        hard = where_equal(abs(row["linear"]), math.inf, EQUATION, 1.0)
        bounded = where_equal(lower, upper, hard, 1.0)
        half = where_equal(abs(upper), math.inf, FREE, bounded)
        row["factors"] = where_equal(abs(lower), math.inf, half, bounded)
        row["values"] = zero
        row["z"] = minimum(maximum(lower, 0.0), upper)
    return f.text()


def _weigh_text() -> str:
    """Weights, their inverses, κ = 1/ρ + δ, and h."""
    f = Flat(WEIGH, ARRAYS, NUMBERS)
    rho = f.number("rho")
    with f.cells() as row:
        weights = row["factors"] * rho
        inverse = 1.0 / weights
        row["weights"], row["inverse"], row["kappa"] = weights, inverse, inverse + row["delta"]
        row["h"] = row["y"] - weights * row["z"]
    return f.text()


def _update_text() -> str:
    """z and y of the next iteration, and h = y - ρ z, what they add to the gradient by Cᵀ.

    With v the relaxed rows and their multiplier, and E by how much v passes a bound, y is the y of the nearest point:
    E = (1/ρ + δ) y + s, and s the slack of a soft row, which begins where y reaches its linear weight.
    """
    f = Flat("trajopt_admm_update", ARRAYS, NUMBERS)
    alpha = f.number("relaxation")
    with f.cells() as row:
        z, kappa = row["z"], row["kappa"]
        relaxed = times_plus(alpha, row["values"], (1.0 - alpha) * z)
        v = times_plus(row["y"], row["inverse"], relaxed)
        shifted = v + row["shift"]
        beyond = maximum(shifted - row["upper"], 0.0) - maximum(row["lower"] - shifted, 0.0)
        slack = (abs(beyond) - row["linear"] * kappa) / (row["quadratic"] * kappa + 1.0)
        y = with_sign((abs(beyond) - maximum(slack, 0.0)) / kappa, beyond)
        z = v - y * row["inverse"]
        row["z"], row["y"] = z, y
        row["h"] = y - row["weights"] * z
    return f.text()


_LOOP = f"""
define i64 @{REPEAT}(ptr %block, i64 %size, ptr %numbers, ptr %table, ptr %solve, ptr %forward, i64 %count) nounwind {{
entry:
  %sigma.at = getelementptr double, ptr %numbers, i64 {NUMBERS.index("minus_sigma")}
  %sigma = load double, ptr %sigma.at
  br label %again
again:
  %i = phi i64 [0, %entry], [%next, %on]
  %code = call i64 %solve(ptr %table, double %sigma, i64 {WITH_GAPS | SHORT})
  %fine = icmp eq i64 %code, 0
  br i1 %fine, label %on, label %end
on:
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  %flags = select i1 %more, i64 {WITH_GAPS | SHORT}, i64 {WITH_GAPS}
  %zero = call i64 %forward(ptr %table, i64 %flags)
  %nought = call i64 @trajopt_admm_update(ptr %block, i64 %size, ptr %numbers)
  br i1 %more, label %again, label %end
end:
  ret i64 %code
}}
"""
