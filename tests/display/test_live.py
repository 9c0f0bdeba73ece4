"""A live view of a solve and of a controller, through a server on loopback, without a browser."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trajopt import problems
from trajopt.display import CallbackDisplay
from trajopt.display.iterate import ShownIterate
from trajopt.errors import InvalidArgumentError
from trajopt.mpc import MPCController, MPCOptions, simulate
from trajopt.types import Reals

pytest.importorskip("viser", reason="no viser: pip install viser trimesh pycollada")
pytest.importorskip("trimesh", reason="no trimesh: pip install viser trimesh pycollada")


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., CallbackDisplay]]:
    """Views that are closed at the end; `watched` says whether a page is open."""
    made: list[CallbackDisplay] = []

    def make(problem: Any = None, *, watched: bool = True) -> CallbackDisplay:
        monkeypatch.setattr(CallbackDisplay, "watched", watched)
        made.append(CallbackDisplay(problem, browser=False))
        return made[-1]

    yield make
    for each in made:
        each.close()


def until(condition: Callable[[], bool]) -> bool:
    """Whether a condition comes true within some seconds; the view draws in a thread of its own."""
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


def ball_at(view: CallbackDisplay) -> Reals:
    """Position of a pendulum's ball in the scene (3,) [m]."""
    assert view.view is not None
    body: Any = view.view.actors["live"].body
    return np.array(body._balls[1].position)


def test_every_iterate_is_drawn_and_the_solution_at_the_end(live: Callable[..., CallbackDisplay]) -> None:
    case = problems.load("pendulum")
    view = live(case.problem)
    assert view.view is not None
    view.view.player.pause()
    view.view.player.time = view.view.player.duration
    drawn: list[Reals] = []

    def look(record: Any) -> None:
        view.draw()
        q = float(record.trajectory[0][-1, 0])
        drawn.append(ball_at(view) - 0.5 * np.array([np.sin(q), 0.0, -np.cos(q)]))

    solution = case.solve(callbacks=[view, look])
    assert len(drawn) == solution.iterations > 5
    # the thread may have taken an iterate first, and draws it a little later
    close = [bool(np.abs(miss).max() < 1e-6) for miss in drawn]
    assert sum(close) > 0
    q = float(solution.xs[-1, 0])
    assert until(lambda: bool(np.abs(ball_at(view) - 0.5 * np.array([np.sin(q), 0.0, -np.cos(q)])).max() < 1e-6))
    assert until(lambda: "converged" in view._words.content)
    assert len(view._chart.data[1]) == solution.iterations
    again = case.solve()
    np.testing.assert_array_equal(again.xs, solution.xs)  # a view changes nothing


def test_without_a_page_nothing_is_copied(live: Callable[..., CallbackDisplay]) -> None:
    case = problems.load("pendulum")
    view = live(watched=False)  # made by the solve
    taken: list[int] = []

    def hand_over(*_: Any, **__: Any) -> None:
        taken.append(1)

    view._hand_over = hand_over  # type: ignore[method-assign]
    solution = case.solve(callbacks=[view])
    assert view.view is not None
    assert solution.iterations > 5
    assert len(taken) == 1  # the solution alone


def test_another_problem_needs_the_same_sizes(live: Callable[..., CallbackDisplay]) -> None:
    view = live(problems.load("pendulum").problem)
    view.start(problems.load("pendulum", start=(0.1, 0.0)).problem, "SolverFDDP")
    with pytest.raises(InvalidArgumentError, match=r"expected states of shape \(101, 2\).*\(51, 2\)"):
        view.start(problems.load("pendulum", T=50).problem, "SolverFDDP")


