"""Kinds of knots behind one interface: who calls what, how often; and a kind of another sort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.shooting.test_problem import X0, Kick, alone, mixed_problem, pendulum, random_trajectory, stack
from tests.support.model_list import BlackBox, costs_of, free_dynamics, reference_of
from tests.support.slow_twin import assert_close
from trajopt.kernels import KernelCall
from trajopt.kernels.call_sequence import Together
from trajopt.shooting.arrays import padded
from trajopt.shooting.black_box import BlackBoxKind, PythonCall
from trajopt.shooting.compiled import CompiledKind
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.kinds import Kind
from trajopt.shooting.knots import index_of
from trajopt.shooting.linear_trial import LinearTrial


@pytest.fixture
def native_calls(monkeypatch: pytest.MonkeyPatch) -> list[str | tuple[int, int | None]]:
    """Every native call from here on: its range of blocks, or that it is for several calls together."""
    calls: list[str | tuple[int, int | None]] = []
    original, together = KernelCall.__call__, Together.__call__

    def counted(self: KernelCall, first: int = 0, end: int | None = None) -> None:
        calls.append((first, end))
        original(self, first, end)

    def counted_together(self: Together) -> None:
        calls.append("together")
        together(self)

    monkeypatch.setattr(KernelCall, "__call__", counted)
    monkeypatch.setattr(Together, "__call__", counted_together)
    return calls


def test_compiled_knots_are_one_native_call_between_black_boxes(native_calls: Any) -> None:
    one, other, box = pendulum(), pendulum(mass=2.0), BlackBox()
    compiled = Evaluator(trajopt.ShootingProblem(X0, [one, other, one, one, other], stack(control=False)))
    compiled.trials(1).run()
    assert native_calls == ["together"]  # the running knots, the end, the sum of the costs
    native_calls.clear()
    compiled.expand(np.array(X0))
    assert native_calls == ["together"]
    native_calls.clear()
    mixed = Evaluator(trajopt.ShootingProblem(X0, [one, other, box, one, box, box, other], box))
    mixed.trials(8).run()
    assert native_calls == [(0, 2), (3, 4), (6, 7), "together"]


def test_models_get_their_kind_once() -> None:
    problem = mixed_problem()
    kinds = [(type(k), type(k.model).__name__, k.knots) for k in problem.kinds]
    assert kinds == [
        (CompiledKind, "IntegratedActionModelEuler", (0, 1, 7)),
        (CompiledKind, "Kick", (2,)),
        (CompiledKind, "IntegratedActionModelRK4", (3, 5)),
        (BlackBoxKind, "BlackBox", (4,)),
        (BlackBoxKind, "BlackBox", (6,)),
        (CompiledKind, "Kick", (8,)),
        (BlackBoxKind, "BlackBox", (9,)),
        (CompiledKind, "ActionModelTerminal", (10,)),
    ]
    assert [k.terminal for k in problem.kinds] == [False] * 7 + [True]


class Standing(Kind):
    """Knots that stay where they are, with a cost of 7."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind.model, kind.knots, terminal=False, layout=kind.layout)

    @classmethod
    def expansions(cls, kinds: Sequence[Any], evaluator: Evaluator) -> list[Any]:
        def fill(t: int) -> None:
            e, n = evaluator, evaluator.state.ndx
            e.xnext[t], e.costs[t], e.f[t + 1] = e.xs[t], 7.0, e.state.difference(e.xs[t + 1], e.xs[t])
            e.F[t, :, :n] = np.eye(n)

        return [PythonCall({t: lambda t=t: fill(t) for kind in kinds for t in kind.knots})]  # type: ignore[misc]

    @classmethod
    def steps(cls, kinds: Sequence[Any], trials: Any) -> Any:
        def step(t: int) -> None:
            trials.xs[:, t + 1], trials.costs[:, t] = trials.xs[:, t], 7.0

        return PythonCall({t: lambda t=t: step(t) for kind in kinds for t in kind.knots})  # type: ignore[misc]

    def terminal_expansion(self, evaluator: Evaluator) -> Any:
        raise NotImplementedError

    def terminal_step(self, trials: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def points(cls, kinds: Sequence[Any], trial: Any) -> list[Any]:
        def fill(t: int) -> None:
            x, state = trial.state(t), trial.evaluator.state
            trial.xs[t], trial.costs[t], trial.f[t + 1] = x, 7.0, state.difference(trial.state(t + 1), x)

        return [PythonCall({t: lambda t=t: fill(t) for kind in kinds for t in kind.knots})]  # type: ignore[misc]

    def terminal_point(self, trial: Any) -> Any:
        raise NotImplementedError

    def quasi_static(self, x: Any, values: Any) -> Any:
        return np.full(self.model.nu, 5.0)

    def cost_terms(self, xs: Any, us: Any, values: Any) -> Any:
        return {"standing": np.full(len(xs), 7.0)}

    def contact_forces(self, xs: Any, us: Any, values: Any) -> Any:
        return {"ground": np.full((len(xs), 3), 9.0)}


def test_a_custom_kind_of_knot_is_evaluated_like_the_others() -> None:
    """Nobody but `kinds_of` knows which kinds there are."""
    problem = trajopt.ShootingProblem(X0, [pendulum(), BlackBox(), Kick(), pendulum()], stack(control=False))
    plain = trajopt.ShootingProblem(X0, [pendulum(), BlackBox(), Kick(), pendulum()], stack(control=False))
    problem._kinds[1] = Standing(problem.kinds[1])
    xs, us = random_trajectory(problem)
    d, expected = problem.calc_diff(xs, us), plain.calc_diff(xs, us)
    np.testing.assert_array_equal(d.xnext[1], xs[1])
    np.testing.assert_array_equal(d.Fx[1], np.eye(2))
    np.testing.assert_array_equal(np.delete(d.Fx, 1, axis=0), np.delete(expected.Fx, 1, axis=0))
    assert d.costs[1] == 7.0
    reached = problem.rollout(us)
    np.testing.assert_array_equal(reached[1], reached[2])
    trial = LinearTrial(Evaluator(problem))
    trial.evaluator.xs[:], trial.evaluator.us[:] = problem.check_guess(xs, us)
    assert trial.go(1.0) == pytest.approx(d.cost, rel=1e-14)
    np.testing.assert_allclose(trial.f[1:], d.gaps[1:], rtol=0, atol=1e-14)
    assert problem.quasi_static(xs[:-1])[1] == 5.0
    terms, forces = trajopt.shooting.cost_terms(problem, xs, us), trajopt.shooting.contact_forces(problem, xs, us)
    np.testing.assert_array_equal(np.nan_to_num(terms["standing"]), [0, 7, 0, 0, 0])
    np.testing.assert_array_equal(forces["ground"][1], [9, 9, 9])


def test_results_belong_to_the_caller() -> None:
    """Neither a later evaluation nor writing into them changes what another call gave."""
    problem = mixed_problem()
    xs, us = random_trajectory(problem)
    first = problem.calc_diff(xs, us)
    kept = {name: getattr(first, name).copy() for name in vars(first) if name != "cost"}
    problem.calc_diff(*random_trajectory(problem, 5))
    for name, array in kept.items():
        np.testing.assert_array_equal(getattr(first, name), array, err_msg=name)
        getattr(first, name)[:] = np.nan
    again = problem.calc_diff(xs, us)
    for name, array in kept.items():
        np.testing.assert_array_equal(getattr(again, name), array, err_msg=name)
    guess = np.array(xs), np.zeros((problem.T, problem.nu))
    for ours, theirs in zip(problem.check_guess(*guess), guess):
        assert not np.shares_memory(ours, theirs)


@pytest.mark.parametrize("name", ["planar-2r", "drone", "ball"])  # lifts with blocks of 0, 6 and 3
def test_public_derivatives_have_all_entries(name: str) -> None:
    """Position rows of F and the upper triangle of H, which arrays of a solver lack; alone and beside others."""
    node = trajopt.IntegratedActionModelEuler(free_dynamics(name), dt=0.03)
    box, end = trajopt.ActionModelNumDiff(node), costs_of(name, controlled=False)
    for running in ([node] * 9, [node, box, node]):
        problem = trajopt.ShootingProblem(reference_of(name), running, end)
        xs, us = random_trajectory(problem)
        d, n = problem.calc_diff(xs, us), problem.state.ndx
        assert (Evaluator(problem).F.shape[1] == n // 2) == (box not in running)
        for t in (0, len(running) - 1):
            expected = alone(node, xs[t], us[t])
            for field in ("Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu"):
                assert_close(getattr(d, field)[t], getattr(expected, field), 1e-12, f"{field} of knot {t}")


def test_arrays_have_room_behind_them() -> None:
    """Reads of a whole vector may run past the end, also of an array without elements."""
    for shape in ((3, 4), (5, 0), (0, 3, 3)):
        array = padded(shape)
        assert array.shape == shape
        assert array.base.nbytes - array.nbytes >= 8 * 16  # type: ignore[union-attr]


@pytest.mark.parametrize("numbers", [[], [3], [2, 3, 4], [0, 3], [1, 3, 3], [4, 4]])
def test_an_index_of_knots_that_follow_one_another_is_a_slice(numbers: list[int]) -> None:
    index = index_of(numbers)
    np.testing.assert_array_equal(np.arange(7)[index], np.array(numbers, dtype=np.int64))
    assert isinstance(index, slice) is (numbers in ([3], [2, 3, 4]))
