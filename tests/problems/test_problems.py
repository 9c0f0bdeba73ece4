"""The ready problems: found by name, built lazily, solved by every solver with its default options."""

from __future__ import annotations

import dataclasses
import functools
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from trajopt import problems
from trajopt.errors import InvalidArgumentError, UnknownNameError, WrongCallError
from trajopt.problems import lqr, walk_freely
from trajopt.problems.cart_pole import DifferentialActionModelCartPole
from trajopt.problems.upright import ActivationModelUpright, upright_cost
from trajopt.solution import Solution
from trajopt.solvers import FDDPOptions, SolverAbstract, SolverDDP, SolverFDDP

LEGGED = [
    "biped-jump",
    "biped-walk",
    "humanoid-reach",
    "humanoid-taichi",
    "quadruped-bound",
    "quadruped-jump",
    "quadruped-pace",
    "quadruped-trot",
    "quadruped-walk",
]
PUBLISHED = [f"crocoddyl-{name}" for name in LEGGED if not name.startswith("humanoid")]
SMALL = ["cart-pole", "double-pendulum", "lqr", "pendulum", "unicycle"]
FAMILIES = sorted([*LEGGED, *PUBLISHED, *SMALL, "arm-reach", "arm-reach-crocoddyl", "arm-reach-seed"])
CONSTRAINED = [
    "arm-limits",
    "arm-spheres",
    "cart-pole-limits",
    "com-circle",
    "hermite-path",
    "lqr-bounds",
    "minimum-jerk",
    "parking",
    "parking-circles",
    "parking-wheels",
    "pendulum-limits",
    "quadrotor-obstacles",
]
"""Those with constraints, which are SolverSQP's: tests/problems/test_constrained.py."""

CLIMBS = ["quadruped-stairs"]
"""Those on terrain: tests/gaits/test_terrain.py."""

SIMULATED = ["block-on-incline", "cart-push", "hopper", "puck", "stand-up", "walk-freely"]
"""Those through contacts that are found: tests/problems/test_simulated.py."""

JUMPS = ["biped-jump", "quadruped-jump", "crocoddyl-biped-jump", "crocoddyl-quadruped-jump"]
"""FDDP solves them; to DDP, whose every trajectory is a rollout, the flight says little: it ends elsewhere or not."""

ARMS = ["ur10", "panda", "kinova", "xarm7", "z1", "planar-2r", "planar-3r"]
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in FAMILIES},
    **{robot: ("arm-reach", {"robot": robot}) for robot in ARMS},
    "arm-kinova": ("arm-reach-crocoddyl", {"robot": "kinova"}),
    "arm-benchmark": ("arm-reach-crocoddyl", {"regularization": 0.1}),
    "arm-seed-rk4": ("arm-reach-seed", {"integrator": "rk4"}),
    "unicycle-t200": ("unicycle", {"T": 200, "start": (1.0, 0.0, 0.0)}),
    "cart-pole-exact": ("cart-pole", {"hessian": "exact"}),
}


@functools.cache
def case_of(variant: str) -> problems.ProblemCase:
    """A case, built once for the tests that do not change it."""
    name, options = VARIANTS[variant]
    return problems.load(name, **options)


@functools.cache
def solution_of(variant: str, solver: type[SolverAbstract]) -> Solution:
    """Its solution from its guess with the solver's default options."""
    case = case_of(variant)
    return solver(case.problem).solve(case.xs, case.us)


def test_names() -> None:
    assert problems.names() == sorted([*FAMILIES, *CONSTRAINED, *SIMULATED, *CLIMBS])


