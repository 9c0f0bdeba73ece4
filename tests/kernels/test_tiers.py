"""Two tiers: the same bits, an exchange in the background, and compiling in other processes and threads."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.kernel_runner import LEVELS, assert_same_bits, evaluate, kernel_at, program_of, run_kernel
from trajopt.errors import TrajoptError
from trajopt.kernels import (
    KernelCall,
    ParallelCalls,
    blocks_of,
    compilations,
    compile_together,
    compiler,
    emission,
    forget,
    functions,
    kernel,
    machine,
    parallel,
    rows,
    wait_until_optimised,
    without_background,
    workers,
)
from trajopt.kernels.codegen import OPTIMISED, QUICK
from trajopt.kernels.instructions import read_instructions
from trajopt.kernels.machine import Kernel


def tangle(seed: int, n: int = 120) -> ca.Function:
    """Products, sums, selections and functions of the C library, with its Jacobian."""
    rng = np.random.default_rng(seed)
    x = SX.sym("x", 5)
    values = [x[i] for i in range(5)]
    for k in range(n):
        a, b = (values[-1 - int(rng.integers(min(20, len(values))))] for _ in range(2))
        choices = [
            a * b,
            a - 0.3 * b,
            ca.sin(a) * b,
            ca.if_else(a < b, a, b / 3),
            ca.atan2(a, 1 + b * b),
            ca.tanh(a + b),
        ]
        values.append(choices[k % len(choices)])
    y = ca.vertcat(*values[-4:])
    return ca.Function("tangle", [x], [y, ca.jacobian(y, x)])


def points(T: int = 40) -> list[np.ndarray]:
    return [np.random.default_rng(0).normal(size=(T, 5))]


@pytest.fixture
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_both_tiers_and_casadi_have_the_same_bits(seed: int, width: int) -> None:
    f = tangle(seed)
    expected = evaluate(f, points())
    assert all(np.all(np.isfinite(e)) for e in expected)
    codes = []
    for level in LEVELS.values():
        compiled = kernel_at(program_of(f), width, level)
        codes.append(compiled.address)
        assert_same_bits(run_kernel(compiled, points()), expected)
    assert codes[0] != codes[1]


@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("threads", [1, 2])
def test_optimised_tier_takes_the_place_of_the_quick_one(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(parallel, "SMALL_WORK", 1)
    monkeypatch.setattr(parallel, "get_num_threads", lambda: threads)
    gate = threading.Event()
    build = Kernel._build

    def gated(self: Kernel, level: int, **options: bool) -> object:
        if level == OPTIMISED:
            assert gate.wait(60)
        return build(self, level, **options)

    monkeypatch.setattr(Kernel, "_build", gated)
    compiled = Kernel(program_of(tangle(11)), 8)
    assert compiled.tier == "none"
    (x,) = points()
    outputs = [np.zeros((len(x), n)) for n in compiled.lengths[1:]]
    indices = blocks_of(range(len(x)), 8)
    call = ParallelCalls([KernelCall([compiled], np.zeros(len(indices)), indices, [rows(a) for a in (x, *outputs)])])
    call()
    assert machine._background._thread is None  # code that runs once is not worth it
    for _ in range(2):
        call()
    quick, address = [o.copy() for o in outputs], compiled.address
    assert compiled.tier == "quick"
    assert "tier=quick" in repr(compiled)
    assert machine._background._thread is not None
    gate.set()
    machine._background.end()
    assert compiled.tier == "optimised"
    assert compiled.address != address
    for output in outputs:
        output[:] = np.nan
    call()  # the same call object now runs the new code
    assert_same_bits(outputs, quick)


@pytest.mark.usefixtures("no_cache")
def test_quick_tier_stays_when_the_optimised_one_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    build = Kernel._build

    def failing(self: Kernel, level: int, **options: bool) -> object:
        if level == OPTIMISED:
            raise MemoryError("no room")
        return build(self, level, **options)

    monkeypatch.setattr(Kernel, "_build", failing)
    compiled = Kernel(program_of(tangle(12)), 8)
    expected = evaluate(compiled.program.functions[0].function, points())
    assert_same_bits(run_kernel(compiled, points()), expected)
    compiled.optimise()
    machine._background.end()
    with pytest.raises(MemoryError, match="no room"):
        compiled.wait_until_optimised()
    assert compiled.tier == "quick"
    assert "the optimised tier could not be compiled" in caplog.text
    assert_same_bits(run_kernel(compiled, points()), expected)


def test_nothing_is_optimised_in_the_background_where_that_is_held() -> None:
    compiled = Kernel(program_of(tangle(28)), 8)
    expected = evaluate(compiled.program.functions[0].function, points())
    assert_same_bits(run_kernel(compiled, points()), expected)
    with without_background():
        compiled.optimise()
        machine._background.end()
        assert compiled.tier == "quick"
    compiled.optimise()
    machine._background.end()
    assert compiled.tier == "optimised"
    assert_same_bits(run_kernel(compiled, points()), expected)


def test_small_programs_and_cached_ones_have_one_tier() -> None:
    small, large = program_of(tangle(13, 6)), program_of(tangle(13))
    assert small.instructions < machine.QUICK_ENOUGH < large.instructions
    for program, first in ((small, "optimised"), (large, "quick")):
        made = Kernel(program, 8)
        made.compile()
        assert made.tier == first
        made.wait_until_optimised()
    forget()
    before = compilations()
    cached = Kernel(large, 8)
    cached.compile()
    assert cached.tier == "optimised"
    assert compilations() == before


def test_optimised_functions_without_their_entry_do_not_count_as_cached() -> None:
    program = program_of(tangle(15))
    first = Kernel(program, 8)
    first.compile()
    first.wait_until_optimised()
    forget()
    assert Kernel(program, 8).first_level() == OPTIMISED
    remove(compiler.object_key(*first._entry_at(OPTIMISED)))
    assert Kernel(program, 8).first_level() == QUICK


def remove(key: str) -> None:
    """Deletes an entry of the disk cache."""
    files = [path for path in Path(os.environ["TRAJOPT_CACHE_DIR"]).rglob("*") if path.name.startswith(key)]
    assert len(files) == 1
    files[0].unlink()


@pytest.mark.usefixtures("no_cache")
def test_waiting_for_optimised_code_leaves_kernels_without_calls_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_living", weakref.WeakSet())  # kernels of other tests are not waited for
    called, alone = (Kernel(program_of(tangle(seed)), 8) for seed in (16, 17))
    for each in (called, alone):
        each.compile()
    (x,) = points(8)
    arrays = [x, *(np.zeros((len(x), n)) for n in called.lengths[1:])]
    call = KernelCall([called], np.zeros(1), blocks_of(range(len(x)), 8), [rows(a) for a in arrays])
    wait_until_optimised()
    assert (called.tier, alone.tier) == ("optimised", "quick")
    del call


@pytest.mark.usefixtures("no_cache")
def test_parts_are_compiled_by_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emission, "CUT", 60)
    f = tangle(14)
    here = run_kernel(kernel_at(program_of(f), 8, OPTIMISED), points())
    forget()
    monkeypatch.setattr(workers, "WORTH_A_WORKER", 1e-3)
    monkeypatch.setattr(compiler, "get_num_threads", lambda: 2)
    monkeypatch.setattr(compiler.codegen, "machine_code", refuse_all_but_the_entry)
    before = compilations()
    assert_same_bits(run_kernel(kernel_at(program_of(f), 8, OPTIMISED), points()), here)
    assert compilations() - before > 10
    assert not workers._running


def refuse_all_but_the_entry(text: str, level: int) -> bytes:
    if "trajopt_entry" not in text:
        raise AssertionError("compiled in this process")
    return CODE_GENERATOR(text, level)


CODE_GENERATOR = compiler.codegen.machine_code


@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("trouble", ["no such program", "ends at once", "writes nonsense"])
def test_trouble_with_other_processes_is_harmless(
    monkeypatch: pytest.MonkeyPatch, trouble: str, tmp_path: Path
) -> None:
    """A worker that cannot start, dies, or is not Python at all: the text is compiled here."""
    program = tmp_path / "python-that-is-none"
    if trouble != "no such program":
        program.write_text("#!/bin/sh\n" + {"ends at once": "exit 3", "writes nonsense": "echo nonsense"}[trouble])
        program.chmod(0o700)
    monkeypatch.setattr(workers.sys, "executable", str(program))
    monkeypatch.setattr(workers, "WORTH_A_WORKER", 1e-6)
    monkeypatch.setattr(emission, "CUT", 60)
    monkeypatch.setattr(compiler, "get_num_threads", lambda: 2)
    forget()
    f = tangle(15, 60)
    assert_same_bits(run_kernel(kernel_at(program_of(f), 8, QUICK), points()), evaluate(f, points()))


@pytest.mark.usefixtures("no_cache")
def test_threads_that_want_one_function_compile_it_once() -> None:
    program = program_of(tangle(16))
    run_kernel(Kernel(program_of(tangle(18)), 8), points())  # the driver itself
    kernels = [Kernel(program, 8) for _ in range(4)]  # their code is freed with the last of them
    before = compilations()
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda each: run_kernel(each, points()), kernels))
    function_parts = len(emission.EmittedFunction("f", program.functions[0].code, 8).parts)
    assert compilations() - before == function_parts + 4  # and four entries, which are tiny
    for result in results[1:]:
        assert_same_bits(result, results[0])


@pytest.mark.usefixtures("no_cache")
def test_failure_of_a_compilation_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Kernel(program_of(tangle(17)), 8)
    with monkeypatch.context() as patch:
        patch.setattr(compiler.codegen, "machine_code", interrupt)
        with pytest.raises(KeyboardInterrupt):
            compiled.compile()
    assert compiled.tier == "none"
    assert_same_bits(run_kernel(compiled, points()), evaluate(compiled.program.functions[0].function, points()))


def interrupt(text: str, level: int) -> bytes:
    raise KeyboardInterrupt


def test_optimised_parts_survive_the_end_of_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The next process compiles the parts that are missing, and gets the same bits."""
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(emission, "CUT", 60)
    monkeypatch.setattr(functions, "AT_A_TIME", 0.02)
    f = tangle(18)
    (expression,) = program_of(f).functions
    done = []

    def ended(texts: list[str], level: int, **options: bool) -> list[bytes]:
        if len(done) > 3:
            raise compiler.CompilationError("the process is about to end")
        done.extend(texts)
        return [CODE_GENERATOR(text, level) for text in texts]

    with monkeypatch.context() as patch:
        patch.setattr(compiler, "machine_codes", ended)
        with pytest.raises(compiler.CompilationError):
            functions.function_codes([functions.Wanted(expression, 8, OPTIMISED)], background=True)
    before, waited = compilations(background=True), compilations()
    functions.function_codes([functions.Wanted(expression, 8, OPTIMISED)], background=True)
    parts = emission.EmittedFunction("again", read_instructions(f), 8).parts
    assert compilations(background=True) - before == len(parts) - len(done)
    assert compilations() == waited  # nobody waited for them
    assert 3 < len(done) < len(parts)
    forget()
    compiled = kernel_at(program_of(f), 8, OPTIMISED)
    assert_same_bits(run_kernel(compiled, points()), evaluate(f, points()))


