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
        velocity: Largest velocity of each joint (nq,), finite [rad/s, m/s].

    Attributes:
        space: The free space.
        start: The start.
        goals: The goals.

    Sources: Kuffner and LaValle, RRT-Connect: An efficient approach to single-query path planning, 2000. Gammell,
    Srinivasa and Barfoot, Informed RRT*, 2014: samples only where a path can be shorter than a known one.
    """

    def __init__(self, space: FreeSpace, start: Reals, goals: Reals, velocity: Reals) -> None:
        self._base, self._geometric, self._util = (PLAN.load(f"ompl.{name}") for name in ("base", "geometric", "util"))
        self.space, self.start, self.goals, self._velocity = space, start, goals, velocity
        self._reals = self._base.RealVectorStateSpace(len(start))

    def duration(self, corners: Reals) -> float:
        """Time along lines through corners (n, nq) with the largest velocities [s]."""
        return float((np.abs(np.diff(corners, axis=0)) / self._velocity).max(axis=1).sum())

    def path(self, seed: int, deadline: float, most: float = np.inf, longest: float = np.inf) -> Reals | None:
        """A short path (n, nq), or None without one at a time or after a number of checks.

        Samples are only where a line from the start, and from there to a goal, takes each joint at most a time.

        Args:
            seed: Seed of the random samples, >= 1.
            deadline: End of the search by `time.perf_counter()` [s].
            most: Number of configurations after whose check the search ends [-].
            longest: That time, with the largest velocities; that of a known path leaves all shorter ones [s].
        """
        goals = self._near(longest)
        if not len(goals):
            return None
        with self._quiet():
            self._util.RNG.setSeed(seed)
            information = self._information()
            problem = self._base.ProblemDefinition(information)
            problem.addStartState(self._state(self.start))
            states = self._base.GoalStates(information)
            for goal in goals:
                states.addState(self._state(goal))
            problem.setGoal(states)
            planner = self._geometric.RRTConnect(information)
            planner.setRange(RANGE)
            planner.setProblemDefinition(problem)
            last = self.space.checked + most
            over = lambda: self.space.checked > last or time.perf_counter() > deadline  # noqa: E731
            planner.solve(self._base.PlannerTerminationCondition(over))
            if not problem.hasExactSolution():
                return None
            path = problem.getSolutionPath()
            simplifier = self._geometric.PathSimplifier(information)
            simplifier.reduceVertices(path)
            simplifier.partialShortcutPath(path, SHORTCUTS, SHORTCUTS, 0.5)
            simplifier.reduceVertices(path)
            return np.array([self._array(path.getState(i)) for i in range(path.getStateCount())])

    def _near(self, longest: float) -> Reals:
        """Goals (n, nq) that a line reaches within a time [s]; sets bounds of joints on paths to them in that time."""
        ways = np.abs(self.goals - self.start)
        near = (ways / self._velocity).max(axis=1) <= longest
        bounds = self._base.RealVectorBounds(len(self.start))
        if near.any():
            room = np.maximum(0.5 * (longest * self._velocity - ways[near]), 0.0)  # of joints beyond start and goal
            low = (np.minimum(self.goals[near], self.start) - room).min(axis=0)
            high = (np.maximum(self.goals[near], self.start) + room).max(axis=0)
            for i in range(len(low)):
                bounds.setLow(i, float(max(low[i], self.space.lower[i])))
                bounds.setHigh(i, float(min(high[i], self.space.upper[i])))
            self._reals.setBounds(bounds)
        return np.asarray(self.goals[near])

    def _information(self) -> Any:
        """Space information of OMPL, which checks lines by the free space."""
        space, array = self.space, self._array

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
        return np.array([state[i] for i in range(len(self.start))])

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """OMPL writes nothing to the console meanwhile."""
        before = self._util.getLogLevel()
        self._util.setLogLevel(self._util.LogLevel.LOG_NONE)
        try:
            yield
        finally:
            self._util.setLogLevel(before)
