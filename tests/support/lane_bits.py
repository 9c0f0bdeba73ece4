"""Results of a few problems to the bit, one line each: the tests run this with several numbers of lanes.

Sums of the Riccati recursion follow the width of registers, which TRAJOPT_LANES changes too: here it has one width.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pinocchio as pin

import trajopt
from tests.support.ik_robots import arm, placement_task, reachable
from trajopt import ik, problems
from trajopt.kernels import lane_count
from trajopt.simulator import MDPContact, Simulator
from trajopt.solvers.riccati import recursion

Arrays = tuple[npt.ArrayLike, ...]


def solved(name: str, **options: object) -> Arrays:
    """Trajectory, cost and iterations of a ready problem."""
    solution = problems.load(name, **options).solve()  # type: ignore[arg-type]
    return solution.xs, solution.us, solution.cost, solution.iterations


def inverse_kinematics() -> Arrays:
    """One target, with all configurations that were found, and many, the last of which nobody reaches."""
    state, frame = arm("talos_arm")
    targets = reachable(state, frame, 21, 3)
    targets[-1, :3, 3] += 10.0
    task = placement_task(state, frame)
    one = ik.solve(state.robot, task, {"tool.reference": pin.SE3(targets[0])})
    many = ik.solve_batch(state.robot, task, {"tool.reference": targets})
    return one.configurations, one.iterations, one.starts, many.q, many.solved, many.starts


def simulated() -> Arrays:
    """Steps of an arm that touches the ground, from 21 states at once, with derivatives; then a rollout of one."""
    robot = trajopt.load_robot("talos_arm")
    tip = robot.model.frames[robot.model.nframes - 1].name
    simulator = Simulator(robot, [MDPContact(tip, radius=0.05, rays=4, friction=0.5, strength=1e4)])
    rng = np.random.default_rng(4)
    states = 0.5 * rng.normal(size=(21, robot.model.nq + robot.model.nv))
    torques = rng.normal(size=(21, robot.model.nv))
    return simulator.simulate_batched(1e-3, states, torques, Dqdqs=True, Dtaus=True)


CASES: dict[str, Callable[[], Arrays]] = {
    "arm": lambda: solved("arm-reach-seed"),
    "gait with impulses": lambda: solved("quadruped-trot", robot="small-quadruped"),
    "short steps": lambda: solved("double-pendulum"),
    "constraints": lambda: solved("cart-pole-limits"),
    "inverse kinematics": inverse_kinematics,
    "simulator": simulated,
}


def lines() -> Iterator[str]:
    """The number of lanes; then of each case its name and the digest of its results."""
    yield f"{lane_count()} lanes"
    for name, run in CASES.items():
        data = b"".join(np.ascontiguousarray(each).tobytes() for each in run())
        yield f"{name}: {hashlib.sha256(data).hexdigest()}"


if __name__ == "__main__":
    recursion.registers = lambda: (4, 16)  # type: ignore[assignment]
    for line in lines():
        print(line, flush=True)
