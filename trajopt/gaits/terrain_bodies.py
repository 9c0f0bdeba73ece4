"""Bodies of a legged robot that stay off terrain: its shanks and its base."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pinocchio as pin

from trajopt.errors import InvalidArgumentError
from trajopt.gaits.stance import foot_frame
from trajopt.robots import Robot
from trajopt.robots.collisions.fit import fit_capsule
from trajopt.robots.collisions.surfaces import Surface, surfaces
from trajopt.robots.round_bodies import SHORTEST, Capsule, Sphere
from trajopt.types import Reals

Body = Sphere | Capsule

_STEEPEST = 2.0  # distance along a shank per height above the ground, for shanks tilted by up to 60 degrees [-]
_ANKLE = 0.25  # distance between two joints of an ankle, relative to that from the upper one to the knee [-]
_WIDE, _INSET = 1.6, 0.2  # distances between capsules of the base, and from them to its edges, per half its height [-]


def shanks_and_base(
    robot: Robot, lifts: Mapping[str, float], margin: float, soles: Collection[str] = ()
) -> tuple[Body, ...]:
    """Capsules around the shanks of the legs and around the base, from the robot's collision geometry.

    A shank is what the joint above a foot moves, without the foot; above a sole, what the joint above its ankle moves.
    If a point foot's link has more than a ball, as that of ANYmal C, it contains a part of the shank, with a capsule of
    its own. Capsules end above the foot, so that they keep the margin when the foot stands on level ground and the
    shank is tilted by up to 60 degrees. The base is a box in its frame; capsules side by side along its x axis cover
    its underside, since terrain is below, and pass through its lower edges. Without collision geometry there are none.

    Args:
        robot: Robot with a floating base.
        lifts: Distance from the ground of each foot that stands, by the name of its frame [m].
        margin: Distance that the bodies keep [m].
        soles: Names of the feet that are soles.
    """
    try:
        geometry, frames = surfaces(robot), robot.model.frames
    except InvalidArgumentError:
        return ()
    links = {link: frames[robot.frame_id(link)].parentJoint for link in geometry}
    bodies: list[Body] = []
    for foot, lift in lifts.items():
        joint, shin = frames[foot_frame(robot, foot)].parentJoint, geometry.get(foot, Surface())
        if foot in soles:
            joint, shin = _knee(robot, joint), Surface()
        shank = {link: geometry[link] for link in links if links[link] == joint and link != foot}
        of_foot = {foot: Surface(triangles=shin.triangles)} if shin.bodies and shin.triangles else {}
        for part in filter(None, (shank, of_foot)):
            bodies += _shank(robot, part, foot, lift, margin)
    trunk = [link for link in links if links[link] == 1]
    if trunk:
        corners = {link: _points(geometry[link]) for link in trunk}
        link = max(trunk, key=lambda name: float(np.prod(np.ptp(corners[name], axis=0))))
        bodies += _box(link, corners[link])
    return tuple(bodies)


def _knee(robot: Robot, joint: int) -> int:
    """Joint above the ankle, whose lowest joint is given. An ankle may have several joints, close to each other."""
    model = robot.model
    ways = [float(np.linalg.norm(place.translation)) for place in model.jointPlacements]
    while model.parents[joint] > 1 and ways[joint] < _ANKLE * ways[model.parents[joint]]:
        joint = model.parents[joint]
    return int(model.parents[joint])


def _shank(robot: Robot, geometry: Mapping[str, Surface], foot: str, lift: float, margin: float) -> list[Body]:
    """Capsule around the links of a shank, shortened at the foot."""
    frames = robot.model.frames
    link = next(iter(geometry))
    base = frames[robot.frame_id(link)].placement
    parts = [_points(surface) @ (turn := base.actInv(frames[robot.frame_id(name)].placement)).rotation.T
             + turn.translation for name, surface in geometry.items()]  # fmt: skip
    fit = fit_capsule(np.concatenate(parts), rough=True)
    low = np.array(base.actInv(_placement(robot, foot, frames[robot.frame_id(link)].parentJoint)).translation)
    near, far = sorted((np.asarray(fit.start), np.asarray(fit.end)), key=lambda end: float(np.linalg.norm(end - low)))
    along = far - near
    length = float(np.linalg.norm(along))
    cut = _STEEPEST * max(fit.radius + margin - lift, 0.0) - float(np.linalg.norm(near - low))
    if length - max(cut, 0.0) < SHORTEST:
        return [Sphere(fit.radius, frame=link, center=far)]
    return [Capsule(fit.radius, start=near + max(cut, 0.0) / length * along, end=far, frame=link)]


def _placement(robot: Robot, frame: str, joint: int) -> pin.SE3:
    """Placement of a frame in the frame of a joint above it, where the joints between them are at zero."""
    own = robot.model.frames[robot.frame_id(frame)]
    place, at = own.placement, own.parentJoint
    while at != joint:
        place, at = robot.model.jointPlacements[at] * place, robot.model.parents[at]
    return place


def _box(link: str, points: Reals) -> list[Body]:
    """Capsules side by side along x on the underside of the box around points (n, 3) in a link's frame.

    Each is as thick as it has to be to pass through an edge of the box.
    """
    middle, (a, b, c) = (points.min(axis=0) + points.max(axis=0)) / 2, np.ptp(points, axis=0) / 2
    inset = _INSET * c
    side = max(b - inset, 0.0)
    count = int(np.ceil(2 * side / (_WIDE * c))) + 1
    reach = max(a - inset, SHORTEST)
    below = [middle + np.array([0.0, y, inset - c]) for y in (np.linspace(-side, side, count) if side else [0.0])]
    radius, ahead = float(np.sqrt(2) * inset), reach * np.eye(3)[0]
    return [Capsule(radius, start=place - ahead, end=place + ahead, frame=link) for place in below]


def _points(surface: Surface) -> Reals:
    """Points (n, 3) whose convex hull is the geometry of a link: corners, and boxes around round bodies [m]."""
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    round_ones = [point + body.radius * corners for body in surface.bodies for point in body.points]
    return np.concatenate([*(t.reshape(-1, 3) for t in surface.triangles), *round_ones])
