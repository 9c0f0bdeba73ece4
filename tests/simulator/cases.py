"""Mechanisms with contacts that the tests of the simulator share, each as a simulator and as its twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin

import trajopt
from tests.simulator.twin import Ground, Numbers, Sphere, Twin, plane
from tests.simulator.twin_mechanisms import FreeBox, Mechanism, PlanarChain, PointMass, Robot
from tests.simulator.twin_numbers import cos, sin, sqrt
from trajopt.simulator import HeightField, MDPContact, Plane, Simulator, SimulatorMode

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A mechanism with spheres, and a state in which some of them touch.

    Attributes:
        mechanism: Its dynamics.
        spheres: Its contacts.
        q: Configuration (nq,).
        v: Velocity (nv,).
    """

    mechanism: Any
    spheres: tuple[Sphere, ...]
    q: Reals
    v: Reals

    @property
    def x(self) -> Reals:
        """(q, v)."""
        return np.concatenate([self.q, self.v])

    def at(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Case:
        """The same in another state."""
        return replace(self, q=np.asarray(q, dtype=float), v=np.asarray(v, dtype=float))

    def twin(self, **options: Any) -> Twin:
        """The twin."""
        return Twin(self.mechanism, self.spheres, **options)

    def simulator(self, mode: str = "FORWARD_RK1F", **options: Any) -> Simulator:
        """The simulator."""
        return simulator_of(self.mechanism, self.spheres, mode, **options)


def simulator_of(mechanism: Mechanism, spheres: Sequence[Sphere], mode: str = "FORWARD_RK1F", **options: Any) -> Any:
    """A simulator of a mechanism with spheres."""
    contacts = [contact_of(sphere, f"sphere_{i}") for i, sphere in enumerate(spheres)]
    return Simulator(mechanism.model(), contacts, mode=SimulatorMode[mode], **options)  # type: ignore[attr-defined]


def contact_of(sphere: Sphere, name: str) -> MDPContact:
    """A sphere as the simulator takes it."""
    given = sphere.ground.given
    if isinstance(given, tuple):
        given = Plane(given, **({} if sphere.carrier is None else {"body": sphere.carrier}))
    same = {"friction": sphere.friction, "rays": sphere.rays, "strength": sphere.strength, "exponent": sphere.exponent}
    return MDPContact(sphere.frame, offset=sphere.offset, radius=sphere.radius, surface=given, name=name, **same)


def incline(angle: float) -> tuple[float, float, float, float]:
    """The plane through the origin that falls along x by an angle [rad]."""
    return (float(np.sin(angle)), 0.0, float(np.cos(angle)), 0.0)


def hills(height: float = 0.05) -> Ground:
    """The ground z = height sin(3x) cos(2y), its φ the distance to the tangent plane below a point."""

    def slope(p: Numbers) -> Numbers:
        by_x, by_y = 3 * height * cos(3 * p[0]) * cos(2 * p[1]), -2 * height * sin(3 * p[0]) * sin(2 * p[1])
        return np.array([-by_x, -by_y, 1 + 0 * p[2]])

    def distance(p: Numbers) -> Any:
        return (p[2] - height * sin(3 * p[0]) * cos(2 * p[1])) / sqrt(slope(p) @ slope(p))

    return Ground(distance, slope, HeightField(lambda x, y: height * ca.sin(3 * x) * ca.cos(2 * y)))


def point(**options: Any) -> Case:
    """A point mass of 1 kg on a floor."""
    sphere = Sphere(frame="body", **{"strength": 1e7, **options})
    return Case(
        mechanism=PointMass(1.0), spheres=(sphere,), q=np.array([0.0, 0.0, -0.01]), v=np.array([0.3, -0.2, -0.5])
    )


def hilly() -> Case:
    """A point mass on hills, on a slope of 7 degrees."""
    case = point(ground=hills(), radius=0.03)
    return case.at([0.2, 0.3, 0.04], case.v)


def folded() -> Case:
    """Three rods, of which the last touches a plane on the first, and the second the floor."""
    on_rod = Sphere(frame="tool", radius=0.02, ground=plane(0, 1, 0, 0), carrier="link_1", strength=1e9)
    on_floor = Sphere(frame="link_3", radius=0.02, ground=plane(0, 0, 1, -0.2163), strength=1e9, rays=4)
    mechanism = PlanarChain((0.5, 0.4, 0.3), (1.0, 0.8, 0.5))
    q, v = np.array([0.2, 2.6, -3.28242]), np.array([0.5, -1.0, 0.7])
    return Case(mechanism=mechanism, spheres=(on_rod, on_floor), q=q, v=v)


def chain() -> Case:
    """Three rods, of which the last touches two planes."""
    tool = Sphere(frame="tool", radius=0.02, ground=plane(0, 0, 1, 0.7717), strength=3e8)
    side = Sphere(
        frame="link_3", offset=(0.1, 0, 0.0), strength=1e8, ground=plane(0.1, 0.2, 1, 0.481), rays=4, friction=0.4
    )
    mechanism = PlanarChain((0.5, 0.4, 0.3), (1.0, 0.8, 0.5))
    return Case(mechanism=mechanism, spheres=(tool, side), q=np.array([-0.3, -0.6, -0.5]), v=np.array([0.5, -1.0, 0.7]))


def box() -> Case:
    """A box on a free flyer, with two of three corners in a tilted floor."""
    corners = [(-0.1, -0.1, -0.05), (0.1, -0.1, -0.05), (0.0, 0.1, -0.05)]
    ground = plane(0.1, 0.0, 1.0, 0.0)
    spheres = [
        Sphere(frame="body", offset=c, radius=0.01, ground=ground, rays=n, exponent=p)
        for c, n, p in zip(corners, (4, 3, 5), (3, 2, 3))
    ]
    q = np.array([0.02, -0.01, 0.045, 0.03, 0.12, -0.05, 0.0])
    q[6] = np.sqrt(1 - q[3:6] @ q[3:6])
    v = np.array([0.4, -0.2, -0.6, 0.5, -0.3, 0.8])
    return Case(mechanism=FreeBox(), spheres=tuple(spheres), q=q, v=v)


@cache
def quadruped_model() -> pin.Model:
    """The small quadruped."""
    return trajopt.load_robot("small-quadruped").model


def quadruped(**options: Any) -> Case:
    """The small quadruped, standing 2 mm deep."""
    model = quadruped_model()
    spheres = tuple(
        Sphere(frame=f"{leg}_foot", radius=0.02, strength=1e7, **options) for leg in ("lf", "rf", "lh", "rh")
    )
    q = model.referenceConfigurations["standing"].copy()
    q[2] += 0.018
    return Case(mechanism=Robot(model), spheres=spheres, q=q, v=np.zeros(model.nv))


def two_legs() -> Case:
    """The small quadruped with its hind legs locked: also a free base, a tree, four spheres, two of them on the base.

    Programs of all modes take half as long to make as those of the whole robot.
    """
    whole = quadruped()
    model = whole.mechanism.model()
    hind = [i for i, name in enumerate(model.names) if name.startswith(("lh_", "rh_"))]
    locked = pin.buildReducedModel(model, hind, whole.q)
    q = locked.referenceConfigurations["standing"].copy()
    q[2] = whole.q[2]
    return Case(mechanism=Robot(locked), spheres=whole.spheres, q=q, v=np.zeros(locked.nv))


EXACT_CASES = {"point": point, "hilly": hilly, "chain": chain, "folded": folded, "box": box}
"""Cases whose twins compute with 60 digits."""
