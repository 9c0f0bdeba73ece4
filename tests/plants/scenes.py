"""The same scenes in the simulator, in MuJoCo and in closed form: python -m tests.plants.scenes prints the table.

The page docs/simulator-and-mujoco.md has this table.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from tests.simulator.free_bodies import body
from trajopt.plants import MuJoCoPlant
from trajopt.robots import Robot
from trajopt.simulator import MDPContact, Plane, Simulator
from trajopt.types import Reals

DT, G = 1e-3, 9.81
RADIUS, SIDE, TALL = 0.1, 0.2, 0.4  # [m]


@dataclass(frozen=True)
class Scene:
    """A motion of one body, and a number that tells what happened.

    Attributes:
        name: What the body does.
        quantity: What is measured, with its unit.
        contacts: Contacts of the frame "body".
        inertia: Principal moments of the body of 1 kg [kg m²].
        x0: State at the start (13,).
        duration: Duration [s].
        measure: Function of states (n, 13) to the number.
        exact: The number in closed form.
    """

    name: str
    quantity: str
    contacts: tuple[MDPContact, ...]
    inertia: tuple[float, float, float]
    x0: Reals
    duration: float
    measure: Callable[[Reals], float]
    exact: float

    @property
    def robot(self) -> Robot:
        return Robot(body(inertia=self.inertia))

    @functools.cached_property
    def ours(self) -> Reals:
        """Motion in the simulator (n, 13)."""
        steps = round(self.duration / DT)
        return Simulator(self.robot, self.contacts).rollout(self.x0, None, steps, DT).xs

    @functools.cached_property
    def theirs(self) -> Reals:
        """Motion in MuJoCo (n, 13)."""
        plant, xs = MuJoCoPlant(self.robot, self.contacts), [self.x0]
        for _ in range(round(self.duration / DT)):
            xs.append(plant.step(xs[-1], np.zeros(0), DT, None))
        return np.array(xs)


def scenes() -> list[Scene]:
    """All scenes."""
    ball, cube = (0.4 * RADIUS**2,) * 3, (SIDE**2 / 6,) * 3
    tall = ((SIDE**2 + TALL**2) / 12, (SIDE**2 + TALL**2) / 12, SIDE**2 / 6)
    slope = np.radians(20.0)
    return [
        Scene("a ball falls", "fall in 0.4 s [m]", (), ball, placed(1.0), 0.4, lambda xs: 1.0 - xs[-1, 2], G * 0.08),
        Scene(
            "a spinning body flies without a floor", "speed along x after 1 s [m/s]", (), (0.004, 0.005, 0.007),
            placed(1.0, twist=(2.0, 0.3, 0.0, 12.0, -10.0, 12.0)), 1.0, lambda xs: velocities(xs)[-1, 0], 2.0,
        ),
        Scene(
            "a ball is launched without spin, friction 0.7", "speed after 2 s [m/s]",
            (MDPContact("body", radius=RADIUS, friction=0.7),), ball, placed(RADIUS, twist=(2.0, 0, 0, 0, 0, 0)), 2.0,
            lambda xs: velocities(xs)[-1, 0], 2.0 * 5 / 7,
        ),
        Scene(
            "a ball rolls down 20 deg, friction 0.7", "speed after 1 s [m/s]",
            (MDPContact("body", radius=RADIUS, friction=0.7, surface=incline(slope)),), ball,
            placed(RADIUS, angle=slope), 1.0, lambda xs: float(np.linalg.norm(velocities(xs)[-1])),
            5 / 7 * G * np.sin(slope),
        ),
        Scene(
            "a cube slides, friction 0.2", "distance [m]", corners(SIDE, SIDE, 0.2), cube,
            placed(SIDE / 2, twist=(3.0, 0, 0, 0, 0, 0)), 2.0, lambda xs: xs[-1, 0], 9.0 / (2 * 0.2 * G),
        ),
        Scene(
            "a cube rests on 15 deg, friction 0.5", "creep in 2 s [mm]",
            corners(SIDE, SIDE, 0.5, incline(np.radians(15.0))), cube, placed(SIDE / 2, angle=np.radians(15.0)), 2.0,
            lambda xs: 1e3 * float(np.linalg.norm(xs[-1, :3] - xs[200, :3])), 0.0,
        ),
        *(
            Scene(
                f"a box twice as high as wide on {degrees:g} deg, friction 0.9", "turned after 1.2 s [deg]",
                corners(SIDE, TALL, 0.9, incline(np.radians(degrees))), tall,
                placed(TALL / 2, angle=np.radians(degrees)), 1.2, tilt, exact,
            )
            for degrees, exact in ((24.0, 0.0), (29.0, np.nan))  # it topples beyond 26.6 deg
        ),
    ]  # fmt: skip


def placed(height: float, angle: float = 0.0, twist: Sequence[float] = (0.0,) * 6) -> Reals:
    """State of a body at a height over a plane that falls along x by an angle [rad], with its axes along the plane."""
    turn = pin.Quaternion(pin.utils.rotate("y", angle)).coeffs()
    return np.concatenate([height * np.array([np.sin(angle), 0.0, np.cos(angle)]), turn, twist])


def corners(side: float, height: float, friction: float, surface: Plane | None = None) -> tuple[MDPContact, ...]:
    """Contact points at the lower corners of a box."""
    ground = Plane((0.0, 0.0, 1.0, 0.0)) if surface is None else surface
    return tuple(
        MDPContact("body", (x * side / 2, y * side / 2, -height / 2), surface=ground, friction=friction, name=name)
        for name, x, y in (("a", 1, 1), ("b", 1, -1), ("c", -1, 1), ("d", -1, -1))
    )


def incline(angle: float) -> Plane:
    """The plane through the origin that falls along x by an angle [rad]."""
    return Plane((np.sin(angle), 0.0, np.cos(angle), 0.0))


def velocities(xs: Reals) -> Reals:
    """Velocities of the body's origin in world axes (n, 3) [m/s]."""
    return np.array([pin.Quaternion(x[3:7]).matrix() @ x[7:10] for x in xs])


def tilt(xs: Reals) -> float:
    """Angle between the body's first and last axes [deg]."""
    first, last = (pin.Quaternion(x[3:7]).matrix()[:, 2] for x in (xs[0], xs[-1]))
    return float(np.degrees(np.arccos(np.clip(first @ last, -1.0, 1.0))))


def table() -> str:
    """The figures of all scenes as a table."""
    lines = ["| scene | quantity | simulator | MuJoCo | closed form |", "|---|---|---|---|---|"]
    for scene in scenes():
        exact = "it falls" if np.isnan(scene.exact) else f"{scene.exact:.4g}"
        figures = [f"{scene.measure(xs):.4g}" for xs in (scene.ours, scene.theirs)]
        lines.append(f"| {scene.name} | {scene.quantity} | {' | '.join(figures)} | {exact} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