@pytest.mark.parametrize("solver", [SolverFDDP, SolverDDP])
@pytest.mark.parametrize("variant", VARIANTS)
def test_default_options_solve_it(variant: str, solver: type[SolverAbstract]) -> None:
    if solver is SolverDDP and variant in JUMPS:
        pytest.skip("a jump, which asks for FDDP")
    solution = solution_of(variant, solver)
    assert solution.converged, solution
    assert solution.iterations <= 100
    np.testing.assert_allclose(solution.gaps(), 0.0, atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_case_s_solver_ends_at_the_reference_cost(variant: str) -> None:
    case = case_of(variant)
    if case.reference_cost is None:
        assert VARIANTS[variant][1].keys() - {"robot"}, "with the default options a cost is known"
    else:
        solution = case.solve()
        assert solution.cost == pytest.approx(case.reference_cost, rel=1e-6)
        assert case.reference_source


def test_a_case_solves_itself_from_its_guess_with_its_options_and_others() -> None:
    ready, costs = case_of("unicycle"), list[float]()
    us = np.full((ready.problem.T, ready.problem.nu), 0.3)
    xs = np.linspace(ready.problem.x0, 0.0 * ready.problem.x0, ready.problem.T + 1)
    case = dataclasses.replace(ready, xs=xs, us=us, options=FDDPOptions(step_lengths=(0.7, 0.35)))
    mine = case.solve(callbacks=[lambda record: costs.append(record.cost)], max_iterations=3)
    options = FDDPOptions(step_lengths=(0.7, 0.35), max_iterations=3)
    same = SolverFDDP(case.problem, options).solve(xs, us)
    np.testing.assert_array_equal(mine.us, same.us)
    assert costs == [record.cost for record in same.history]
    assert len(costs) == 3
    with pytest.raises(WrongCallError, match=r"unexpected argument 'max_iters' \(did you mean max_iterations"):
        case.solve(max_iters=3)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_solution_is_reported_in_words(variant: str) -> None:
    case = case_of(variant)
    words = case.report(solution_of(variant, SolverFDDP))
    assert words
    for key, value in words.items():
        assert key
        assert value
        assert "nan" not in value
    assert case.name == VARIANTS[variant][0]
    assert case.description.endswith(".")


@pytest.mark.parametrize("variant", ["arm-reach", *ARMS, "arm-reach-crocoddyl", "arm-kinova"])
def test_reported_distance_is_that_of_the_tool(variant: str) -> None:
    case, solution = case_of(variant), solution_of(variant, SolverFDDP)
    residual = case.problem.terminal.costs.terms[0].residual  # type: ignore[attr-defined]
    reference = case.problem.get_parameter("goal.reference")
    position = reference[:, 3] if reference.ndim == 2 else reference
    model = residual.state.model
    data = model.createData()
    pin.framesForwardKinematics(model, data, solution.xs[-1, : model.nq])
    distance = np.linalg.norm(data.oMf[residual.state.robot.frame_id(residual.frame)].translation - position)
    assert float(case.report(solution)["distance"].split()[0]) == pytest.approx(1e3 * distance, rel=6e-3)
    assert distance < 5e-3


def test_describe_agrees_with_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk_freely, "STAGE", 1)  # 300 iterations of its guess change neither name nor cost
    for name in problems.names():
        info = problems.describe(name)
        case = problems.load(name, **info.options)  # its defaults: a case that others would get without options
        assert info.name == case.name == name
        assert info.description.endswith(".")
        known = case.reference_cost  # None of a motion that is still getting cheaper where its solve ends
        assert info.reference_cost == (known if known is None else pytest.approx(known, rel=1e-12))
        assert info.reference_source == case.reference_source
    assert problems.describe("arm-reach").robots[0] == "ur5"
    assert problems.describe("lqr").options == {"nx": 8, "nu": 3, "T": 50, "seed": 0}


def test_a_reference_cost_is_dropped_where_it_does_not_hold() -> None:
    assert problems.load("unicycle", start=[-1, -1, 1]).reference_cost == problems.describe("unicycle").reference_cost
    changed = problems.load("unicycle", T=21)
    assert changed.reference_cost is None
    assert changed.reference_source == ""


@pytest.mark.parametrize("options", [{"T": 1}, {"T": 7, "nx": 3, "nu": 5, "seed": 4}, {"nx": 1, "nu": 1}])
def test_the_lqr_reference_holds_for_all_options(options: dict[str, Any]) -> None:
    case = problems.load("lqr", **options)
    solution = SolverFDDP(case.problem).solve()
    assert solution.cost == pytest.approx(case.reference_cost, rel=1e-9)


def test_the_lqr_reference_of_one_step_by_hand() -> None:
    """x⁺ = x + u + 1, cost ½ (x² + u²) + x₁²/2: u = -(x + 1)/2."""
    one, cost = np.eye(1), 0.5 * (9 + 4) + 0.5 * 4
    value = lqr.optimal_cost(
        np.array([3.0]), 1, A=one, B=one, Q=one, R=one, N=0 * one, f=np.ones(1), q=np.zeros(1), r=np.zeros(1)
    )
    assert value == pytest.approx(cost, rel=1e-14)


