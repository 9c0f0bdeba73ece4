"""Next states that a black box does not set, or sets to no number, and slips while a solve looks for its guess."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from trajopt.actions import ActionData, ActionModelAbstract
from trajopt.errors import ModelEvaluationError
from trajopt.shooting import ShootingProblem
from trajopt.solvers import SolverAbstract, SolverFDDP, SolverSQP

Reals = npt.NDArray[np.float64]


class Mass(ActionModelAbstract):
    """A point mass, of which calc sets the elements `sets` of its next state, and none beyond |u| = `most`."""

    def __init__(self, sets: Sequence[int] = (0, 1), most: float = np.inf) -> None:
        super().__init__(trajopt.StateVector(2), 1)
        self.sets, self.most = list(sets), most

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        data.cost = float(x @ x) if u is None else 0.01 * float(u @ u)
        if u is not None:
            after = np.array([x[0] + 0.1 * x[1], x[1] + 0.1 * u[0]]) if abs(u[0]) <= self.most else [np.nan, np.inf]
            for i in self.sets:
                data.xnext[i] = after[i]


class MassWithDerivatives(Mass):
    """The same, with derivatives."""

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        data.Lx, data.Lxx = 2 * x, 2 * np.eye(2)
        if u is not None:
            data.Fx, data.Fu = [[1.0, 0.1], [0.0, 1.0]], [[0.0], [0.1]]
            data.Lx, data.Lxx, data.Lu, data.Luu = np.zeros(2), np.zeros((2, 2)), 0.02 * u, [[0.02]]


@pytest.mark.parametrize("differences", [False, True])
@pytest.mark.parametrize(
    ("sets", "what"), [((), r"data\.xnext; set it"), ((0,), r"data\.xnext\[1\]; set all 2 elements")]
)
@pytest.mark.parametrize("guess", [None, np.zeros((3, 1))], ids=["at rest", "rolled out"])
def test_a_next_state_that_is_not_set_is_reported(
    differences: bool, sets: Sequence[int], what: str, guess: Reals | None
) -> None:
    model: ActionModelAbstract = MassWithDerivatives(sets)
    model = trajopt.ActionModelNumDiff(model) if differences else model
    name = r"ActionModelNumDiff\(MassWithDerivatives\)" if differences else "MassWithDerivatives"
    with pytest.raises(ModelEvaluationError, match=rf"^knot 0: {name}\.calc has not set {what}"):
        SolverFDDP(ShootingProblem([1.0, 1.0], [model] * 3, model)).solve(us=guess)


def test_a_next_state_is_forgotten_beside_a_point_too() -> None:
    """Nothing of an earlier call is left in the data of the next one."""

    class Edge(Mass):
        def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
            super().calc(data, x, u)
            if u is not None and x[0] > 1.0:
                data.forget()
                data.cost = 0.0

    model = trajopt.ActionModelNumDiff(Edge())
    problem = ShootingProblem([1.0, 0.0], [model] * 2, model)
    with pytest.raises(
        ModelEvaluationError, match=r"^knot 0: ActionModelNumDiff\(Edge\)\.calc has not set data\.xnext"
    ):
        problem.calc_diff(np.tile([1.0, 0.0], (3, 1)), np.zeros((2, 1)))


@pytest.mark.parametrize("differences", [False, True])
def test_a_next_state_that_is_not_finite_is_reported(differences: bool) -> None:
    model: ActionModelAbstract = MassWithDerivatives(most=1.0)
    model = trajopt.ActionModelNumDiff(model) if differences else model
    problem = ShootingProblem([1.0, 1.0], [model] * 3, model)
    with pytest.raises(ModelEvaluationError, match=r"^knot 1: .*\.calc set data\.xnext to a value that is not finite$"):
        problem.calc(np.zeros((4, 2)), [[0.0], [2.0], [0.0]])


def test_numerical_differences_report_a_nan_beside_the_point() -> None:
    model = trajopt.ActionModelNumDiff(Mass(most=1.0))
    problem = ShootingProblem([1.0, 1.0], [model] * 3, model)
    with pytest.raises(ModelEvaluationError, match=r"^knot 1: .*\(Mass\)\.calc set data\.xnext .* not finite near x ="):
        problem.calc_diff(np.zeros((4, 2)), [[0.0], [1.0], [0.0]])


@pytest.mark.parametrize("solver_type", [SolverFDDP, SolverSQP])
def test_a_trial_without_a_next_state_is_refused(solver_type: type[SolverAbstract[Any]]) -> None:
    """The first step, to the optimum without limits, asks for |u| = 4.4; beyond 3 there is no next state."""
    model = MassWithDerivatives(most=3.0)
    problem = ShootingProblem([1.0, 1.0], [model] * 5, model)
    solution = solver_type(problem).solve(us=np.zeros((5, 1)))
    assert 0.0 < solution.history[0].step_length < 1.0
    assert np.isfinite(solution.cost)
    assert 2.0 < np.abs(solution.us).max() <= 3.0


class Misspelt(Mass):
    """A black box with a slip in one of its methods."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        if self.method == "calc":
            data.cost = velo  # type: ignore[name-defined]  # noqa: F821
        super().calc(data, x, u)

    def quasi_static(self, x: Reals, parameters: Any = None) -> Reals:
        if self.method == "quasi_static":
            raise KeyError("table")
        return super().quasi_static(x, parameters)


@pytest.mark.parametrize("differences", [False, True])
def test_a_slip_during_the_default_guess_names_class_and_method(differences: bool) -> None:
    model: ActionModelAbstract = Misspelt("calc")
    model = trajopt.ActionModelNumDiff(model) if differences else model
    name = r"ActionModelNumDiff\(Misspelt\)" if differences else "Misspelt"
    with pytest.raises(ModelEvaluationError, match=rf"^knot 0: {name}\.calc raised NameError: .*'velo'.*defined$"):
        SolverFDDP(ShootingProblem([1.0, 1.0], [model] * 3, model)).solve()


def test_only_a_control_at_rest_that_is_missing_asks_for_quasi_static() -> None:
    for model, says in (
        (Misspelt("quasi_static"), r"Misspelt\.quasi_static, .*, raised KeyError: 'table'$"),
        (Mass(), r"UnsupportedOperationError: Mass has no derivatives.*; implement quasi_static, or"),
    ):
        problem = ShootingProblem([1.0, 1.0], [model] * 3, model)
        with pytest.raises(ModelEvaluationError, match=f"^knot 0: .*{says}"):
            problem.quasi_static(np.zeros((3, 2)))
