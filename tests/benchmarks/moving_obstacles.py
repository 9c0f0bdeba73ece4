"""A Panda holds its hand still at 200 Hz while two balls fly by: `python -m tests.benchmarks.moving_obstacles [RUNS]`.

Balls of 8 cm come near the hand at random times, from random directions, and keep away from the robot's base. The
controller knows their paths. A second argument is the duration of a run [s]. Bars: Coal finds no collision; 99 % of all
steps, preparation and feedback, take less than 5 ms of one thread after compiling. Processor times are those of as many
steps again, where the robot does what was planned: for busy machines.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import coal
import numpy as np
import pinocchio as pin

import trajopt
from tests.benchmarks.planning_scenes import arm
from trajopt import mpc
from trajopt.residuals import ResidualModelCollisions
from trajopt.robots.collisions.surfaces import collision_geometry
from trajopt.shooting.collision_slots import BodyDistances
from trajopt.types import Reals

RUNS, SECONDS = 100, 10.0  # of a run [s]
DT, KNOT, N, BAR = 5e-3, 0.04, 20, 5.0  # control period and knot [s], knots, and bar [ms]
NAMES, RADIUS, MARGIN, BASE = ("one", "two"), 0.08, 0.02, 0.35  # radii, margin, distance of balls from the base [m]
SPEEDS, NEAR = (0.4, 0.8), 0.1  # of balls [m/s], and how near the hand they are aimed [m]
EVERY = 10  # periods from one check by Coal to the next
Q0 = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])  # [rad]

Path = Callable[[float], Reals]


def controller(robot: trajopt.Robot) -> mpc.MPCController:
    """Controller that holds the hand where it is, and keeps links apart from each other and from two balls."""
    state = trajopt.StateMultibody(robot)
    motors, x0 = trajopt.ActuationModelFull(state), np.r_[Q0, np.zeros(robot.nv)]
    scene = trajopt.Scene({name: trajopt.Sphere(RADIUS, center=[3.0, 3.0, 3.0]) for name in NAMES})
    hand = trajopt.ResidualModelFrameTranslation(state, "panda_hand", robot.placement(Q0, "panda_hand")[:3, 3])
    posture = trajopt.ResidualModelState(state, x0)
    costs = trajopt.CostStack(state).add("hand", hand, weight=50.0).add("posture", posture, weight=0.5)
    costs.add("torque", trajopt.ResidualModelControl(state), weight=1e-4)
    end = trajopt.CostStack(state).add("hand", hand, weight=5.0).add("posture", posture, weight=0.5)
    apart: dict[str, Any] = {"collisions": scene, "margin": MARGIN, "obstacles": len(NAMES)}
    limits, last = (trajopt.ConstraintStack.of_robot(state, each, **apart) for each in (motors, None))
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs, constraints=limits)
    knots = [trajopt.IntegratedActionModelEuler(model, dt=KNOT)] * N
    problem = trajopt.ShootingProblem(x0, knots, trajopt.ActionModelTerminal(end, constraints=last))
    return mpc.MPCController(problem, options=mpc.MPCOptions(dt=DT, hessian="gauss-newton"))


def path(rng: np.random.Generator, hand: Reals, seconds: float) -> Path:
    """Centre of a ball over time, on a line past the hand that keeps away from the base."""
    times = np.linspace(0.0, seconds, 1_000)
    axis = np.array([[0.0, 0.0, z] for z in np.linspace(0.0, 0.6, 7)])
    while True:
        along = rng.normal(size=3) * [1.0, 1.0, 0.3]
        velocity = rng.uniform(*SPEEDS) * along / np.linalg.norm(along)
        middle, when = hand + rng.uniform(-NEAR, NEAR, 3), rng.uniform(1.0, seconds - 1.0)
        centres = middle + velocity * (times[:, None] - when)
        if np.linalg.norm(centres[:, None] - axis, axis=2).min() > BASE:
            return lambda t: np.asarray(middle + velocity * (t - when))


class Judge:
    """Distances of shapes from each other and from the balls, and of meshes from the balls by Coal."""

    def __init__(self, robot: trajopt.Robot) -> None:
        scene = trajopt.Scene({name: trajopt.Sphere(RADIUS) for name in NAMES})
        self._shapes = BodyDistances(ResidualModelCollisions(trajopt.StateMultibody(robot), scene))
        self._model, self._geometry = robot.model, collision_geometry(robot)
        links = [i for i, each in enumerate(self._geometry.geometryObjects) if each.parentJoint > 0]
        ball = coal.Sphere(RADIUS)
        self._balls = [
            self._geometry.addGeometryObject(pin.GeometryObject(name, 0, 0, pin.SE3.Identity(), ball)) for name in NAMES
        ]
        for number in self._balls:
            for i in links:
                self._geometry.addCollisionPair(pin.CollisionPair(i, number))
        self._data, self._results = self._model.createData(), self._geometry.createData()

    def shapes(self, qs: Reals, centres: Reals) -> float:
        """Least distance at configurations (n, nq) and centres of the balls (n, 2, 3) [m]."""
        numbers = np.insert(centres, 3, RADIUS, axis=2).reshape(len(centres), -1)
        return float(min(each.min() for each in self._shapes(qs, numbers)))

    def meshes(self, q: Reals, centres: Reals) -> float:
        """Least distance of meshes from the balls [m]."""
        for number, centre in zip(self._balls, centres):
            self._geometry.geometryObjects[number].placement = pin.SE3(np.eye(3), centre)
        pin.computeDistances(self._model, self._data, self._geometry, self._results, q)
        return min(float(each.min_distance) for each in self._results.distanceResults)


def processor_times(control: mpc.MPCController, seconds: float) -> Reals:
    """Processor times of steps, each from where the last plan leads to [s]."""
    state, part, spent = control.problem.state, DT / KNOT, list[float]()
    step = control.reset(control.problem.x0)
    for k in range(round(seconds / DT)):
        x = state.integrate(step.xs[0], part * state.difference(step.xs[0], step.xs[1])) if k else control.problem.x0
        start = time.thread_time()
        step = control.feedback(x, k * DT)
        control.prepare()
        spent.append(time.thread_time() - start)
    return np.array(spent)


def main(runs: int = RUNS, seconds: float = SECONDS) -> bool:
    """Prints a line for each run; returns whether the bars hold."""
    trajopt.set_num_threads(1)
    robot = arm("panda")
    control, judge, hand = controller(robot), Judge(robot), robot.placement(Q0, "panda_hand")[:3, 3]
    steps, alone, least, failed = list[Reals](), list[Reals](), list[float](), 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        paths = [path(rng, hand, seconds) for _ in NAMES]
        for name, own in zip(NAMES, paths):
            control.follow(f"collisions.{name}", own)
        try:
            log = mpc.simulate(control, None, control.problem.x0, seconds)
        except mpc.ClosedLoopError as error:
            print(f"run {run}: {error}", flush=True)
            failed += 1
            continue
        qs = log.xs[:, : robot.nq]
        centres = np.array([[own(DT * k) for own in paths] for k in range(len(qs))])
        gap = min(judge.meshes(q, at) for q, at in zip(qs[::EVERY], centres[::EVERY]))
        steps.append(1e3 * (log.feedback_times + log.preparation_times))
        alone.append(1e3 * processor_times(control, seconds))
        least.append(gap)
        away = np.linalg.norm(robot.placement(qs, "panda_hand")[:, :3, 3] - hand, axis=1)
        print(
            f"run {run}: {1e3 * gap:.1f} mm by Coal, {1e3 * judge.shapes(qs, centres):.1f} mm of shapes; a step takes "
            f"{_words(steps[-1])}, of a processor {_words(alone[-1])}; the hand gives way by "
            f"{1e3 * away.max():.0f} mm; {log.counts}",
            flush=True,
        )
    if not steps:
        return False
    whole, collisions = np.concatenate(steps), sum(gap <= 0.0 for gap in least)
    print(
        f"{len(least)} of {runs} runs of {seconds:g} s: {collisions} collisions, least distance {1e3 * min(least):.1f} "
        f"mm; a step takes {_words(whole)} (bar {BAR:g} ms), of a processor {_words(np.concatenate(alone))}"
    )
    return collisions == failed == 0 and bool(np.quantile(whole, 0.99) < BAR)


def _words(times: Reals) -> str:
    return f"{np.median(times):.2f} ms, {np.quantile(times, 0.99):.2f} ms at 99 %"


if __name__ == "__main__":
    first = [float(each) for each in sys.argv[1:]]
    sys.exit(not main(int(first[0]) if first else RUNS, first[1] if len(first) > 1 else SECONDS))