# Misuse


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: problems.load("arm-reech"),
            UnknownNameError,
            r"problem 'arm-reech'.*mean 'arm-reach'.*unicycle",
        ),
        (
            lambda: problems.describe("x"),
            UnknownNameError,
            r"problem 'x' not found.*arm-reach, arm-reach-crocoddyl, arm-reach-seed, ",
        ),
        (
            lambda: problems.load("arm-reach-crocoddyl", robot="panda"),
            UnknownNameError,
            r"arm-reach-crocoddyl: robot 'panda' not found.*kinova, talos_arm",
        ),
        (
            lambda: problems.load("quadruped-trot", robot="talos"),
            UnknownNameError,
            r"quadruped-trot: robot 'talos'.*a1, anymal, b1, go2, hyq, small-quadruped, solo12",
        ),
        (
            lambda: problems.load("quadruped-walk", robot="small-quadruped", mu=0.0),
            InvalidArgumentError,
            r"mu: expected a number > 0.*got 0",
        ),
        (
            lambda: problems.load("quadruped-walk", robot="small-quadruped", stride=0.1),
            UnknownNameError,
            r"quadruped-walk: option 'stride'.*step_length",
        ),
        (
            lambda: problems.load("humanoid-reach", limits="none"),
            UnknownNameError,
            r"limits: 'none' not found.*distance, joints",
        ),
        (
            lambda: problems.load("humanoid-reach", cone=-1),
            InvalidArgumentError,
            r"cone: expected a number >= 0, got -1",
        ),
        (lambda: problems.load("humanoid-taichi", knots=0), InvalidArgumentError, r"knots: expected an integer >= 1"),
        (
            lambda: problems.load("lqr", robot="ur5"),
            InvalidArgumentError,
            r"robot: expected None for lqr, which has its own model, got 'ur5'",
        ),
        (lambda: problems.load("unicycle", t=3), UnknownNameError, r"unicycle: option 't'.*T, dt, start, weights"),
        (
            lambda: problems.load("unicycle", start=(1, 2)),
            InvalidArgumentError,
            r"start: expected shape \(3,\), got \(2,\)",
        ),
        (lambda: problems.load("unicycle", dt=0.0), InvalidArgumentError, r"dt: expected a number > 0 \[s\], got 0"),
        (lambda: problems.load("arm-reach", T=0), InvalidArgumentError, r"T: expected an integer >= 1, got 0"),
        (lambda: problems.load("arm-reach", T=True), InvalidArgumentError, r"T: expected an integer >= 1, got True"),
        (lambda: problems.load("arm-reach", dt=-1), InvalidArgumentError, r"dt: expected a number > 0 \[s\], got -1"),
        (
            lambda: problems.load("arm-reach-crocoddyl", regularization=-1.0),
            InvalidArgumentError,
            r"regularization: expected a number >= 0, got -1",
        ),
        (
            lambda: problems.load("arm-reach-seed", integrator="rk2"),
            UnknownNameError,
            r"integrator 'rk2'.*euler, rk4",
        ),
        (lambda: problems.load("lqr", nu=0), InvalidArgumentError, r"nu: expected an integer >= 1, got 0"),
        (lambda: problems.load("lqr", seed=-1), InvalidArgumentError, r"seed: expected an integer >= 0, got -1"),
        (lambda: problems.load("cart-pole", hessian="gn"), UnknownNameError, r"hessian 'gn'.*exact, gauss-newton"),
        (lambda: problems.load("cart-pole", end=0.0), InvalidArgumentError, r"end: expected a number > 0, got 0"),
        (lambda: problems.load("pendulum", effort="x"), InvalidArgumentError, r"effort: expected a number, got 'x'"),
    ],
)
def test_misuse(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_names_and_descriptions_load_and_compile_nothing() -> None:
    """Names and descriptions need no robot package and compile nothing."""
    code = """
import sys
from trajopt import problems
from trajopt.kernels import compilations
assert [problems.describe(name).name for name in problems.names()] == problems.names()
loaded = {"example_robot_data", "matplotlib", "rich", "typer"} & set(sys.modules)
assert not loaded, loaded
assert compilations() == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_cases_that_need_no_robot_package() -> None:
    """The planar arms, and all families without a robot of example-robot-data, load where it is not installed."""
    code = """
import sys
sys.modules["example_robot_data"] = None
from trajopt import problems
from trajopt.errors import MissingDependencyError
for robot in ("planar-2r", "planar-3r"):
    problems.load("arm-reach", robot=robot)
problems.load("quadruped-trot", robot="small-quadruped")
problems.load("biped-walk", robot="small-biped")
for name in ("cart-pole", "lqr", "pendulum", "unicycle", "minimum-jerk", "parking-circles", "quadrotor-obstacles"):
    problems.load(name)
try:
    problems.load("arm-reach")
except MissingDependencyError as error:
    assert "pip install example-robot-data-loaders" in str(error), error
else:
    raise AssertionError("arm-reach loaded without its robot")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_two_cases_share_nothing() -> None:
    first, second = problems.load("unicycle"), problems.load("unicycle")
    first.problem.x0 = [5.0, 5.0, 5.0]
    first.problem.set_parameter("weights", [1.0, 1.0])
    np.testing.assert_array_equal(second.problem.x0, [-1.0, -1.0, 1.0])
    np.testing.assert_array_equal(second.problem.get_parameter("weights"), [10.0, 1.0])


@pytest.mark.parametrize("name", SMALL)
def test_problems_pickle(name: str) -> None:
    case = problems.load(name)
    copy = pickle.loads(pickle.dumps(case.problem))
    rng = np.random.default_rng(0)
    xs, us = rng.normal(size=(copy.T + 1, copy.state.nx)), rng.normal(size=(copy.T, copy.nu))
    np.testing.assert_array_equal(copy.calc(xs, us).costs, case.problem.calc(xs, us).costs)


# Models of this room


def test_cart_pole_moves_as_the_built_in_robot() -> None:
    """Pinocchio's forward dynamics of the robot `cart-pole`, whose pole hangs at 0: θ = π + q."""
    state = trajopt.StateVector(4)
    model = DifferentialActionModelCartPole(trajopt.CostStack(state))
    robot = trajopt.load_robot("cart-pole").model
    data, ours, rng = robot.createData(), model.create_data(), np.random.default_rng(1)
    for _ in range(20):
        y, angle, force, *rates = rng.normal(size=5) * [1.0, 2.0, 5.0, 2.0, 2.0]
        model.calc(ours, np.array([y, angle, *rates]), np.array([force]))
        theirs = pin.aba(robot, data, np.array([y, np.pi + angle]), np.array(rates), np.array([force, 0.0]))
        np.testing.assert_allclose(ours.xnext, [*rates, *theirs], rtol=1e-11, atol=1e-11)


def test_cart_pole_masses_are_parameters() -> None:
    heavy = problems.load("cart-pole").problem
    heavy.set_parameter("cart_mass", 10.0)
    states, force = np.zeros((51, 4)), np.full((50, 1), 2.0)
    assert heavy.calc(states, force).xnext[0, 2] == pytest.approx(0.05 * 2.0 / 10.0)
    assert problems.load("cart-pole").problem.calc(states, force).xnext[0, 2] == pytest.approx(0.05 * 2.0)


@pytest.mark.parametrize("name", ["cart-pole", "double-pendulum"])
def test_both_hessians_belong_to_one_cost(name: str) -> None:
    exact, approximate = (problems.load(name, hessian=hessian).problem for hessian in ("exact", "gauss-newton"))
    rng = np.random.default_rng(2)
    xs, us = rng.normal(size=(exact.T + 1, 4)), rng.normal(size=(exact.T, 1))
    a, b = exact.calc_diff(xs, us), approximate.calc_diff(xs, us)
    np.testing.assert_allclose(a.costs, b.costs, rtol=1e-12)
    np.testing.assert_allclose(a.Lx, b.Lx, rtol=1e-9, atol=1e-12)
    angle = {"cart-pole": 1, "double-pendulum": 0}[name]
    np.testing.assert_allclose(
        a.Lxx[:, angle, angle], np.cos(xs[:, angle]) * b.Lxx[:, angle, angle], rtol=1e-9, atol=1e-12
    )


def test_exact_hessian_by_central_differences() -> None:
    problem = problems.load("double-pendulum", hessian="exact").problem
    rng, step = np.random.default_rng(3), np.finfo(float).eps ** (1 / 3)
    xs, us = rng.normal(size=(problem.T + 1, 4)), np.zeros((problem.T, 1))
    expected = problem.calc_diff(xs, us).Lxx
    for i in range(4):
        shift = step * np.eye(4)[i]
        column = (problem.calc_diff(xs + shift, us).Lx - problem.calc_diff(xs - shift, us).Lx) / (2 * step)
        np.testing.assert_allclose(expected[:, :, i], column, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_upright_cost_refuses_misuse() -> None:
    state = trajopt.StateVector(2)
    with pytest.raises(InvalidArgumentError, match=r"weights: expected weights >= 0, got \[-1"):
        ActivationModelUpright([-1.0, 1.0], (0,))
    with pytest.raises(
        InvalidArgumentError, match=r"weights: expected 2 weights, one for each element of the residual, got 3"
    ):
        ActivationModelUpright([1.0, 1.0, 1.0], (0,)).check_size(2)
    with pytest.raises(UnknownNameError, match=r"hessian 'newton'"):
        upright_cost(state, (1.0, 1.0), (0,), "newton")


@pytest.mark.parametrize("name", ["quadruped-trot", "arm-reach"])
def test_cases_and_problems_print_in_a_few_lines(name: str) -> None:
    case = problems.load(name)
    assert len(repr(case.problem)) < 400
    assert repr(case).startswith(f"ProblemCase({name}: {case.description} ShootingProblem(T={case.problem.T}, ")
    assert len(repr(case)) < 600
    assert all(term.name in repr(case.problem) for term in case.problem.terminal.model_parts.terms)
