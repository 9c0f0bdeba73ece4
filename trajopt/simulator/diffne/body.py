"""Articulated body: the tree of joints with the names of their links, and the shapes on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from trajopt.checks import check_count, check_flag, check_text
from trajopt.errors import InvalidArgumentError, UnknownNameError, close_names, unknown_name
from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True)
class BodyJoint:
    """A joint and its link.

    Attributes:
        id: Index of the joint; 0 is the world.
        link: Name of the link that the joint moves.
        name: Name of the joint.
        nq: Number of its coordinates.
        nv: Number of its velocities.
        parent: Index of the joint above; -1 for the world.
    """

    id: int
    link: str
    name: str
    nq: int
    nv: int
    parent: int

    @property
    def _name(self) -> str:
        """Name of the link, as DiffNE calls a joint with its link."""
        return self.link

    def begins_with(self, prefix: str) -> bool:
        """Whether the name of the link or of the joint begins with a text."""
        check_text("prefix", prefix, such_as="limb1_link2")
        return self.link.startswith(prefix) or self.name.startswith(prefix)


class ArticulatedBody:
    """Tree of joints: joint 0 is the world, then the base, then joints after their parents.

    Args:
        model: The robot.
        links: Name of the link of each joint, by the joint's name.
        shapes: Loads the shapes of a kind, "collision" or "visual".
    """

    def __init__(self, model: pin.Model, links: dict[str, str], shapes: Callable[[str], pin.GeometryModel]) -> None:
        self._model, self._shapes = model, shapes
        self._joints = tuple(
            BodyJoint(
                id=i,
                link=links.get(model.names[i], model.names[i]),
                name=model.names[i],
                nq=int(model.nqs[i]) if i else 0,
                nv=int(model.nvs[i]) if i else 0,
                parent=int(model.parents[i]) if i else -1,
            )
            for i in range(model.njoints)
        )

    def nrJ(self) -> int:
        """Number of joints, the world included."""
        return len(self._joints)

    def joint(self, i: int) -> BodyJoint:
        """The i-th joint."""
        return self._joints[check_count("i", i, most=len(self._joints) - 1)]

    def children(self, i: int, direct: bool = False) -> tuple[int, ...]:
        """Indices of the joints below the i-th one; with `direct` only of those that it carries itself."""
        above = {self.joint(i).id}
        found: list[int] = []
        for joint in self._joints[i + 1 :]:
            if joint.parent in above:
                found.append(joint.id)
                above |= set() if check_flag("direct", direct) else {joint.id}
        return tuple(found)

    def beginning_with(self, prefix: str) -> tuple[BodyJoint, ...]:
        """Joints whose names, or those of their links, begin with a text.

        Raises:
            UnknownNameError: There is none.
        """
        if not check_text("prefix", prefix, such_as="limb1_link2"):
            raise InvalidArgumentError(
                "prefix: expected the beginning of a name, got ''; write it, such as 'limb1_link2'"
            )
        found = tuple(joint for joint in self._joints[1:] if joint.begins_with(prefix))
        if not found:
            raise self._unknown(prefix)
        return found

    def shapes(self, i: int, kind: str) -> list[pin.GeometryObject]:
        """Shapes on the i-th joint, "collision" or "visual"; their placements are in the joint's axes."""
        return [shape for shape in self._shapes(kind).geometryObjects if shape.parentJoint == self.joint(i).id]

    def farthest_frame(self, i: int) -> Reals:
        """Origin of the frame on the i-th joint that is farthest from it, in the joint's axes, shape (3,) [m]."""
        points = [np.array(f.placement.translation) for f in self._model.frames if f.parentJoint == self.joint(i).id]
        return max(points, key=lambda point: float(np.linalg.norm(point)), default=np.zeros(3))

    def rotation_at_zero(self, i: int) -> Reals:
        """Rotation R_world_joint of the i-th joint where all joints are at zero, shape (3, 3) [-]."""
        data = self._model.createData()
        pin.forwardKinematics(self._model, data, pin.neutral(self._model))
        return np.array(data.oMi[self.joint(i).id].rotation)

    def _unknown(self, prefix: str) -> UnknownNameError:
        names = [name for joint in self._joints[1:] for name in dict.fromkeys((joint.link, joint.name))]
        near = close_names(prefix, {name[: len(prefix)] for name in names})
        suggest = [name for name in names if name[: len(prefix)] in near]
        return unknown_name("joint or link that begins with", prefix, names, suggest=suggest)

    def __repr__(self) -> str:
        return f"ArticulatedBody({self._model.name!r}, {self.nrJ()} joints)"


def links_of(model: pin.Model) -> dict[str, str]:
    """Name of the link that each joint of a model moves, by the joint's name; of several, the first one."""
    links: dict[str, str] = {}
    for frame in model.frames:
        if frame.type == pin.FrameType.BODY and frame.parentJoint > 0:
            links.setdefault(model.names[frame.parentJoint], frame.name)
    return links
