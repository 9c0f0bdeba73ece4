"""Quadratic programs with stages, solved by LinearQuadratic and Riccati alone, against dense conditions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.stage_programs import kkt_solution, random_program
from trajopt.errors import InvalidArgumentError
from trajopt.solvers.riccati import recursion
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import Riccati, RiccatiFailure
from trajopt.types import Reals

WIDE, NARROW = (8, 32), (4, 16)  # doubles of a register, registers: with and without AVX-512


def solution(riccati: Riccati) -> tuple[Reals, ...]:
    step = riccati.forward()
    return step.dx, step.du, step.lam, step.y


def assert_close(found: tuple[Reals, ...], expected: tuple[Reals, ...], tolerance: float = 1e-10) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(b).max(initial=0.0)))


@pytest.fixture(params=[WIDE, NARROW], ids=["wide", "narrow"])
def registers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code for either kind of processor; both run on this one."""
    monkeypatch.setattr(recursion, "registers", lambda: request.param)


SHAPES: list[dict[str, Any]] = [
    {"T": 20, "n": 3, "m": 2},
    {"T": 4, "n": 14, "m": 7},
    {"T": 3, "n": 36, "m": 12},
    {"T": 2, "n": 17, "m": 33},
    {"T": 3, "n": 8, "m": 4},
    {"T": 3, "n": 5, "m": 0},
    {"T": 0, "n": 4, "m": 2},
    {"T": 1, "n": 1, "m": 1},
    {"T": 3, "n": 4, "m": 3, "nc": 2},
    {"T": 3, "n": 14, "m": 9, "nc": 8},
    {"T": 2, "n": 5, "m": 17, "nc": 15},
    {"T": 4, "n": 14, "m": 7, "nb": 0},
    {"T": 3, "n": 36, "m": 12, "nb": 6},
    {"T": 3, "n": 36, "m": 12, "nb": 6, "nc": 5},
    {"T": 3, "n": 34, "m": 3, "nb": 17},
    {"T": 3, "n": 20, "m": 9, "nb": 9},
    {"T": 3, "n": 16, "m": 8, "nb": 8},
    {"T": 3, "n": 2, "m": 0, "nb": 1},
    {"T": 0, "n": 4, "m": 2, "nb": 1, "nc": 1},
    {"T": 4, "n": 3, "m": 1, "k": 1},
    {"T": 3, "n": 40, "m": 12, "k": 4},
    {"T": 3, "n": 37, "m": 12, "k": 1, "nb": 6},
    {"T": 3, "n": 37, "m": 12, "k": 1, "nb": 6, "nc": 5},
    {"T": 4, "n": 13, "m": 6, "k": 1, "nb": 0},
    {"T": 3, "n": 33, "m": 5, "k": 19, "nb": 3},
    {"T": 3, "n": 13, "m": 3, "k": 12, "nc": 2},
    {"T": 3, "n": 5, "m": 0, "k": 2},
    {"T": 0, "n": 4, "m": 2, "k": 3},
    {"T": 4, "n": 3, "m": 1, "k": 1, "starts": True},
    {"T": 3, "n": 13, "m": 11, "k": 10, "starts": True},
    {"T": 3, "n": 37, "m": 12, "k": 1, "nb": 6, "nc": 5, "starts": True},
    {"T": 4, "n": 16, "m": 6, "k": 4, "nb": 0, "starts": True},
]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(f"{k}{v}" for k, v in shape.items()))


@shapes
@pytest.mark.usefixtures("registers")
def test_solution_with_gaps_and_multipliers(shape: dict[str, Any]) -> None:
    lq = random_program(**shape)
    riccati = Riccati(lq)
    assert riccati.factor().failure is None
    assert_close(solution(riccati), kkt_solution(lq))
    assert riccati.factor(0.3).failure is None
    assert_close(solution(riccati), kkt_solution(lq, 0.3, 0.3))
    riccati.factor(0.3, regularize_value=False)
    assert_close(solution(riccati), kkt_solution(lq, 0.3))


