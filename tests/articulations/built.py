"""Robots declared with the builder: random trees with all types of joints, and a crane."""

import functools

import numpy as np
import pinocchio as pin

import trajopt
from tests.articulations.support import frame, unit
from trajopt.articulations import ArticulationBuilder, Axis

KINDS = (
    *("free", "revolute", "revolute", "prismatic", "ball", "fixed", "universal", "planar", "distance", "fixed"),
    *("d6 3 0", "d6 0 3", "d6 3 3", "d6 1 2", "d6 2 1", "d6 1 0", "d6 0 1"),
)


def place(rng: np.random.Generator) -> np.ndarray:
    """A random placement: position and quaternion."""
    turn = rng.standard_normal(4)
    return np.concatenate([rng.standard_normal(3), turn / np.linalg.norm(turn)])


@functools.cache
def built_tree(seed: int = 0) -> trajopt.Robot:
    """Joints of all types in random order, with anchors beside the links; solids give the inertias."""
    rng, builder, names = np.random.default_rng(seed), ArticulationBuilder(), ["world"]
    for i, kind in enumerate(rng.permutation(KINDS)):
        link, parent = builder.add_link(f"link{i}"), str(rng.choice(names))
        builder.add_box(link, rng.uniform(0.1, 0.5, 3), placement=place(rng))
        builder.add_sphere(link, 0.2, center=rng.standard_normal(3))
        names.append(link)
        add(builder, rng, str(kind), parent, link)
    return builder.build("tree")


def add(builder: ArticulationBuilder, rng: np.random.Generator, kind: str, parent: str, link: str) -> None:
    """Adds a joint of a kind, at random."""
    anchors = {"X_p": place(rng), "X_c": place(rng)}
    if kind == "distance":
        builder.add_distance(parent, link, lower=0.1, upper=2.0, **anchors)
    elif kind in ("revolute", "prismatic"):
        getattr(builder, f"add_{kind}")(parent, link, axis=unit(rng), **anchors)
    elif kind.startswith("d6"):
        linear, angular = map(int, kind.split()[1:])
        turns = frame(rng)[:, :angular] if angular == 3 else rng.standard_normal((3, angular))
        slides = [Axis(rng.standard_normal(3), lower=-1.0) for _ in range(linear)]
        builder.add_d6(parent, link, linear=slides, angular=list(turns.T), **anchors)
    else:
        getattr(builder, f"add_{kind}")(parent, link, **anchors)


def motions(robot: trajopt.Robot, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random configurations, angles within 1 rad, and velocities."""
    rng = np.random.default_rng(seed)
    neutral = pin.neutral(robot.model)
    q = np.array([pin.integrate(robot.model, neutral, rng.uniform(-1, 1, robot.nv)) for _ in range(count)])
    return q, rng.standard_normal((count, robot.nv))


@functools.cache
def tethered() -> trajopt.StateMultibody:
    """An arm that turns, and two balls on ropes: one at its end, one at the world."""
    builder = ArticulationBuilder()
    for link in ("arm", "ball", "buoy"):
        builder.add_sphere(builder.add_link(link), 0.1, center=(0.1, 0.2, 0.3))
    builder.add_revolute("world", "arm", axis=(1, 2, 3))
    builder.add_distance("arm", "ball", lower=0.2, upper=0.7, X_p=(0, 0, 1), X_c=(0.1, 0, 0))
    builder.add_distance("world", "buoy", upper=2.0)
    return trajopt.StateMultibody(builder.build("tethered"))


@functools.cache
def crane() -> trajopt.Robot:
    """A trolley on two rails, a rod on a universal joint, and a hook that is fixed to it."""
    builder = ArticulationBuilder()
    builder.add_link("trolley")
    builder.add_box("trolley", (0.3, 0.2, 0.1), color="tab:gray")
    builder.add_link("rod", mass=2.0)
    builder.add_capsule("rod", 0.02, end=(0, 0, -0.8))
    builder.add_link("hook")
    builder.add_sphere("hook", 0.1, color="tab:red")
    builder.add_d6("world", "trolley", linear=[Axis("x", lower=-1.0, upper=1.0, effort=50.0), "y"], X_p=(0, 0, 1.5))
    builder.add_universal("trolley", "rod")
    builder.add_fixed("rod", "hook", X_p=(0, 0, -0.8))
    builder.add_frame("tool", "hook", (0, 0, -0.1))
    return builder.build("crane", {"aside": {"rod_joint": [0.1, 0.4]}})
