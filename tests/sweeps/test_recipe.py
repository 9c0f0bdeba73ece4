"""Recipes: small, equal for equal problems, refused where workers could not build them."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.sweeps import builders
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.solvers import FDDPOptions, SolverFDDP, SQPOptions
from trajopt.sweeps import Recipe
from trajopt.sweeps.fingerprint import check_unchanged, fingerprint


def arm(**options: Any) -> trajopt.problems.ProblemCase:
    return trajopt.problems.load("arm-reach", **builders.ARM, **options)


def test_a_recipe_is_small_and_comes_back_from_its_text() -> None:
    recipe = Recipe(
        problem="arm-reach", options={"target": np.array([0.5, 0.0, 0.5]), "T": np.int64(20)}, solver="SolverSQP"
    )
    assert len(pickle.dumps(recipe)) < 300
    assert pickle.loads(pickle.dumps(recipe)) == recipe == Recipe.read(recipe.text)
    assert recipe.options == {"target": (0.5, 0.0, 0.5), "T": 20}


@pytest.mark.parametrize("changed", [{}, {"options": FDDPOptions(max_iterations=7, step_lengths=(1.0, 0.3))}])
def test_a_case_is_built_as_it_is(changed: dict[str, Any]) -> None:
    case = dataclasses.replace(arm(target=(0.5, 0.0, 0.5)), **changed)
    recipe = Recipe.of(case)
    made = Recipe.read(recipe.text).build()
    check_unchanged(case, made)
    assert made.solver.options == case.options
    assert type(made.solver) is case.solver
    assert made.solver.problem is not case.problem


def test_a_case_that_changed_is_refused_and_the_message_names_the_change() -> None:
    case = arm()
    made = Recipe.of(case).build()
    case.problem.set_parameter("goal.weight", 3.0)
    with pytest.raises(InvalidArgumentError, match=r"got one whose goal\.weight changed; make that a parameter"):
        check_unchanged(case, made)
    case = arm()
    case.problem.x0 = case.problem.x0 + 0.1
    with pytest.raises(InvalidArgumentError, match="one whose x0 changed"):
        check_unchanged(case, made)
    other = dataclasses.replace(arm(), problem=arm(dt=0.02).problem)
    with pytest.raises(InvalidArgumentError, match="one whose dt changed"):
        check_unchanged(other, made)
    guess = dataclasses.replace(arm(), us=np.ones((20, 2)))
    with pytest.raises(InvalidArgumentError, match="one whose us changed"):
        check_unchanged(guess, made)


def test_a_case_of_a_robot_without_a_name_or_file_is_refused() -> None:
    case = trajopt.problems.load("arm-reach", robot=trajopt.load_robot("planar-2r"))
    with pytest.raises(
        InvalidArgumentError, match=r"case: expected a case whose robot has a name or a file, .* got Robot"
    ):
        Recipe.of(case)


def test_functions_of_modules() -> None:
    assert Recipe.of(builders.arm) == Recipe(problem="tests.sweeps.builders:arm")
    case = Recipe(problem="tests.sweeps.builders:arm", solver_options={"max_iterations": 5}).build()
    assert case.solver.options == FDDPOptions(max_iterations=5)
    assert isinstance(Recipe.of(builders.solver).build().solver, SolverFDDP)
    bare = Recipe(problem="tests.sweeps.builders:bare_problem", solver="SolverSQP").build()
    assert bare.solver.options == SQPOptions()
    for problem, message in (
        ("bare_problem", r'pass Recipe\(problem="tests.sweeps.builders:bare_problem", solver="SolverFDDP"\)$'),
        ("nothing", "expected .* to return a ProblemCase, a solver or a ShootingProblem, got NoneType"),
        ("absent", "expected a function that can be imported .* no attribute 'absent'"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            Recipe(problem=f"tests.sweeps.builders:{problem}").build()
    for wrong, options in (
        (":arm", {}),
        ("tests.sweeps.builders:ARM", {}),
        ("tests.sweeps.builders:arm", {"speed": 1}),
    ):
        with pytest.raises(InvalidArgumentError, match="a function that can be imported and takes the options, got"):
            Recipe(problem=wrong, options=options).build()


def test_arguments_of_a_function_count_as_contents_do() -> None:
    first, second = (
        fingerprint(Recipe(problem="tests.sweeps.builders:arm", options={"velocity": w}).build()) for w in (0.1, 0.2)
    )
    assert first != second
    assert first == fingerprint(Recipe(problem="tests.sweeps.builders:arm", options={"velocity": 0.1}).build())


def test_expressions_count_beside_values() -> None:
    reaches = [
        Recipe(problem="arm-reach", options={"frame": f, "target": (0.4, 0.3, 0.5)}) for f in ("tool0", "ee_link")
    ]
    one, other = (each.build() for each in reaches)
    assert one.solver.problem.parameters.keys() == other.solver.problem.parameters.keys()
    np.testing.assert_array_equal(one.solver.problem.x0, other.solver.problem.x0)
    assert fingerprint(one) != fingerprint(other)


def test_what_workers_cannot_build_is_refused() -> None:
    def inside() -> None: ...

    inside.__module__ = "__main__"
    built = dataclasses.replace(arm(), arguments=None)
    for thing, message in (
        (lambda: None, "a function that workers can import, .* without an importable name"),
        (inside, "in the main script; move it to a module"),
        (arm().problem, "pass a function in a module that returns a ProblemCase or a solver"),
        (built, "that was built otherwise; write a function"),
        (SolverFDDP, "expected a ready problem or its name"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            Recipe.of(thing)
    for wrong, error, message in (
        ({"problem": "arm-reech"}, UnknownNameError, "arm-reach"),
        ({"problem": "arm-reach", "solver": "SolverFDP"}, UnknownNameError, "SolverFDDP"),
        ({"problem": "arm-reach", "options": {"target": object()}}, InvalidArgumentError, "target: expected numbers"),
        ({"problem": "a:b", "robot": "ur5"}, InvalidArgumentError, "pass it in options"),
    ):
        with pytest.raises(error, match=message):
            Recipe(**wrong)
