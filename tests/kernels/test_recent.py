"""What a process keeps of code that nobody uses: what was asked for last, up to a limit."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from tests.kernels.test_forget import call_of
from tests.kernels.test_tiers import points, tangle
from tests.support.kernel_runner import assert_same_bits, evaluate, program_of, run_kernel
from trajopt.kernels import compiler, forget, kernel, machine
from trajopt.kernels.recent import Recent
from trajopt.solvers.riccati import recursion
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import Riccati


class Thing:
    """A thing of some size."""

    def __init__(self, size: float) -> None:
        self.size = size


def sizes(recent: Recent[str, Thing]) -> list[float]:
    return [thing.size for thing in recent.values()]


@pytest.fixture
def recent() -> Recent[str, Thing]:
    return Recent(10.0, lambda thing: thing.size)


def test_each_key_has_one_object(recent: Recent[str, Thing]) -> None:
    first = recent.get("a", lambda: Thing(1.0))
    assert recent.get("a", lambda: pytest.fail("there is one")) is first
    assert recent.get("b", lambda: Thing(2.0)) is not first


def test_least_recently_used_go_first(recent: Recent[str, Thing]) -> None:
    for key, size in {"a": 3.0, "b": 4.0, "c": 2.0}.items():
        recent.get(key, lambda size=size: Thing(size))  # type: ignore[misc]
    recent.get("a", lambda: pytest.fail("there is one"))
    recent.get("d", lambda: Thing(5.0))
    assert sizes(recent) == [2.0, 3.0, 5.0]
    recent.get("e", lambda: Thing(20.0))
    assert sizes(recent) == [20.0]  # the last one stays whatever its size
    recent.get("f", lambda: Thing(9.0))
    recent.get("g", lambda: Thing(1.0))
    assert sizes(recent) == [9.0, 1.0]


def test_an_object_in_use_is_returned_after_it_was_dropped(recent: Recent[str, Thing]) -> None:
    held, gone = recent.get("held", lambda: Thing(6.0)), weakref.ref(recent.get("gone", lambda: Thing(4.0)))
    recent.get("large", lambda: Thing(10.0))
    assert sizes(recent) == [10.0]
    assert gone() is None
    assert recent.get("held", lambda: pytest.fail("there is one")) is held
    assert sizes(recent) == [6.0]


def test_cleared(recent: Recent[str, Thing]) -> None:
    first = recent.get("a", lambda: Thing(9.0))
    recent.clear()
    assert recent.get("a", lambda: Thing(9.0)) is not first
    assert sizes(recent) == [9.0]


@pytest.mark.slow
def test_kernels_go_when_no_call_holds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of the one that nobody uses is freed, and comes from the cache if it is asked for again."""
    forget()
    used, unused = program_of(tangle(51, 30)), program_of(tangle(52, 30))
    first, second = kernel(used, 8), weakref.ref(kernel(unused, 8))
    call, outputs = call_of(first)
    call()
    before = [o.copy() for o in outputs]
    code = weakref.ref(kernel(unused, 8).compile())
    monkeypatch.setattr(machine._kept, "limit", 1.0)
    another = kernel(program_of(tangle(53, 30)), 8)
    gc.collect()
    assert machine._kept.values() == [another]
    assert second() is None
    assert code() is None
    assert kernel(used, 8) is first
    for output in outputs:
        output[:] = np.nan
    call()
    assert_same_bits(outputs, before)
    compiled = compiler.compilations()
    assert_same_bits(run_kernel(kernel(unused, 8), points()), evaluate(tangle(52, 30), points()))
    assert compiler.compilations() == compiled


def test_size_of_a_kernel_grows_with_its_instructions() -> None:
    small, large = (machine._size(kernel(program_of(tangle(54, n)), 8)) for n in (30, 300))
    assert machine.KERNEL_BYTES < small < large < machine.KEPT_BYTES


def lq(n: int) -> LinearQuadratic:
    program = LinearQuadratic.zeros(3, n, 1)
    program.F[:], program.g[:], program.H[:], program.terminal_H[:] = 0.5, 1.0, np.eye(n + 1), np.eye(n)
    return program


@pytest.mark.slow
def test_code_for_the_sizes_of_a_problem_goes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the last recursion that uses it, once it is not among the last ones, or forgotten."""
    forget()
    one = Riccati(lq(3))
    one.factor()
    step = one.forward().du.copy()
    codes = [weakref.ref(library) for library in recursion._loaded.values()]
    assert len(codes) == 2
    monkeypatch.setattr(recursion._loaded, "limit", 1.0)
    two = Riccati(lq(4))
    gc.collect()
    assert all(code() for code in codes)
    one.factor()
    np.testing.assert_array_equal(one.forward().du, step)
    again = Riccati(lq(3))
    assert again._factor.library is one._factor.library
    del one, again
    two.factor()
    two.forward()
    gc.collect()
    assert not any(code() for code in codes)
    (last,) = map(weakref.ref, recursion._loaded.values())
    forget()
    assert last()
    del two
    gc.collect()
    assert not last()


def test_a_linker_goes_with_its_last_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "LINKS_PER_ENGINE", 3)
    monkeypatch.setattr(compiler, "_engine", None)
    image = compiler.machine_code("define i64 @f() { ret i64 7 }")
    first = compiler.link([image], ["f"], {})
    engine = compiler._Engine.current()
    others = [compiler.link([image], ["f"], {}) for _ in range(2)]
    assert compiler._Engine.current() is not engine
    del others
    assert not engine._engine.closed
    del first
    compiler.link([image], ["f"], {})
    assert engine._engine.closed
