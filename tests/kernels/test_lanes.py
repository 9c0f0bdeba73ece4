"""Lanes are the processor's, or those of TRAJOPT_LANES; results do not depend on them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import codegen
from trajopt.kernels.codegen import WIDTHS, lanes_for


@pytest.mark.parametrize(
    ("features", "lanes"),
    [
        (["+sse2", "+avx", "+avx2", "+avx512f"], 8),
        (["+sse2", "+avx", "+avx2", "-avx512f"], 4),
        (["+sse2", "-avx", "-avx2", "-avx512f"], 2),
        (["+neon"], 2),
        ([""], 2),
    ],
)
def test_a_register_holds_as_many_doubles(features: list[str], lanes: int) -> None:
    assert lanes_for(features) == lanes


@pytest.mark.parametrize("width", WIDTHS)
def test_the_variable_chooses_lanes_and_registers(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRAJOPT_LANES", raising=False)
    own = "+avx512f" in codegen.host.__wrapped__()[1]
    monkeypatch.setenv("TRAJOPT_LANES", str(width))
    assert codegen.lanes.__wrapped__() == width
    assert ("+avx512f" in codegen.host.__wrapped__()[1]) == (own and width == 8)


@pytest.mark.parametrize("wrong", ["3", "16", "four", "1"])
def test_another_number_of_lanes_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJOPT_LANES", wrong)
    with pytest.raises(InvalidArgumentError, match=f"TRAJOPT_LANES: expected 2, 4 or 8, got '{wrong}'; unset it for"):
        codegen.lanes.__wrapped__()


@pytest.mark.slow
def test_bits_of_solves_do_not_depend_on_the_lanes() -> None:
    """Arm, gait with impulses, short steps, constraints, inverse kinematics, simulator: with 2, 4 and 8 lanes."""
    outcomes = {}
    for lanes in WIDTHS:
        variables = os.environ | {"TRAJOPT_LANES": str(lanes), "TRAJOPT_OPTIMISE": "off"}
        command = [sys.executable, "-m", "tests.support.lane_bits"]
        done = subprocess.run(command, env=variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        first, *outcomes[lanes] = done.stdout.splitlines()
        assert first == f"{lanes} lanes"
    assert len(outcomes[8]) == 6
    assert outcomes[2] == outcomes[8]
    assert outcomes[4] == outcomes[8]
