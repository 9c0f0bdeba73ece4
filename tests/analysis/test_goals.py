"""Goals in pictures: what costs and constraints of the end ask of frames, and of states that are poses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.plotting.test_plotting import legend_texts
from tests.support.unsolved import solution_of
from trajopt.analysis.goals import pose_goals
from trajopt.analysis.references import frame_references, knot_values
from trajopt.analysis.skeleton import ends_of
from trajopt.plotting import plot_motion, plot_path, plot_summary
from trajopt.plotting.film import film_of
from trajopt.solution import Solution, SolverStatus

POINT = np.array([0.4, 0.3, 0.5])
INF = np.inf


def arm(residual: Any, **bounds: Any) -> Solution:
    """A UR5 that rests, with one constraint of the end."""
    state = trajopt.StateMultibody(trajopt.load_robot("ur5"))
    end = trajopt.ConstraintStack(state).add("goal", residual(state), **bounds)
    costs = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1e-2)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)
    node = trajopt.IntegratedActionModelEuler(dynamics, dt=1e-2)
    problem = trajopt.ShootingProblem(
        state.zero(), [node] * 3, trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    )
    return solution_of(problem, np.tile(state.zero(), (4, 1)), np.zeros((3, 6)), SolverStatus.UNSOLVED)


def translation(state: Any) -> Any:
    return trajopt.ResidualModelFrameTranslation(state, "tool0", POINT)


TURNED = pin.SE3(pin.exp3(np.array([0.3, -0.2, 0.5])), POINT)


def placement(state: Any) -> Any:
    return trajopt.ResidualModelFramePlacement(state, "tool0", TURNED)


@pytest.mark.parametrize(
    ("residual", "bounds", "expected"),
    [
        (translation, {"equals": 0.0}, POINT),
        (translation, {"equals": [0.1, 0.0, -0.2]}, np.add(POINT, [0.1, 0.0, -0.2])),
        (translation, {"lower": -0.01, "upper": 0.03}, POINT + 0.01),
        (placement, {"equals": 0.0}, POINT),
        (placement, {"lower": [-0.01] * 3 + [-INF] * 3, "upper": [0.01] * 3 + [INF] * 3}, POINT),
        (placement, {"equals": 0.1}, (TURNED * pin.exp6(np.full(6, 0.1))).translation),
    ],
)
def test_a_constraint_on_a_frame_is_a_goal(residual: Any, bounds: dict[str, Any], expected: Any) -> None:
    solution = arm(residual, **bounds)
    ((frame, point),) = solution.description.goals
    assert frame == "tool0"
    np.testing.assert_allclose(point, expected, atol=1e-12)


@pytest.mark.parametrize(
    "bounds",
    [
        {"upper": 0.0},
        {"lower": -0.5, "upper": 0.5},
        {"lower": [0.0, 0.0, -INF], "upper": [0.0, 0.0, INF]},
    ],
)
def test_a_wall_a_box_and_a_line_are_no_goals(bounds: dict[str, Any]) -> None:
    assert arm(translation, **bounds).description.goals == ()


def test_the_end_of_an_arm_has_the_name_of_its_tool() -> None:
    """Not that of a joint at the same place, such as UR5's ee_fixed_joint."""
    assert [name for *_, name in ends_of(trajopt.load_robot("ur5").model)] == ["tool0"]
    assert [name for *_, name in ends_of(trajopt.load_robot("planar-2r").model)] == ["tool"]


def test_pictures_have_its_star_and_the_path_of_its_frame() -> None:
    solution = arm(translation, equals=0.0)
    assert legend_texts(plot_motion(solution)) == ["path of tool0", "target"]
    assert "tool0 ends" in plot_summary(solution).get_suptitle()
    film = film_of(solution)
    np.testing.assert_allclose(film.goals, [POINT])
    np.testing.assert_allclose(film.trails[0], solution.frame_path("tool0"), atol=1e-12)


def test_distances_from_far_goals_are_whole_millimetres() -> None:
    far = arm(lambda state: trajopt.ResidualModelFrameTranslation(state, "tool0", POINT), equals=0.0)
    line = plot_summary(far).get_suptitle()
    distance = 1e3 * np.linalg.norm(far.frame_path("tool0")[-1] - POINT)
    assert distance > 100.0
    assert "e+" not in line
    told = float(line.split("tool0 ends ")[1].split(" mm")[0])
    assert told == pytest.approx(distance, rel=0.05)


def drone(**items: Any) -> Solution:
    """A rigid body at rest; a constraint of the end, or a cost."""
    state = trajopt.StateProduct(trajopt.StateSE3(), trajopt.StateVector(1, names=["battery"]))
    x = np.r_[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    costs, end = trajopt.CostStack(state), trajopt.ConstraintStack(state)
    for name, (residual, options) in items.items():
        (end if "weight" not in options else costs).add(name, residual(state), **options)
    problem = trajopt.ShootingProblem(x, [], trajopt.ActionModelTerminal(costs, constraints=end))
    return solution_of(problem, x[None], np.zeros((0, 0)))


HOVER = np.r_[3.0, 0.0, 1.0, 0.0, 0.0, np.sin(0.5), np.cos(0.5), 0.0]


def hover(elements: Any = None) -> Any:
    return lambda state: trajopt.ResidualModelState(state, HOVER, elements=elements)


def test_the_reference_of_a_state_constraint_is_a_goal() -> None:
    np.testing.assert_allclose(pose_goals(drone(goal=(hover(), {"equals": 0.0}))), [HOVER[:3]])
    solution = drone(goal=(hover(range(3)), {"equals": 0.0}))
    np.testing.assert_allclose(pose_goals(solution), [HOVER[:3]])
    assert "target" in legend_texts(plot_path(solution))


@pytest.mark.parametrize(
    ("elements", "options"),
    [
        (range(2), {"equals": 0.0}),
        ([6], {"equals": 0.0}),
        (range(3), {"upper": 0.0}),
        ([6], {"weight": 1.0}),
        ([6], {"weight": 1.0, "activation": trajopt.ActivationModelWeightedQuad([2.0])}),
    ],
)
def test_items_that_leave_the_position_free_are_no_goals(elements: Any, options: dict[str, Any]) -> None:
    assert pose_goals(drone(goal=(hover(elements), options))).shape == (0, 3)


def test_bounds_of_a_state_that_leave_a_point_shift_the_goal() -> None:
    """Steps of the tangent space are in the axes of the body."""
    step = np.array([0.2, 0.0, -0.1])
    solution = drone(goal=(hover(range(3)), {"equals": step}))
    state = solution.problem.state  # type: ignore[union-attr]
    expected = state.integrate(HOVER, np.r_[step, np.zeros(4)])[:3]
    np.testing.assert_allclose(pose_goals(solution), [expected], atol=1e-12)
    assert np.linalg.norm(expected - HOVER[:3] - step) > 0.05


def test_a_cost_and_a_constraint_of_one_point_are_one_goal() -> None:
    both = drone(cost=(hover(), {"weight": 1.0}), goal=(hover(), {"equals": 0.0}))
    np.testing.assert_allclose(pose_goals(both), [HOVER[:3]])


def test_a_constraint_is_a_reference_of_its_frame_at_its_knots() -> None:
    solution = arm(translation, equals=0.0)
    asked = frame_references(solution, "tool0", knot_values(solution))
    assert np.isnan(asked[:-1]).all()
    np.testing.assert_allclose(asked[-1], POINT)
    assert np.isnan(frame_references(solution, "wrist_3_link", knot_values(solution))).all()
