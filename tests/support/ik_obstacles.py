"""Panda in enclosing capsules among five spheres, and the same bodies in Pinocchio's geometry."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio as pin

import trajopt
from tests.support.ik_robots import arm, placements
from trajopt import Capsule, Sphere

Reals = npt.NDArray[np.float64]

LINKS = {
    "base": Capsule(0.09, start=[0.0, 0.0, 0.05], end=[0.0, 0.0, 0.3]),
    "shoulder": Capsule(0.08, start=[0.0, 0.0, 0.0], end=[0.0, -0.316, 0.0], frame="panda_link2"),
    "elbow": Capsule(0.07, start=[0.0, 0.0, 0.0], end=[0.0825, 0.0, 0.0], frame="panda_link3"),
    "forearm": Capsule(0.07, start=[-0.0825, 0.0, 0.0], end=[-0.0825, 0.384, 0.0], frame="panda_link4"),
    "wrist": Capsule(0.06, start=[0.0, 0.0, 0.0], end=[0.088, 0.0, 0.0], frame="panda_link6"),
    "hand": Capsule(0.04, start=[0.0, -0.08, 0.03], end=[0.0, 0.08, 0.03], frame="panda_hand"),
    "fingers": Capsule(0.03, start=[0.0, 0.0, 0.06], end=[0.0, 0.0, 0.1], frame="panda_hand"),
}
"""Bodies of the robot by name [m]."""
APART = [
    *(("base", other) for other in ("forearm", "wrist", "hand", "fingers")),
    *(("shoulder", other) for other in ("wrist", "hand", "fingers")),
    *(("elbow", other) for other in ("hand", "fingers")),
    ("forearm", "hand"),
    ("forearm", "fingers"),
]
"""Pairs of bodies of the robot that can meet."""
SPHERES = [
    Sphere(0.10, center=center)
    for center in ([0.5, 0.3, 0.5], [0.5, -0.3, 0.3], [-0.4, 0.3, 0.6], [0.3, 0.0, 0.9], [-0.3, -0.4, 0.4])
]
"""Obstacles in the world [m]."""
MOVING = [name for name in LINKS if name != "base"]
MARGIN = 1e-5  # kept beyond the tolerance of rows [m]


def pairs() -> list[tuple[Sphere | Capsule, Sphere | Capsule]]:
    """Bodies that are to stay apart."""
    among = [(LINKS[name], sphere) for name in MOVING for sphere in SPHERES]
    return [*among, *((LINKS[one], LINKS[other]) for one, other in APART)]


def tasks(state: trajopt.StateMultibody, frame: str) -> trajopt.ConstraintStack:
    """The frame's placement, named "tool", and distances of all pairs."""
    stack = trajopt.ConstraintStack(state)
    stack.add("tool", trajopt.ResidualModelFramePlacement(state, frame), equals=0.0)
    for i, (one, other) in enumerate(pairs()):
        stack.add(f"pair_{i}", trajopt.ResidualModelPairDistance(state, one, other), lower=MARGIN)
    return stack


def least_distances(state: trajopt.StateMultibody, q: Reals) -> Reals:
    """Least distance of all pairs at configurations (n, nq), by Pinocchio, (n,) [m]; negative where two overlap."""
    geometry = pin.GeometryModel()
    numbers = {id(body): geometry.addGeometryObject(_object(state, body)) for body in [*LINKS.values(), *SPHERES]}
    for one, other in pairs():
        geometry.addCollisionPair(pin.CollisionPair(numbers[id(one)], numbers[id(other)]))
    data, found = state.model.createData(), pin.GeometryData(geometry)
    result = np.empty(len(q))
    for i, each in enumerate(q):
        pin.computeDistances(state.model, data, geometry, found, each)
        result[i] = min(distance.min_distance for distance in found.distanceResults)
    return result


def _object(state: trajopt.StateMultibody, body: Sphere | Capsule) -> pin.GeometryObject:
    import coal

    points = np.asarray(body.points)
    turn, middle, shape = np.eye(3), points[0], coal.Sphere(body.radius)
    if isinstance(body, Capsule):
        along = points[1] - points[0]
        turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), along).toRotationMatrix()
        middle, shape = points.mean(axis=0), coal.Capsule(body.radius, float(np.linalg.norm(along)))
    placement, joint = pin.SE3(turn, middle), 0
    if body.frame is not None:
        frame = state.model.frames[state.robot.frame_id(body.frame)]
        placement, joint = frame.placement * placement, frame.parentJoint
    return pin.GeometryObject(f"body_{id(body)}", joint, placement, shape)


def free_targets(count: int, seed: int) -> Reals:
    """Placements (count, 4, 4) of Panda's hand at random configurations that are free of collision."""
    state, frame = arm("panda")
    rng, found = np.random.default_rng(seed), np.zeros((0, state.nq))
    while len(found) < count:
        q = np.array([state.rand(rng)[: state.nq] for _ in range(count)])
        found = np.concatenate([found, q[least_distances(state, q) > 2 * MARGIN]])
    return placements(state, frame, found[:count])
