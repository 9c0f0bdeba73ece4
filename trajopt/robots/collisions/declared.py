"""Collision shapes that a user declares."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike

from trajopt.checks import check_items
from trajopt.errors import InvalidArgumentError, shown
from trajopt.robots.collisions.collision_shapes import CollisionShapes
from trajopt.robots.collisions.pairs import with_pairs
from trajopt.robots.robot import Robot
from trajopt.robots.round_bodies import Capsule, Sphere, as_round
from trajopt.robots.shapes import Shape


def declared_shapes(
    robot: Robot,
    shapes: CollisionShapes | str | PathLike[str] | Iterable[Sphere | Capsule | Shape],
    own: CollisionShapes | None = None,
) -> CollisionShapes:
    """Checked collision shapes of a robot, which may begin with its own; otherwise as `Robot.with_collision_shapes`."""
    if isinstance(shapes, (str, PathLike)):
        shapes = CollisionShapes.load(shapes)
    if isinstance(shapes, CollisionShapes):
        _check(robot, shapes.bodies)
        return shapes
    bodies = [as_round(shape) for shape in check_items("shapes", shapes, "spheres and capsules")]
    _check(robot, bodies)
    found = with_pairs(robot.model, bodies)
    if own is None or len(own.bodies) > len(bodies) or any(a is not b for a, b in zip(own.bodies, bodies)):
        return found
    return _added(own, found)


def _added(own: CollisionShapes, found: CollisionShapes) -> CollisionShapes:
    """Shapes that begin with a robot's own: pairs of these are judged as before."""
    first = len(own.bodies)

    def joined(before: Iterable[tuple[int, int]], pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        return (*before, *(pair for pair in pairs if pair[1] >= first))

    reasons = dict.fromkeys([*own.left_out, *found.left_out])
    left_out = {reason: joined(own.left_out.get(reason, ()), found.left_out.get(reason, ())) for reason in reasons}
    return CollisionShapes(bodies=found.bodies, pairs=joined(own.pairs, found.pairs), left_out=left_out)


def moving_apart(robot: Robot, shapes: CollisionShapes) -> CollisionShapes:
    """The shapes without pairs on one joint of a robot, such as one whose joints between them are locked."""
    model = robot.model
    joints = [model.frames[robot.frame_id(str(body.frame))].parentJoint for body in shapes.bodies]

    def kept(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        return tuple((i, j) for i, j in pairs if joints[i] != joints[j])

    left_out = {reason: kept(pairs) for reason, pairs in shapes.left_out.items()}
    return CollisionShapes(bodies=shapes.bodies, pairs=kept(shapes.pairs), left_out=left_out)


def _check(robot: Robot, bodies: Iterable[object]) -> None:
    for body in bodies:
        if not isinstance(body, (Sphere, Capsule)) or body.frame is None:
            raise InvalidArgumentError(
                f'shapes: expected spheres and capsules on frames such as Sphere(0.1, frame="tool0"), got {shown(body)}'
            )
        robot.frame_id(body.frame)
