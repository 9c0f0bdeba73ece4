"""Gaits solved: Crocoddyl's costs and iterations, forces, and feet that come down where they are to be."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.gait_robots import FEET, models_of, robot_of, stance_of
from trajopt import gaits
from trajopt.solvers import FDDPOptions, SolverFDDP


def solved(
    name: str, schedule: gaits.ContactSchedule, x: Any = None, *, tolerance: float = 1e-9, first: float = 1e-9
) -> trajopt.Solution:
    """The solution from the standing guess, as Crocoddyl's FDDP finds it."""
    problem = models_of(name).problem(schedule, x)
    options = dataclasses.replace(FDDPOptions.crocoddyl(initial_regularization=first), tolerance=tolerance)
    return SolverFDDP(problem, options).solve(*gaits.gait_guess(problem, schedule))


def test_anymal_walks_trots_paces_bounds_and_jumps_as_with_crocoddyl() -> None:
    """Each gait from the state in which the last one ends, as in the example quadrupedal_gaits_fwddyn."""
    robot, feet, x = robot_of("anymal"), FEET["anymal"], None
    expected: list[tuple[str, dict[str, Any], int, float]] = [
        ("walk", {}, 12, 588.6368067889),
        ("trot", {"first_step": "full"}, 9, 427.3296136241),
        ("pace", {"first_step": "full"}, 13, 801.8345491404),
        ("bound", {}, 15, 2068.3911995837),
        ("jump", {"ground": 0.0}, 17, 3058.7404777357),
    ]
    for gait, options, iterations, cost in expected:
        schedule = getattr(gaits, f"quadruped_{gait}")(gaits.Stance.of(robot, feet, x), **options)
        solution = solved("anymal", schedule, x)
        assert solution.converged
        assert (solution.iterations, solution.cost) == (iterations, pytest.approx(cost, rel=1e-9)), gait
        x = solution.xs[-1]


def test_talos_walks_and_jumps_as_with_crocoddyl() -> None:
    """As in the example bipedal_gaits_fwddyn: soles turn back to the world's axes with each gait."""
    robot, feet, x = robot_of("talos_legs"), FEET["talos_legs"], None
    expected: list[tuple[str, dict[str, Any], int, float]] = [
        ("walk", {}, 15, 5111.9644791342),
        ("jump", {"ground": 0.0}, 36, 22599.2405479250),
        ("walk", {"first_step": "full", "support_knots": 2}, 17, 13200.0717700455),
    ]
    for gait, options, iterations, cost in expected:
        stance = gaits.Stance.of(robot, feet, x, soles=True, heading=0.0)
        solution = solved("talos_legs", getattr(gaits, f"biped_{gait}")(stance, **options), x, tolerance=1e-7)
        assert solution.converged
        assert (solution.iterations, solution.cost) == (iterations, pytest.approx(cost, rel=1e-9)), gait
        x = solution.xs[-1]


GOLDENS: dict[str, tuple[str, gaits.ContactSchedule, float, int, float]] = {
    "hyq walk": ("hyq", gaits.quadruped_walk(stance_of("hyq"), step_height=0.25), 0.1, 13, 1596.818335603),
    "hyq trot": ("hyq", gaits.quadruped_trot(stance_of("hyq"), step_height=0.2), 0.1, 8, 864.1027376813),
    "anymal com": ("anymal", gaits.quadruped_com_shift(stance_of("anymal")), 1e-9, 10, 109.1547328662),
    "talos benchmark": (
        "talos_legs",
        gaits.biped_walk(stance_of("talos_legs"), dt=0.0375, step_knots=25, support_knots=1),
        0.1,
        12,
        5195.698697658,
    ),
}


@pytest.mark.parametrize("name", GOLDENS)
def test_the_cost_that_crocoddyl_finds(name: str) -> None:
    robot, schedule, regularization, iterations, cost = GOLDENS[name]
    solution = solved(robot, schedule, first=regularization)
    assert solution.converged
    assert (solution.iterations, solution.cost) == (iterations, pytest.approx(cost, rel=1e-9))


def test_forces_are_zero_in_the_air_and_carry_the_robot() -> None:
    schedule = gaits.quadruped_trot(stance_of("anymal"))
    solution = solved("anymal", schedule)
    forces, continuous = solution.contact_forces(), ~schedule.touchdowns[:-1]
    weight = 9.81 * sum(inertia.mass for inertia in robot_of("anymal").model.inertias)
    total = np.zeros(schedule.T)
    for i, foot in enumerate(FEET["anymal"]):
        standing = schedule.active[:-1, i]
        assert np.all(forces[foot][~standing & continuous] == 0.0)
        assert np.all(forces[foot][standing & continuous, 2] > 0.0)
        total += np.where(continuous, np.nan_to_num(forces[foot][:, 2]), 0.0)
    assert total[continuous].mean() == pytest.approx(weight, rel=0.05)


def check_landed(robot: str, schedule: gaits.ContactSchedule) -> None:
    """Solves a gait with the default options; at its end the feet are on their footholds."""
    problem = gaits.gait_problem(robot_of(robot), schedule)
    solution = SolverFDDP(problem).solve(*gaits.gait_guess(problem, schedule))
    assert solution.converged
    assert solution.iterations <= 30
    reached = gaits.Stance.of(robot_of(robot), FEET[robot], solution.xs[-1])
    for foot, place in schedule.end.feet.items():
        np.testing.assert_allclose(reached.feet[foot].position, place.position, atol=1e-3)


def test_gaits_in_a_row_are_one_problem() -> None:
    trot = gaits.quadruped_trot(stance_of("anymal"), profile="smooth")
    walk = gaits.quadruped_walk(trot.end, profile="smooth", first_step="full")
    check_landed("anymal", trot + walk)


def test_feet_land_without_impulses() -> None:
    schedule = gaits.biped_walk(
        stance_of("bolt"),
        step_length=0.1,
        step_height=0.05,
        dt=0.01,
        step_knots=25,
        support_knots=2,
        final_knots=2,
        profile="smooth",
        impulse=False,
    )
    assert not schedule.touchdowns.any()
    check_landed("bolt", schedule)


def test_the_example_in_the_docstring() -> None:
    """A trot for a robot that nobody tuned anything for, in fewer than 15 lines; then another gait, in two ways."""
    first, together, separate = re.findall(r"```python\n(.*?)```", gaits.__doc__, re.DOTALL)
    assert len([line for line in first.splitlines() if line.strip()]) < 15
    names: dict[str, Any] = {}
    exec(first, names)
    solution = names["solution"]
    assert solution.converged
    assert np.ptp(solution.xs[:, 0]) > 0.05  # it moves ahead
    exec(together, names)
    assert names["problem"].T == names["trot"].T + names["walk"].T + 1
    exec(separate, names)
    np.testing.assert_array_equal(names["problem"].x0, solution.xs[-1])
