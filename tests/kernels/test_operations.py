"""Every operation of CasADi's SX has the bits of CasADi's own evaluator, with 1 and 8 lanes, at both tiers."""

from __future__ import annotations

import subprocess
import sys

import casadi as ca
import pytest

from tests.support.kernel_operations import held_by, scalar_operations

REFUSED = {
    "OP_CALL": "contains the call of another function",
    "OP_PRINTME": "contains printme",
    "OP_PARAMETER": "contains a free symbol",
}
OPERATIONS = scalar_operations()
BATCHES = [OPERATIONS[i : i + 14] for i in range(0, len(OPERATIONS), 14)]


def run_in_processes(names: list[str]) -> dict[str, str]:
    """What happened to each operation; a crash ends the process, and a new one goes on with the next operation."""
    found: dict[str, str] = {}
    while len(found) < len(names):
        left = [name for name in names if name not in found]
        command = [sys.executable, "-m", "tests.support.kernel_operations", *left]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300)
        begun = left[0]
        for line in run.stdout.splitlines():
            name, _, result = line.partition(" ")
            if name == "begin":
                begun = result
            elif name in left:
                found[name] = result
        if begun not in found:
            found[begun] = f"ended the process with status {run.returncode}: {run.stderr[-500:]}"
    return found


@pytest.mark.slow
@pytest.mark.parametrize("names", BATCHES, ids=[f"{names[0]}...{names[-1]}" for names in BATCHES])
def test_operations_have_the_bits_of_casadi(names: list[str]) -> None:
    results = run_in_processes(names)
    assert {n: r for n, r in results.items() if n not in REFUSED} == {n: "same" for n in names if n not in REFUSED}
    for name in REFUSED.keys() & set(names):
        assert results[name].startswith("refused: ")
        assert REFUSED[name] in results[name]


def test_list_of_operations_is_complete() -> None:
    """The enumeration finds what models use, and what CasADi has for matrices only is not in it."""
    expected = {
        "OP_ADD",
        "OP_SIN",
        "OP_IF_ELSE_ZERO",
        "OP_CONSTPOW",
        "OP_ERFINV",
        "OP_REMAINDER",
        "OP_CALL",
        "OP_HYPOT",
    }
    assert expected <= set(OPERATIONS)
    assert "OP_MTIMES" not in OPERATIONS
    assert len(OPERATIONS) >= 53  # CasADi 3.7
    assert held_by("OP_SIN") == {ca.OP_SIN}
