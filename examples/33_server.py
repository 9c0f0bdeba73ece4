"""A controller in a server, and a robot that requests controls from it.

    minimise   ∫ ½ (1e3 |hand - target|² + 0.1 |q - q₀|² + 0.05 |v|² + 1e-4 |τ - g(q)|²) dt over 0.6 s ahead,

with hard limits of torques, replanned 100 times a second. The server runs in a thread here; usually it is another
process, `trajopt serve arm-tracking`, and the robot's own program contains the client. After 1.5 s the hand is pushed
for 0.1 s. The client sends the measured state and receives the control, its gain and the plan; a display elsewhere can
subscribe to all plans.

Look at: the closed loop, which is bitwise the same as that of the controller without a server.
Expected distance in mm: below 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt import mpc
from trajopt.mpc.server import MPCClient, MPCServer, PlanSubscriber
from trajopt.problems.mpc.arm import FRAME, arm, horizon
from trajopt.types import Reals

FREE = "tcp://127.0.0.1:*"  # any free port of this machine
TARGET = (0.45, 0.3, 0.5)  # [m]
PUSH = mpc.Push(time=1.5, duration=0.1, frame=FRAME, value=[0.0, 0.0, -60.0])  # [s], [s], [N]


class Remote:
    """A controller with the steps of a server, for `mpc.simulate`; the problem is that of a local controller."""

    def __init__(self, here: mpc.MPCController, client: MPCClient) -> None:
        self.here, self.client = here, client

    def __getattr__(self, name: str) -> Any:
        return getattr(self.here, name)

    def reset(self, x0: Reals, t: float = 0.0) -> mpc.MPCStep:
        return self.client.reset(x0, t)

    def feedback(self, x: Reals, t: float) -> mpc.MPCStep:
        return self.client.step(x, t)

    def prepare(self) -> None:
        """The server prepares by itself."""


def main(plot: bool = False) -> mpc.ClosedLoop:
    """Runs 3 s and returns the closed loop; `plot` writes server.png."""
    robot = arm()
    problem = horizon(robot)
    problem.set_parameter("hand.reference", TARGET)
    served, here = (mpc.MPCController(problem, options=mpc.MPCOptions(dt=0.01)) for _ in range(2))
    with (
        MPCServer(served, FREE, publish=FREE) as server,
        PlanSubscriber(str(server.publish)) as plans,
        MPCClient(server.address, timeout=10.0) as client,
    ):
        log = mpc.simulate(Remote(here, client), None, problem.x0, 3.0, disturbance=PUSH)
        newest = plans.receive()
    print(*(f"{name}: {words}" for name, words in server.report().items()), sep="\n")
    print(f"newest plan: {len(newest.us) if newest else 0} knots, cost {newest.cost if newest else 0.0:.3f}")
    alone = mpc.simulate(here, None, problem.x0, 3.0, disturbance=PUSH)
    print(f"same as without a server: {np.array_equal(log.xs, alone.xs)}")
    hand = robot.placement(log.xs[-1, : robot.nq], FRAME)[:3, 3]
    print(f"distance in mm: {1e3 * np.linalg.norm(hand - TARGET):.2f} at the end")
    if plot:
        log.plot("server.png")
    return log


if __name__ == "__main__":
    main(plot=True)