@pytest.mark.usefixtures("no_cache")
def test_kernels_are_compiled_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each function once, all of a tier in one go; if that fails, the next attempt begins anew."""
    functions_of = [tangle(20), tangle(21), tangle(20)]
    small = ca.Function("small", [SX.sym("x", 5)], [SX.ones(1)])
    kernels = [Kernel(program_of(f), 8) for f in (*functions_of, small)]
    machine_codes, batches = compiler.machine_codes, []

    def counted(texts: list[str], level: int, **options: bool) -> list[bytes]:
        if not options.get("background"):
            batches.append((level, len(texts)))
        return machine_codes(texts, level, **options)

    with monkeypatch.context() as patch:
        patch.setattr(compiler.codegen, "machine_code", interrupt)
        with pytest.raises(KeyboardInterrupt):
            compile_together(kernels)
    assert {each.tier for each in kernels} == {"none"}
    monkeypatch.setattr(compiler, "machine_codes", counted)
    compile_together(kernels)
    parts = [len(emission.EmittedFunction("f", read_instructions(f), 8).parts) for f in functions_of[:2]]
    assert batches == [(QUICK, sum(parts)), (OPTIMISED, 1)]
    assert all(each.tier != "none" for each in kernels)
    for each, f in zip(kernels, functions_of):
        assert_same_bits(run_kernel(each, points()), evaluate(f, points()))


BAD_TEXTS = {
    "syntax": "define void @f( {",
    "types": "define double @f(i64 %x) { ret double %x }",
    "dominance": "define double @f(double %x) { entry: %a = fadd double %b, %x %b = fadd double %a, %x ret double %a }",
    "intrinsic": "declare float @llvm.sin.f64(double)\n"
    "define float @f() { %a = call float @llvm.sin.f64(double 1.0) ret float %a }",
}


@pytest.mark.parametrize("text", BAD_TEXTS.values(), ids=BAD_TEXTS)
def test_invalid_text_raises(text: str) -> None:
    with pytest.raises(compiler.CompilationError, match="LLVM rejects a module"):
        compiler.machine_code(text)


def test_missing_symbol_raises() -> None:
    text = "declare void @trajopt_nowhere()\ndefine void @f() { call void @trajopt_nowhere() ret void }"
    with pytest.raises(compiler.CompilationError, match="does not link"):
        compiler.load([compiler.machine_code(text)], ["f"], {})
    assert issubclass(compiler.CompilationError, TrajoptError)


def test_kernels_of_equal_programs_are_shared() -> None:
    assert kernel(program_of(tangle(18)), 8) is kernel(program_of(tangle(18)), 8)
    assert kernel(program_of(tangle(18)), 1) is not kernel(program_of(tangle(18)), 8)


@pytest.mark.parametrize("place", ["here", "apart"])
def test_process_may_end_while_the_background_compiles(place: str) -> None:
    """It ends without a crash or a word, and so do the processes that compile for it."""
    script = """
        import sys, time
        from tests.kernels.test_tiers import points, program_of, run_kernel, tangle
        from trajopt.kernels import emission, kernel, set_num_threads, workers
        emission.CUT = 100
        set_num_threads(1)
        if sys.argv[1] == "here":
            workers._python = lambda: False
        compiled = kernel(program_of(tangle(19, 300)), 8)
        run_kernel(compiled, points())
        compiled.optimise()
        while sys.argv[1] == "apart" and not workers._running:
            time.sleep(0.01)
        print(compiled.tier, *[worker.pid for worker in workers._running])
    """
    environment = {**os.environ, "TRAJOPT_CACHE_DIR": "off"}
    command = [sys.executable, "-c", textwrap.dedent(script), place]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert (run.returncode, run.stderr) == (0, "")
    tier, *workers_seen = run.stdout.split()
    assert tier == "quick"
    assert len(workers_seen) == (place == "apart")
    for pid in workers_seen:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