@shapes
def test_bits_of_matrices_do_not_depend_on_the_number_of_registers(
    shape: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for count in (16, 32):  # blocks of (4, 3) and (8, 3) cells, or higher and narrower ones
        monkeypatch.setattr(recursion, "registers", lambda count=count: (4, count))
        riccati = Riccati(random_program(**shape))
        assert riccati.factor(0.1).failure is None
        found.append([a.tobytes() for a in (riccati.Vxx, riccati.K, riccati.Ky)])
    assert found[0] == found[1]


@shapes
@pytest.mark.usefixtures("registers")
def test_another_right_hand_side(shape: dict[str, Any]) -> None:
    """`solve` gives what `factor` gives, with and without gaps, for many vectors after one factorisation."""
    lq, rng = random_program(**shape), np.random.default_rng(1)
    riccati, other = Riccati(lq), Riccati(lq)
    riccati.factor(0.1)
    for feasible in (False, True, False):
        for array in (lq.f, lq.g, lq.terminal_g, *(() if lq.d is None else (lq.d,))):
            array[:] = rng.standard_normal(array.shape)
        one, two = riccati.solve(feasible=feasible), other.factor(0.1, feasible=feasible)
        assert one.failure is two.failure is None
        np.testing.assert_allclose(one.decrease, two.decrease, rtol=1e-10)
        assert_close(solution(riccati), solution(other))
        assert_close((riccati.Vx, riccati.k, riccati.ky), (other.Vx, other.k, other.ky))
        if not feasible:
            assert_close((riccati.Vf,), (other.Vf,))


@shapes
@pytest.mark.usefixtures("registers")
def test_value_function_and_decrease(shape: dict[str, Any]) -> None:
    """Without gaps the optimal cost is - decrease / 2, and λ = Vxx dx + Vx everywhere; Vxx is symmetric to the bit."""
    lq = random_program(**shape)
    riccati = Riccati(lq)
    outcome = riccati.factor(feasible=True)
    dx, du, lam, y = solution(riccati)
    z = np.hstack([dx[:-1], du])
    cost = 0.5 * np.einsum("ti,tij,tj->", z, lq.H, z) + np.vdot(lq.g, z) + lq.terminal_g @ dx[-1]
    cost += 0.5 * dx[-1] @ lq.terminal_H @ dx[-1]
    np.testing.assert_allclose(cost, -0.5 * outcome.decrease, rtol=1e-9, atol=1e-12)
    assert_close((lam,), (np.einsum("tij,tj->ti", riccati.Vxx, dx) + riccati.Vx,))
    np.testing.assert_array_equal(riccati.Vxx, riccati.Vxx.transpose(0, 2, 1))
    assert_close((du, y), tuple(-k - np.einsum("tij,tj->ti", K, dx[:-1]) for K, k in gains(riccati)))


def gains(riccati: Riccati) -> tuple[tuple[Reals, Reals], ...]:
    return (riccati.K, riccati.k), (riccati.Ky, riccati.ky)


def test_equality_rows() -> None:
    """Rows with full rank in u are met, and the gradient of the Lagrangian vanishes at every knot."""
    lq = random_program(5, 6, 4, nc=3)
    assert lq.C is not None
    assert lq.d is not None
    riccati = Riccati(lq)
    assert riccati.factor().failure is None
    step = riccati.forward()
    assert_close((step.dx, step.du, step.lam, step.y), kkt_solution(lq))
    z = np.hstack([step.dx[:-1], step.du])
    np.testing.assert_allclose(np.einsum("tri,ti->tr", lq.C, z), -lq.d, atol=1e-12)
    np.testing.assert_allclose(step.dx[1:], np.einsum("tij,tj->ti", lq.F, z) + lq.f[1:], atol=1e-12)
    gradient = np.einsum("tij,tj->ti", lq.H, z) + lq.g + np.einsum("tij,ti->tj", lq.F, step.lam[1:])
    gradient += np.einsum("tri,tr->ti", lq.C, step.y) - np.hstack([step.lam[:-1], np.zeros((5, 4))])
    np.testing.assert_allclose(gradient, 0.0, atol=1e-11)


@pytest.mark.usefixtures("registers")
def test_second_order_systems_as_general_ones() -> None:
    lq = random_program(5, 36, 12, nb=6, seed=2)
    assert lq.second_order is not None
    lq.second_order.dt[2], lq.second_order.J1dt[2] = 0.0, 0.0  # an impulse
    full = np.zeros((5, 36, 48))
    full[:, 18:] = lq.F
    one = Riccati(replace(lq, F=full[:, 18:]))  # rows of velocities where they lie in a full F
    two = Riccati(replace(lq, F=lq.full_F(), second_order=None))
    assert one.factor(0.01) is not None
    assert two.factor(0.01) is not None
    assert_close((one.Vxx, one.Vx, one.Vf), (two.Vxx, two.Vx, two.Vf), 1e-13)
    assert_close((one.K, one.k), (two.K, two.k), 1e-11)


@pytest.mark.parametrize("nb", [None, 6])
@pytest.mark.parametrize("k", [1, 4, 11])
@pytest.mark.usefixtures("registers")
def test_constant_states_as_any_others(k: int, nb: int | None) -> None:
    lq = random_program(5, 36 + k, 12, nb=nb, k=k, seed=2)
    one, two = Riccati(lq), Riccati(replace(lq, F=lq.full_F(), second_order=None, E=None))
    first, second = one.factor(0.01), two.factor(0.01)
    assert first.failure is second.failure is None
    assert first.decrease == pytest.approx(second.decrease, rel=1e-12)
    assert_close((one.Vxx, one.Vx, one.Vf), (two.Vxx, two.Vx, two.Vf), 1e-13)
    assert_close((one.K, one.k), (two.K, two.k), 1e-11)
    assert_close(solution(one), solution(two), 1e-11)


@pytest.mark.parametrize("shape", [{"nb": 2, "nc": 2}, {"nc": 0}, {"nb": 2, "k": 2}])
@pytest.mark.usefixtures("registers")
def test_only_lower_triangles_are_read(shape: dict[str, Any]) -> None:
    lq = random_program(4, 10, 5, **shape)
    expected = kkt_solution(lq)
    for H in (*lq.H, lq.terminal_H):
        H[np.triu_indices(len(H), 1)] = np.nan
    riccati = Riccati(lq)
    assert riccati.factor().failure is None
    assert_close(solution(riccati), expected)
    assert riccati.solve().failure is None
    assert_close(solution(riccati), expected)


def test_padded_rows_and_dual_regularisation() -> None:
    """δ is on the dual diagonal: rows of zeros with δ = 1 are not there, rows on states alone need δ > 0."""
    lq = random_program(4, 6, 4, nc=2)
    assert lq.C is not None
    assert lq.d is not None
    assert lq.delta is not None
    lq.C[1, 1], lq.d[1, 1], lq.delta[1, 1] = 0.0, 0.0, 1.0
    lq.C[2, :, 6:], lq.delta[2] = 0.0, 0.1
    lq.delta[3, 0] = 1e-3
    riccati = Riccati(lq)
    assert riccati.factor().failure is None
    step = riccati.forward()
    assert step.y[1, 1] == 0.0
    assert_close(solution(riccati), kkt_solution(lq))
    lq.C[:], lq.d[:], lq.delta[:] = 0.0, 0.0, 1.0
    riccati.factor()
    assert_close(solution(riccati)[:3], kkt_solution(replace(lq, C=None, d=None, delta=None))[:3])


def spoil(array: str, place: tuple[Any, ...], value: float) -> Callable[[LinearQuadratic], None]:
    def change(lq: LinearQuadratic) -> None:
        getattr(lq, array)[place] = value

    return change


def repeat_row(lq: LinearQuadratic) -> None:
    assert lq.C is not None
    lq.C[2, 1] = -3.0 * lq.C[2, 0]


def combine_rows(lq: LinearQuadratic) -> None:
    assert lq.C is not None
    lq.C[2, 2] = 0.3 * lq.C[2, 0] + 0.7 * lq.C[2, 1]


def states_alone(lq: LinearQuadratic) -> None:
    assert lq.C is not None
    lq.C[2, 1, 6:] = 0.0


@pytest.mark.parametrize(
    ("change", "failure", "knot"),
    [
        (spoil("H", (2, 8, 8), -100.0), RiccatiFailure.INDEFINITE, 2),
        (spoil("H", (2, 6, 6), -100.0), RiccatiFailure.INDEFINITE, 2),
        (repeat_row, RiccatiFailure.RANK_DEFICIENT, 2),
        (combine_rows, RiccatiFailure.RANK_DEFICIENT, 2),
        (states_alone, RiccatiFailure.RANK_DEFICIENT, 2),
        (spoil("H", (1, 7, 6), np.nan), RiccatiFailure.NOT_FINITE, 1),
        (spoil("H", (1, 3, 1), np.inf), RiccatiFailure.NOT_FINITE, 1),
        (spoil("H", (1, 3, 1), 1e31), RiccatiFailure.NOT_FINITE, 1),
        (spoil("g", (3, 0), np.nan), RiccatiFailure.NOT_FINITE, 3),
        (spoil("g", (3, 9), np.nan), RiccatiFailure.NOT_FINITE, 3),
        (spoil("F", (0, 2, 3), np.nan), RiccatiFailure.NOT_FINITE, 0),
        (spoil("terminal_H", (4, 2), np.nan), RiccatiFailure.NOT_FINITE, 4),
        (spoil("terminal_g", (5,), -1e31), RiccatiFailure.NOT_FINITE, 4),
    ],
)
@pytest.mark.usefixtures("registers")
def test_failures_name_knot_and_reason(
    change: Callable[[LinearQuadratic], None], failure: RiccatiFailure, knot: int
) -> None:
    lq = random_program(4, 6, 4, nc=3)
    change(lq)
    riccati = Riccati(lq)
    outcome = riccati.factor()
    assert (outcome.failure, outcome.failed_knot) == (failure, knot)
    if failure is RiccatiFailure.INDEFINITE:
        assert riccati.factor(200.0).failure is None  # the caller can react


def test_right_hand_sides_that_are_not_finite() -> None:
    lq = random_program(4, 6, 4)
    riccati = Riccati(lq)
    assert riccati.factor().failure is None
    lq.g[2, 1] = np.nan
    outcome = riccati.solve()
    assert (outcome.failure, outcome.failed_knot) == (RiccatiFailure.NOT_FINITE, 2)


@pytest.mark.slow
def test_nothing_is_read_or_written_past_the_ends_of_the_arrays() -> None:
    """Arrays end where memory ends: what reads on would end the process."""
    code = "from tests.solvers.test_linear_quadratic import solve_at_the_end_of_memory as solve; solve()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


ENDS: list[tuple[int, dict[str, int]]] = [
    *[(2, {"n": 10, "m": 5, "nc": 3}), (2, {"n": 10, "m": 5, "nc": 3, "nb": 3})],
    *[(9, {"n": 1, "m": 1, "nc": 1}), (9, {"n": 2, "m": 1, "nb": 1}), (9, {"n": 3, "m": 0})],
]


def solve_at_the_end_of_memory() -> None:
    """Solves programs whose arrays, and those that gains are written to, have a page behind them that is not there."""
    import ctypes
    import mmap

    libc = ctypes.CDLL(None, use_errno=True)

    def last(array: Reals) -> Reals:
        pages = -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        memory = mmap.mmap(-1, pages + mmap.PAGESIZE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert libc.mprotect(ctypes.c_void_p(start + pages), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
        moved = np.frombuffer(memory, np.float64, array.size, pages - array.nbytes).reshape(array.shape)
        moved[...] = array
        return moved

    for width in (WIDE, NARROW):
        recursion.registers = lambda width=width: width  # type: ignore[assignment]
        for T, shape in ENDS:
            lq = random_program(T, **shape)  # type: ignore[arg-type]
            arrays = {name: last(a) for name, a in vars(lq).items() if isinstance(a, np.ndarray)}
            if lq.second_order is not None:
                arrays["second_order"] = replace(
                    lq.second_order, **{name: last(a) for name, a in vars(lq.second_order).items()}
                )
            riccati = Riccati(replace(lq, **arrays), K=last(np.zeros((T, lq.m, lq.n))), k=last(np.zeros((T, lq.m))))
            riccati.factor()
            assert_close(solution(riccati), kkt_solution(lq))
            riccati.solve()
            assert_close(solution(riccati), kkt_solution(lq))


def test_copies_share_nothing() -> None:
    lq = random_program(3, 7, 2, nc=1, nb=2, k=1)
    copy = lq.copy()
    before = kkt_solution(copy)
    for array in (lq.F, lq.f, lq.g, lq.H, lq.terminal_g, lq.terminal_H, lq.C, lq.d, lq.delta, lq.E):
        assert array is not None
        array[:] = 7.0
    assert lq.second_order is not None
    lq.second_order.dt[:] = lq.second_order.J0[:] = lq.second_order.J1dt[:] = 7.0  # type: ignore[assignment]
    assert_close(kkt_solution(copy), before, 0.0)


def test_full_F_follows_its_definition() -> None:
    lq = random_program(2, 6, 2, nb=2)
    assert lq.second_order is not None
    for t, F in enumerate(lq.full_F()):
        J0, J1dt = np.eye(3), lq.second_order.dt[t] * np.eye(3)
        J0[:2, :2], J1dt[:2, :2] = lq.second_order.J0[t], lq.second_order.J1dt[t]
        np.testing.assert_allclose(F[3:], lq.F[t])
        np.testing.assert_allclose(F[:3], J1dt @ lq.F[t] + np.hstack([J0, np.zeros((3, 5))]))
    general = random_program(2, 6, 2)
    assert general.full_F() is general.F
    constant = random_program(2, 7, 2, k=2)
    assert constant.E is not None
    for F, own, E in zip(constant.full_F(), constant.F, constant.E):
        np.testing.assert_array_equal(F[:5], np.hstack([own[:, :5], E.T, own[:, 5:]]))
        np.testing.assert_array_equal(F[5:], np.eye(2, 9, 5))
    first, second = replace(constant, starts=True).full_F()
    np.testing.assert_array_equal(first[5:], np.eye(2, 9, 5) + np.eye(2, 9, 7))
    np.testing.assert_array_equal(second, constant.full_F()[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"g": np.zeros((3, 7))}, r"F: expected an array float64 \(3, 6, 7\)|H: expected"),
        ({"f": np.zeros((3, 6))}, r"f: expected an array float64 \(4, 6\), got float64 \(3, 6\)"),
        ({"H": np.zeros((3, 8, 8), dtype=np.float32)}, r"H: expected an array float64 \(3, 8, 8\), got float32"),
        ({"terminal_g": [0.0] * 6}, "terminal_g: expected an array float64"),
        ({"H": np.zeros((3, 8, 8)).transpose(0, 2, 1)}, "H: expected an array whose rows"),
        ({"F": np.zeros((3, 8, 6)).transpose(0, 2, 1)}, "F: expected an array whose rows"),
        ({"F": np.zeros((3, 6, 8))[:, ::-1]}, "F: expected an array whose rows"),
        ({"C": np.zeros((3, 1, 8))}, "C, d, delta: expected C and d"),
        ({"delta": np.zeros((3, 1))}, "C, d, delta: expected C and d"),
        ({"starts": True}, "starts: expected 1 to 2 constant states, got 0"),
        ({"terminal_g": np.zeros(0)}, r"expected terminal_g of shape \(n,\) with n >= 1, .* got 0 elements"),
        ({"second_order": LinearQuadratic.zeros(3, 10, 2, nb=4).second_order}, "blocks of at most n / 2, got n = 6"),
        ({"E": np.zeros((3, 1, 6))}, r"E: expected an array float64 \(3, 1, 5\), got float64 \(3, 1, 6\)"),
        ({"E": np.zeros((3, 1, 5))}, r"F: expected an array float64 \(3, 5, 7\), got float64 \(3, 6, 8\)"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        replace(random_program(3, 6, 2), **change)


def test_gains_go_where_they_are_wanted() -> None:
    lq = random_program(3, 6, 2)
    K, k = np.zeros((3, 2, 6)), np.zeros((3, 2))
    riccati = Riccati(lq, K=K, k=k)
    riccati.factor()
    assert riccati.K is K
    assert K.any()
    assert k.any()
    with pytest.raises(InvalidArgumentError, match=r"K: expected an array float64 \(3, 2, 6\)"):
        Riccati(lq, K=np.zeros((3, 6, 2)))
