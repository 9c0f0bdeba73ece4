"""What solvers refuse: wrong options, wrong guesses; and what a solve starts from without a guess."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from trajopt import problems
from trajopt.errors import InvalidArgumentError, ModelEvaluationError
from trajopt.shooting import ShootingProblem
from trajopt.solvers import DDPOptions, FDDPOptions, SolverAbstract, SolverDDP, SolverFDDP, SolverSQP, SQPOptions

Reals = npt.NDArray[np.float64]


def unicycle() -> ShootingProblem:
    return problems.load("unicycle").problem


def test_options_are_frozen_and_keyword_only() -> None:
    for options in (DDPOptions, FDDPOptions):
        with pytest.raises(dataclasses.FrozenInstanceError):
            options().max_iterations = 3  # type: ignore[misc]
        with pytest.raises(TypeError, match="positional"):
            options(3)  # type: ignore[misc]
        with pytest.raises(TypeError, match="max_iteration"):
            options(max_iteration=3)  # type: ignore[call-arg]


NON_NEGATIVE = [
    "tolerance",
    "relative_tolerance",
    "acceptance",
    "gradient_tolerance",
    "rollout_margin",
    "initial_regularization",
    "bad_step",
]
POSITIVE = ["min_regularization", "max_regularization", "good_step", "time_limit"]
FACTORS = ["regularization_increase", "regularization_decrease"]
WRONG: list[tuple[str, Any, str]] = [
    *((name, value, r"expected a number >= 0, got") for name in NON_NEGATIVE for value in (-1e-9, np.nan, np.inf, "1")),
    *((name, value, r"expected a number > 0, got") for name in POSITIVE for value in (0.0, -1.0, np.nan, True)),
    *((name, value, r"expected a number > 1, got") for name in FACTORS for value in (1.0, 0.5, np.inf, None)),
    *(("max_iterations", value, r"expected an integer >= 1, got") for value in (0, -1, 2.0, True, "9", None)),
    *(("regularize_value", value, r"expected True or False, got") for value in (1, None, "yes")),
    *(("rollout_on_failure", value, r"expected True or False, got") for value in (0, None)),
    *(("confirm_gradient", value, r"expected True or False, got") for value in (1, "no")),
    *(("relative_regularization", value, r"expected True or False, got") for value in (1.0, None)),
    *(("step_growth", value, r"expected a number >= 1, got") for value in (0.5, np.nan, (2.0,))),
    *(
        ("step_lengths", value, r"expected a tuple of decreasing numbers in \(0, 1\], got")
        for value in ((), (2.0,), (0.5, 0.0), (0.5, 0.5), (0.5, 1.0), (np.nan,), (1.0, np.nan), [1.0], 1.0, ("1",))
    ),
    ("min_regularization", 1e10, r"expected <= max_regularization = 1000000000.0, got 10000000000.0"),
    ("initial_regularization", 1e10, r"expected <= max_regularization = 1000000000.0, got 10000000000.0"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG, ids=lambda v: str(v)[:24])
@pytest.mark.parametrize("options", [DDPOptions, FDDPOptions])
def test_every_wrong_option_is_refused(options: type[DDPOptions], name: str, value: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{name}: {message}") as caught:
        options(**{name: value})
    assert repr(value) in str(caught.value)


def test_negative_acceptance_is_an_option_of_fddp_only() -> None:
    with pytest.raises(InvalidArgumentError, match=r"^negative_acceptance: expected a number >= 0, got -1"):
        FDDPOptions(negative_acceptance=-1)
    with pytest.raises(TypeError, match="negative_acceptance"):
        DDPOptions(negative_acceptance=1.0)  # type: ignore[call-arg]


def test_solvers_refuse_options_and_problems_of_other_types() -> None:
    problem: Any = unicycle()
    with pytest.raises(InvalidArgumentError, match="options: SolverFDDP takes FDDPOptions, got DDPOptions"):
        SolverFDDP(problem, DDPOptions())
    with pytest.raises(InvalidArgumentError, match="problem: .* got NoneType; a Solution from a file has none"):
        SolverDDP(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="problem: expected a ShootingProblem, got ActionModelUnicycle"):
        SolverDDP(problem.terminal)
    with pytest.raises(
        InvalidArgumentError, match="callbacks: expected functions of an iteration's record, or .*, got 'verbose'"
    ):
        SolverDDP(problem, callbacks=["verbose"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="abstract"):
        SolverAbstract(problem)  # type: ignore[abstract]


def test_crocoddyl_s_options() -> None:
    """Section 1.6 of the reference: th_stop, th_acceptStep, th_grad, alphas, reg_*, th_stepDec, th_stepInc."""
    for options in (DDPOptions, FDDPOptions):
        o = options.crocoddyl()
        assert (o.tolerance, o.relative_tolerance, o.acceptance, o.gradient_tolerance) == (1e-9, 0.0, 0.1, 1e-12)
        assert o.step_lengths == tuple(2.0**-i for i in range(10))
        assert (o.initial_regularization, o.min_regularization, o.max_regularization) == (1e-9, 1e-9, 1e9)
        assert (o.regularization_increase, o.regularization_decrease) == (10.0, 10.0)
        assert (o.confirm_gradient, o.step_growth, o.relative_regularization) == (False, 1.0, False)
        assert (o.good_step, o.bad_step, o.regularize_value, o.rollout_on_failure) == (0.5, 0.01, True, False)
        assert options.crocoddyl(max_iterations=7, initial_regularization=0.1).max_iterations == 7
    assert FDDPOptions.crocoddyl().negative_acceptance == 2.0


def test_restart_is_a_number_of_iterations() -> None:
    assert "restart=25" in repr(SQPOptions())
    assert repr(SQPOptions(restart=np.int64(7))).count("restart=7,")
    for wrong in (2.5, 0, True):
        with pytest.raises(InvalidArgumentError, match="^restart: expected an integer >= 1, got"):
            SQPOptions(restart=wrong)  # type: ignore[arg-type]


# Guesses


GUESSES: list[tuple[Any, Any, str]] = [
    (np.zeros((20, 3)), None, r"xs: expected 21 states \(T \+ 1\), got 20"),
    (np.zeros((22, 3)), None, r"xs: expected 2[01] states .*, got 2[12]"),
    (np.zeros((21, 4)), np.zeros((20, 2)), r"xs\[0\]: expected shape \(3,\), got \(4,\)"),
    (None, np.zeros((19, 2)), r"us: expected 20 controls \(T\), got 19"),
    (None, np.zeros((20, 3)), r"us\[0\]: expected shape \(2,\), got \(3,\)"),
    (None, [np.zeros(2)] * 7 + [np.full(2, np.nan)] + [np.zeros(2)] * 12, r"us\[7\]: expected finite numbers, got nan"),
    ([np.zeros(3)] * 20 + [np.full(3, np.inf)], np.zeros((20, 2)), r"xs\[20\]: expected finite"),
    ([np.zeros(3)] * 20 + [["a", "b", "c"]], np.zeros((20, 2)), r"xs\[20\]: expected "),
]


@pytest.mark.parametrize(("xs", "us", "message"), GUESSES)
def test_wrong_guesses_are_refused(
    solver: type[SolverAbstract],
    options: type[DDPOptions],
    xs: Any,
    us: Any,
    message: str,
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        solver(unicycle()).solve(xs, us)


@pytest.mark.parametrize("kind", [SolverDDP, SolverFDDP, SolverSQP])
def test_controls_whose_rollout_diverges_are_refused_in_a_short_sentence_with_the_way_out(
    kind: type[SolverAbstract],
) -> None:
    """All solvers refuse the same, and take the same controls with states beside them."""
    problem = problems.load("arm-reach").problem
    us = 1e4 * np.random.default_rng(0).standard_normal((problem.T, problem.nu))  # [N m]
    solver = kind(problem, kind.options_type(max_iterations=2))
    with pytest.raises(
        ModelEvaluationError, match=r"knot 11: .*\(12 numbers, the largest v:wrist_3_joint = 9"
    ) as raised:
        solver.solve(us=us)
    assert str(raised.value).endswith("or pass states as well to a solver: solve(xs, us)")
    assert len(str(raised.value)) < 400
    assert solver.solve(np.tile(problem.x0, (problem.T + 1, 1)), us).iterations <= 2


def test_solving_with_a_class_says_to_make_a_solver() -> None:
    case = problems.load("lqr")
    with pytest.raises(
        InvalidArgumentError, match=r"solve: expected a solver object, got .*case\.solve\(\) for a ready problem"
    ):
        case.solver.solve(np.zeros((2, 1)), case.us)  # type: ignore[arg-type]


def test_a_guess_with_a_rotation_that_is_not_normalised_is_refused() -> None:
    problem = problems.load("arm-reach-crocoddyl", robot="kinova").problem
    xs = np.tile(problem.x0, (problem.T + 1, 1))
    xs[3, :2] *= 1.1
    with pytest.raises(InvalidArgumentError, match=r"xs\[3\].*norm"):
        problem.check_guess(xs, np.zeros((problem.T, problem.nu)))


def test_lists_are_fine_and_no_guess_is_changed(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    problem, rng = unicycle(), np.random.default_rng(0)
    xs, us = rng.normal(size=(21, 3)), rng.normal(size=(20, 2))
    kept = xs.copy(), us.copy()
    one = solver(problem).solve(xs, us)
    two = solver(problem).solve([list(x) for x in xs], [tuple(u) for u in us])
    np.testing.assert_array_equal(one.xs, two.xs)
    np.testing.assert_array_equal(xs, kept[0])
    np.testing.assert_array_equal(us, kept[1])


def test_the_default_guess_is_x0_with_quasi_static_controls(
    solver: type[SolverAbstract], options: type[DDPOptions]
) -> None:
    """States are x0 everywhere, controls quasi-static; given controls alone are rolled out."""
    problem, one = problems.load("pendulum", start=(0.5, 0.0)).problem, options(max_iterations=1, step_growth=1.0)
    xs = np.tile(problem.x0, (problem.T + 1, 1))
    us = np.full((problem.T, 1), 9.81 * 0.5 * np.sin(0.5))  # m g l sin q [N m]
    plain, explicit = solver(problem, one).solve(), solver(problem, one).solve(xs, us)
    np.testing.assert_allclose(plain.us, explicit.us, rtol=1e-9)
    assert plain.history[0].gap_norm < 1e-12
    rolled, stated = solver(problem, one).solve(us=0 * us), solver(problem, one).solve(problem.rollout(0 * us), 0 * us)
    assert rolled.history[0].feasible
    np.testing.assert_allclose(rolled.us, stated.us, rtol=0, atol=1e-12)


def test_controls_alone_are_a_feasible_guess(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    """From the optimum one iteration suffices; states that are not known to be a rollout take a step first."""
    problem = unicycle()
    optimum = solver(problem, options.crocoddyl()).solve()
    assert solver(problem, options.crocoddyl()).solve(us=optimum.us).iterations == 1
    assert solver(problem, options.crocoddyl()).solve(optimum.xs, optimum.us, is_feasible=True).iterations == 1
    assert solver(problem, options.crocoddyl()).solve(optimum.xs, optimum.us).iterations == 2
