"""Runs operations of CasADi's SX in compiled code; a process of its own, because a wrong intrinsic ends the process.

`python -m tests.support.kernel_operations OP_SIN OP_COS ...` prints "begin NAME" before each, then "NAME RESULT".
"""

from __future__ import annotations

import sys

import casadi as ca
import numpy as np

from tests.support.kernel_runner import ALL_WIDTHS, LEVELS, evaluate, kernel_at, program_of, run_kernel, same_bits
from trajopt.errors import TrajoptError

TINY, HUGE = 5e-324, 1.7976931348623157e308
SPECIAL = [
    *(0.0, 1.0, 0.5, 2.0, 3.0, 0.7, 1e-310, TINY, 1e-20, 1e20, 1e300, HUGE, np.inf, np.nan),
    *(np.pi, np.pi / 2, 1 - 2**-53, 1 + 2**-52, 709.8, 745.2, 2.0**53, 22.5, 1e-8, 0.3),
]


def scalar_operations() -> list[str]:
    """Names of all operations that an SX function can hold, found by building each.

    CasADi makes a constant of those that only matrix expressions hold.
    """
    return [n for n in sorted(dir(ca)) if n.startswith("OP_") and getattr(ca, n) in held_by(n)]


def held_by(name: str) -> set[int]:
    """Operations of the function that holds this one, beside inputs and outputs."""
    f = function(name)
    held = {f.instruction_id(k) for k in range(f.n_instructions())}
    special = {"OP_CONST": ca.OP_CONST, "OP_INPUT": ca.OP_INPUT, "OP_OUTPUT": ca.OP_OUTPUT}
    return held - {v for k, v in special.items() if k != name}


def function(name: str) -> ca.Function:
    """A function (x, y) that holds the operation, if one does."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    op = getattr(ca, name)
    result = ca.SX.binary(op, x, ca.SX(2.5) if op == ca.OP_CONSTPOW else y)
    if op == ca.OP_CALL:
        inner = ca.Function("inner", [x], [ca.sin(x)], {"never_inline": True})
        result = inner(x)
    elif op == ca.OP_PARAMETER:
        return ca.Function(name, [x], [x + y], {"allow_free": True})
    return ca.Function(name, [x, y], [result])


def inputs() -> list[np.ndarray]:
    """Pairs of numbers: all pairs of special ones with both signs, and random ones."""
    special = np.array(SPECIAL + [-s for s in SPECIAL])
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    rng = np.random.default_rng(1)
    random = rng.normal(size=(2, 1000)) * 10.0 ** rng.integers(-3, 3, size=(2, 1000))
    return [np.concatenate([x, random[0]])[:, None], np.concatenate([y, random[1]])[:, None]]


def check(name: str) -> str:
    """What happens when an operation is compiled: `same` if all bits are CasADi's at all widths and tiers."""
    f, arrays = function(name), inputs()
    try:
        expected = None
        for width in ALL_WIDTHS:
            for tier, level in LEVELS.items():
                (got,) = run_kernel(kernel_at(program_of(f), width, level), arrays)
                expected = evaluate(f, arrays)[0] if expected is None else expected
                wrong = np.flatnonzero(~same_bits(got, expected))
                if len(wrong):
                    i = wrong[0]
                    at = f"({arrays[0][i, 0]!r}, {arrays[1][i, 0]!r}): {got[i, 0]!r}, CasADi {expected[i, 0]!r}"
                    return f"differs in {len(wrong)} places, {width} lanes, {tier}, first at {at}"
    except TrajoptError as error:
        return f"refused: {error}"
    return "same"


def main() -> None:
    for name in sys.argv[1:]:
        print("begin", name, flush=True)
        print(name, check(name), flush=True)


if __name__ == "__main__":
    main()
