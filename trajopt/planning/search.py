"""Search for a path by OMPL, with our distances as its checks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from trajopt.objects.extras import Extra
from trajopt.planning.free_space import FreeSpace
from trajopt.types import Reals

PLAN = Extra("trajopt.plan", "ompl", "plan")
RANGE = 1.5  # longest step of a tree, by the Euclidean norm [rad, m]
SHORTCUTS = 100  # attempts to shorten a path [-]


class PathSearch:
    """Paths from a start to one of several goals through a free space, by RRT-Connect.

    Args:
        space: The free space.
        start: Configuration (nq,).
        goals: Configurations (n, nq), n >= 1.

    Source: Kuffner and LaValle, RRT-Connect: An efficient approach to single-query path planning, 2000.
    """

    def __init__(self, space: FreeSpace, start: Reals, goals: Reals) -> None:
        self._base, self._geometric, self._util = (PLAN.load(f"ompl.{name}") for name in ("base", "geometric", "util"))
        self._space, self._start, self._goals = space, start, goals
        self._reals = self._base.RealVectorStateSpace(len(start))
        bounds = self._base.RealVectorBounds(len(start))
        for i, (low, high) in enumerate(zip(space.lower.tolist(), space.upper.tolist())):
            bounds.setLow(i, low)
            bounds.setHigh(i, high)
        self._reals.setBounds(bounds)

    def path(self, seed: int, deadline: float, most: float = np.inf) -> Reals | None:
        """A short path (n, nq), or None without one at a time or after a number of checks.

        Args:
            seed: Seed of the random samples, >= 1.
            deadline: End of the search by `time.perf_counter()` [s].
            most: Number of configurations after whose check the search ends [-].
        """
        with self._quiet():
            self._util.RNG.setSeed(seed)
            information = self._information()
            problem = self._base.ProblemDefinition(information)
            problem.addStartState(self._state(self._start))
            goals = self._base.GoalStates(information)
            for goal in self._goals:
                goals.addState(self._state(goal))
            problem.setGoal(goals)
            planner = self._geometric.RRTConnect(information)
            planner.setRange(RANGE)
            planner.setProblemDefinition(problem)
            last = self._space.checked + most
            over = lambda: self._space.checked > last or time.perf_counter() > deadline  # noqa: E731
            planner.solve(self._base.PlannerTerminationCondition(over))
            if not problem.hasExactSolution():
                return None
            path = problem.getSolutionPath()
            simplifier = self._geometric.PathSimplifier(information)
            simplifier.reduceVertices(path)
            simplifier.partialShortcutPath(path, SHORTCUTS, SHORTCUTS, 0.5)
            simplifier.reduceVertices(path)
            return np.array([self._array(path.getState(i)) for i in range(path.getStateCount())])

    def _information(self) -> Any:
        """Space information of OMPL, which checks lines by the free space."""
        space, array = self._space, self._array

        class Lines(self._base.MotionValidator):  # type: ignore[misc, name-defined]
            def checkMotion(self, start: Any, end: Any) -> bool:
                return space.connects(array(start), array(end))

        information = self._base.SpaceInformation(self._reals)
        information.setStateValidityChecker(lambda state: space.contains(array(state)))
        information.setMotionValidator(Lines(information))
        information.setup()
        return information

    def _state(self, q: Reals) -> Any:
        state = self._reals.allocState()
        for i, value in enumerate(q.tolist()):
            state[i] = value
        return state

    def _array(self, state: Any) -> Reals:
        return np.array([state[i] for i in range(len(self._start))])

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """OMPL writes nothing to the console meanwhile."""
        before = self._util.getLogLevel()
        self._util.setLogLevel(self._util.LogLevel.LOG_NONE)
        try:
            yield
        finally:
            self._util.setLogLevel(before)
