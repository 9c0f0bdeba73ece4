"""Expansions of a Panda with collision rows: `python -m tests.benchmarks.collision_rows`.

Nine capsules on seven links, 20 obstacles, 104 knots, one thread. Bar: with four slots a link for balls, capsules and
boxes at most 3 times an expansion without rows. Each number is the best of many; the last column includes a broad phase
of all knots.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import trajopt
from tests.support.meshes import ring
from trajopt.kernels import wait_until_optimised
from trajopt.robots.collisions import CollisionShapes
from trajopt.robots.collisions.samples import random_configurations
from trajopt.robots.scene import Body
from trajopt.shooting.evaluator import Evaluator

KNOTS, CAPSULES, OBSTACLES, SLOTS, BAR = 104, 10, 20, 4, 3.0
BARRED = ("balls, slots", "balls and capsules, slots", "boxes, slots")
KINDS = {"balls": ("ball",), "balls and capsules": ("ball", "capsule"), "boxes": ("box",), "meshes": ("mesh",)}


def robot_in_capsules() -> trajopt.Robot:
    """Panda with every other fitted capsule of its moving links, without pairs of links."""
    robot = trajopt.load_robot("panda")
    frames, shapes = robot.model.frames, robot.collision_shapes
    bodies = [body for body in shapes.bodies if frames[robot.frame_id(str(body.frame))].parentJoint]
    return robot.with_collision_shapes(CollisionShapes(bodies=tuple(bodies[::2][:CAPSULES]), pairs=()))


def scene_of(kinds: tuple[str, ...]) -> trajopt.Scene:
    """Random obstacles of these kinds around the robot."""
    rng, obstacles = np.random.default_rng(0), {}
    for i in range(OBSTACLES):
        centre = rng.uniform(-1.0, 1.0, 3)
        made: dict[str, Callable[[], Body]] = {
            "ball": lambda c=centre: trajopt.Sphere(0.1, center=c),
            "capsule": lambda c=centre: trajopt.Capsule(0.05, start=c, end=c + rng.uniform(-0.3, 0.3, 3)),
            "box": lambda c=centre: trajopt.Box(rng.uniform(0.1, 0.4, 3), placement=np.r_[c, 0.0, 0.0, 0.0, 1.0]),
            "mesh": lambda c=centre: trajopt.TriangleMesh(ring(), placement=np.r_[c, 0.0, 0.0, 0.0, 1.0], cell=0.02),
        }
        obstacles[f"obstacle_{i}"] = made[kinds[i % len(kinds)]]()
    return trajopt.Scene(obstacles)


def evaluator(state: trajopt.StateMultibody, limits: trajopt.ConstraintStack) -> Evaluator:
    """Evaluator of a motion with these rows, at random configurations."""
    motors = trajopt.ActuationModelFull(state)
    costs = trajopt.CostStack(state).add("state", trajopt.ResidualModelState(state), weight=1e-2)
    costs.add("torque", trajopt.ResidualModelControl(state), weight=1e-4)
    costs.add("hand", trajopt.ResidualModelFrameTranslation(state, "panda_hand", [0.3, 0.3, 0.5]), weight=1.0)
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs, constraints=limits)
    knots = [trajopt.IntegratedActionModelEuler(arm, dt=0.02)] * KNOTS
    e = Evaluator(trajopt.ShootingProblem(state.zero(), knots, trajopt.CostStack(state)))
    e.prepare()
    e.xs[:, : state.nq] = random_configurations(state.robot.model, KNOTS + 1)
    e.expand(None)
    return e


def best(run: Callable[[], object], count: int) -> float:
    """Least time of a call [µs per knot]."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times) / KNOTS


def main() -> bool:
    """Prints a table; returns whether the bar holds for balls, capsules and boxes."""
    robot = robot_in_capsules()
    state = trajopt.StateMultibody(robot)
    motors, bodies = trajopt.ActuationModelFull(state), robot.collision_shapes.bodies
    stacks = {"no rows": trajopt.ConstraintStack.of_robot(state, motors)}
    for name, kinds in KINDS.items():
        stacks[f"{name}, slots"] = trajopt.ConstraintStack.of_robot(
            state, motors, collisions=scene_of(kinds), obstacles=SLOTS
        )
    stacks["balls and capsules, all pairs"] = pairs = trajopt.ConstraintStack.of_robot(state, motors)
    for name, obstacle in scene_of(KINDS["balls and capsules"]).obstacles.items():
        for i, body in enumerate(bodies):
            pairs.add(f"{name}_{i}", trajopt.ResidualModelPairDistance(state, body, obstacle))
    evaluators = {name: evaluator(state, stack) for name, stack in stacks.items()}
    wait_until_optimised()
    first, good = evaluators["no rows"], True
    print(f"{len(bodies)} capsules, {OBSTACLES} obstacles      rows  µs per knot  times without  slots filled anew")
    for name, e in evaluators.items():
        alone, own = best(lambda: first.expand(None), 200), best(lambda e=e: e.expand(None), 200)  # type: ignore[misc]
        anew = best(lambda e=e: _moved(e), 20)  # type: ignore[misc]
        print(f"{name:<32}{e.nc - first.nc:>4}{own:>12.2f}{own / alone:>18.2f}{anew:>22.1f}")
        good &= name not in BARRED or own / alone <= BAR
    return good


def _moved(e: Evaluator) -> None:
    """Expands where all bodies have moved."""
    e.xs[:, 1] += 0.02
    e.expand(None)


if __name__ == "__main__":
    sys.exit(not main())