def test_plans_of_a_controller_are_drawn_from_the_measured_state(live: Callable[..., CallbackDisplay]) -> None:
    case = problems.load("pendulum", T=20)
    controller = MPCController(case.problem, case.solver, MPCOptions(mode="converged"))
    view, steps = live(case.problem), []

    def show(step: Any) -> None:
        steps.append(step)
        view.show_plan(step)

    simulate(controller, None, case.problem.x0, 3 * controller.dt, on_step=show)
    assert len(steps) == 3
    q = float(steps[-1].xs[0, 0])
    assert until(lambda: bool(np.abs(ball_at(view) - 0.5 * np.array([np.sin(q), 0.0, -np.cos(q)])).max() < 1e-6))
    assert until(lambda: f"t = {steps[-1].t:.3f} s: solved" in view._words.content)
    assert view.view is not None
    assert not view.view.player.playing
    with pytest.raises(InvalidArgumentError, match="step: expected an MPCStep"):
        view.show_plan(steps[-1].xs)
    for wrong in (view.view, lambda: None):
        with pytest.raises(InvalidArgumentError, match="on_step: expected a function of one argument, an MPCStep; "):
            simulate(controller, None, case.problem.x0, controller.dt, on_step=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["pendulum", "unicycle", "minimum-jerk", "arm-reach"])
def test_bodies_and_paths_follow_other_trajectories(name: str) -> None:
    from tests.display.recording import Recording
    from trajopt.display.actor import Actor
    from trajopt.display.callback import _LIVE

    problem = problems.load(name, **({"robot": "planar-3r"} if name == "arm-reach" else {})).problem
    first, rng = ShownIterate.at_rest(problem), np.random.default_rng(0)
    xs = first.xs + 0.1 * np.cumsum(rng.normal(size=first.xs.shape), axis=0)
    scenes = [Recording(), Recording()]
    actor = Actor(scenes[0], first, "/a", layers=_LIVE)  # type: ignore[arg-type]
    actor.follow(xs)
    actor.at(0.3)
    other = Actor(scenes[1], dataclasses.replace(first, xs=xs), "/a", layers=_LIVE)  # type: ignore[arg-type]
    other.at(0.3)
    moving = 0
    for node, handle in scenes[1].nodes.items():
        if "base" in node or "/body/body/" in node:
            continue  # these stay
        for key in ("position", "wxyz", "points"):
            if hasattr(handle, key):
                ours = np.asarray(getattr(scenes[0].nodes[node], key))
                np.testing.assert_allclose(ours, np.asarray(getattr(handle, key)), atol=1e-6)
                moving += 1
    assert moving > 2


def test_a_robot_on_feet_is_live_without_its_forces(live: Callable[..., CallbackDisplay]) -> None:
    view = live(problems.load("quadruped-trot", "go2").problem)
    assert view.view is not None
    assert list(view.view.actors["live"].layers) == ["paths"]


@pytest.mark.parametrize(
    ("argument", "value"),
    [("problem", 3), ("host", 3), ("host", "a..b"), ("port", -1), ("browser", "yes"), ("rate", 0.0)],
)
def test_wrong_arguments_are_refused_before_a_solve(argument: str, value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{argument}.*: expected"):
        CallbackDisplay(**{argument: value})


def test_a_plan_of_another_problem_is_refused(live: Callable[..., CallbackDisplay]) -> None:
    view = live(problems.load("pendulum").problem)
    step = SimpleNamespace(xs=np.zeros((5, 2)), t=0.0, cost=0.0, status="")
    with pytest.raises(InvalidArgumentError, match=r"step: expected a plan of shape \(101, 2\) .*, got \(5, 2\)"):
        view.show_plan(step)


def test_a_trajectory_that_cannot_be_drawn_warns_and_the_next_one_is_drawn(
    live: Callable[..., CallbackDisplay], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    case = problems.load("pendulum")
    solution = case.solve()
    view = live(case.problem)
    assert view.view is not None
    drawn: list[Reals] = []

    def follow(xs: Reals) -> None:
        drawn.append(xs)
        if len(drawn) == 1:
            raise InvalidArgumentError("xs: refused")

    monkeypatch.setattr(view.view.actors["live"], "follow", follow)
    view.finish(solution)
    assert until(lambda: len(drawn) == 1)
    view.finish(solution)
    assert until(lambda: len(drawn) == 2)
    assert "live view: not drawn: xs: refused" in caplog.text
