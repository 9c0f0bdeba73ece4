"""Gaits solved: forces, and feet that come down where they are to be; test_parity_gaits.py compares with Crocoddyl."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.support.gait_robots import FEET, models_of, robot_of, stance_of
from trajopt import gaits
from trajopt.solvers import SolverFDDP


def test_forces_are_zero_in_the_air_and_carry_the_robot() -> None:
    schedule = gaits.quadruped_trot(stance_of("anymal"))
    problem = models_of("anymal").problem(schedule)
    solution = SolverFDDP(problem).solve(*gaits.gait_guess(problem, schedule))
    forces, continuous = solution.contact_forces(), ~schedule.touchdowns[:-1]
    weight = 9.81 * sum(inertia.mass for inertia in robot_of("anymal").model.inertias)
    total = np.zeros(schedule.T)
    for i, foot in enumerate(FEET["anymal"]):
        standing = schedule.active[:-1, i]
        assert np.all(forces[foot][~standing & continuous] == 0.0)
        assert np.all(forces[foot][standing & continuous, 2] > 0.0)
        total += np.where(continuous, np.nan_to_num(forces[foot][:, 2]), 0.0)
    assert total[continuous].mean() == pytest.approx(weight, rel=0.05)


def check_landed(robot: str, schedule: gaits.ContactSchedule, iterations: int = 30) -> None:
    """Solves a gait with the default options; at its end the feet are on their footholds."""
    problem = gaits.gait_problem(robot_of(robot), schedule)
    solution = SolverFDDP(problem).solve(*gaits.gait_guess(problem, schedule))
    assert solution.converged
    assert solution.iterations <= iterations
    reached = gaits.Stance.of(robot_of(robot), FEET[robot], solution.xs[-1])
    for foot, place in schedule.end.feet.items():
        np.testing.assert_allclose(reached.feet[foot].position, place.position, atol=1e-3)


def test_gaits_in_a_row_are_one_problem() -> None:
    trot = gaits.quadruped_trot(stance_of("anymal"), profile="smooth")
    walk = gaits.quadruped_walk(trot.end, profile="smooth", first_step="full")
    check_landed("anymal", trot + walk)


@pytest.mark.slow
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
    check_landed("bolt", schedule, 80)  # it falls from foot to foot


def test_the_example_in_the_docstring() -> None:
    """A trot for a robot that nobody tuned anything for, in fewer than 15 lines; then another gait, in two ways."""
    first, limited, together, turn, separate = re.findall(r"```python\n(.*?)```", gaits.__doc__, re.DOTALL)
    assert len([line for line in first.splitlines() if line.strip()]) < 15
    names: dict[str, Any] = {}
    exec(first, names)
    solution = names["solution"]
    assert solution.converged
    assert np.ptp(solution.xs[:, 0]) > 0.05  # it moves ahead
    exec(limited, names)
    assert names["within"].converged
    assert max(v.max() for v in names["within"].violations().values()) < 1e-6
    exec(together, names)
    assert names["problem"].T == names["trot"].T + names["walk"].T + 1
    exec(separate, names)
    np.testing.assert_array_equal(names["problem"].x0, solution.xs[-1])
    exec(turn, names)
    assert names["solution"].converged
    x, y, z, w = names["solution"].xs[-1, 3:7]
    assert np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)) == pytest.approx(1.57, abs=0.01)
