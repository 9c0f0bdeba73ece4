"""Code of programs that are repeated: digests, the cache, both tiers, and room in the scratch."""

from __future__ import annotations

import pickle
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.kernels.test_iteration import STARTS, WIDTHS, T, copied, evaluated, golden
from tests.kernels.test_steps import Given
from tests.kernels.test_tiers import tangle
from tests.support.kernel_runner import GUARD, LEVELS, assert_same_bits, kernel_at, run_guarded, run_kernel
from trajopt.kernels import Kernel, Program, compilations, emission, forget, kernel, machine
from trajopt.kernels.layout import layout
from trajopt.kernels.steps import Iteration


def test_content_of_a_body_is_content_of_the_program() -> None:
    def program(factor: float, limit: int) -> Program:
        x = SX.sym("x")
        made = Program("p")
        state = copied(made, made.input(1))
        body = Program.of("body", ca.Function("f", [x], [factor * x, ca.fabs(x)]))
        made.output(made.iterate(body, state, limit=limit))
        return made

    assert program(0.5, 3).digest() == program(0.5, 3).digest()
    assert kernel(program(0.5, 3), 8) is kernel(program(0.5, 3), 8)
    assert len({program(0.5, 3).digest(), program(0.25, 3).digest(), program(0.5, 4).digest()}) == 3


def test_a_step_of_a_body_whose_text_has_changed_gets_code_of_its_own() -> None:
    """Also in a body inside a body; see the same test of steps."""

    def result(sign: str) -> float:
        inner = Program("inner")
        x = inner.input(1)
        inner.add_step(Given(x, inner.array(1), sign))
        (y,) = inner.call(ca.Function("f", [SX.sym("x")], [SX(0.0)]), x)
        given = inner.steps[0].writes[0]
        inner.output(given, y)
        outer = Program("outer")
        (state,) = copied(outer, outer.input(1))
        outer.iterate(inner, [state], limit=1)
        x = SX.sym("x")
        outer.output(state, *outer.call(ca.Function("zero", [x], [0 * x]), state))
        program = Program("program")
        (start,) = copied(program, program.input(1))
        program.iterate(outer, [start], limit=1)
        program.output(start)
        return float(run_kernel(kernel(program, 8), [np.ones((T, 1))])[0][0, 0])

    assert [result("fadd"), result("fsub")] == [1.0, -1.0]
    forget()
    before = compilations()
    assert [result("fsub"), result("fadd")] == [-1.0, 1.0]
    assert compilations() == before


def test_programs_pickle_and_code_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A process that has the code compiles nothing: neither after a pickle nor with a program that is built anew."""
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(tmp_path / "kernels"))
    forget()
    program = golden(40, 30)
    cold = run_kernel(kernel(program, 8), STARTS)
    before = compilations()
    for again in (pickle.loads(pickle.dumps(program)), golden(40, 30)):
        forget()
        assert again.digest() == program.digest()
        assert_same_bits(run_kernel(kernel(again, 8), STARTS), cold)
    assert compilations() == before
    copy = pickle.loads(pickle.dumps(program))
    assert_same_bits(evaluated(copy, STARTS), cold)


def tangled(*, depth: int) -> Program:
    """A body that calls a large function, in a body `depth` times; of x (5, 1)."""
    body = Program("tangled")
    x = body.input(5)
    y, _ = body.call(tangle(81), x)
    if depth:
        (inner,) = copied(body, x)
        body.iterate(tangled(depth=depth - 1), [inner], limit=2)
        (x,) = copied(body, inner)
    a, b = SX.sym("a", 5), SX.sym("b", 4)
    body.output(*body.call(ca.Function("next", [a, b], [ca.cos(a + ca.vertcat(b, 1)), 1 + 0 * b[0]]), x, y))
    return body


def tangled_twice() -> Program:
    program = Program("tangled")
    state = copied(program, program.input(5))
    left = program.iterate(tangled(depth=1), state, limit=3)
    program.output(*state, left)
    return program


POINTS = [np.random.default_rng(2).normal(size=(T, 5))]


@pytest.mark.slow
@pytest.mark.parametrize("cut", [60, 2000])
def test_tiers_and_widths_have_the_same_bits(monkeypatch: pytest.MonkeyPatch, cut: int) -> None:
    """Functions of bodies are cut, so that they need room to spill, and compiled at both levels."""
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    monkeypatch.setattr(emission, "CUT", cut)
    program = tangled_twice()
    expected = evaluated(program, POINTS)
    for width in WIDTHS:
        for level in LEVELS.values():
            assert_same_bits(run_kernel(kernel_at(program, width, level), POINTS), expected)


def test_functions_of_bodies_are_optimised_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    program = tangled_twice()
    assert program.instructions > machine.QUICK_ENOUGH
    assert {e.digest for e in program.functions} >= {
        e.digest for step in program.steps for body in step.programs for e in body.functions
    }
    made = Kernel(program, 8)
    quick = run_kernel(made, POINTS)
    assert made.tier == "quick"
    made.optimise()
    machine._background.end()
    assert made.tier == "optimised"
    assert_same_bits(run_kernel(made, POINTS), quick)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("cut", [60, 2000])
def test_scratch_is_as_long_as_said(monkeypatch: pytest.MonkeyPatch, cut: int, width: int) -> None:
    """Nothing behind it is written; in front of the functions' own lie the arrays of all bodies."""
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    monkeypatch.setattr(emission, "CUT", cut)
    program = tangled_twice()
    made = Kernel(program, width)
    made.compile()
    spilled = made.scratch_bytes // (8 * width) - layout(program).end - 64 // (8 * width)
    assert (spilled > 0) == (cut == 60)
    outer = program.steps[-1].programs[0]
    (inner,) = [step.programs[0] for step in outer.steps if isinstance(step, Iteration)]
    assert layout(outer).end >= 6 + layout(inner).end
    assert layout(program).end == 6 + layout(outer).end
    scratch = run_guarded(made)
    assert np.all(scratch[: layout(program).end * width] != GUARD)
