"""Articulated body: the tree of joints with their links and shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from trajopt.checks import check_count, check_flag, check_text
from trajopt.errors import InvalidArgumentError, UnknownNameError, close_names, unknown_name
from trajopt.simulator.end_spheres import shapes_on
from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True)
class BodyJoint:
    """Joint and the link that it moves.

    Attributes:
        id: Index of the joint; 0 is the world.
        link: Name of the link.
        name: Name of the joint.
        nq: Number of coordinates [-].
        nv: Number of velocities [-].
        parent: Index of the parent joint; -1 for the world.
    """

    id: int
    link: str
    name: str
    nq: int
    nv: int
    parent: int

    @property
    def _name(self) -> str:
        """Name of the link; DiffNE calls a joint by its link."""
        return self.link

    def begins_with(self, prefix: str) -> bool:
        """Whether the name of the link or of the joint begins with `prefix`."""
        check_text("prefix", prefix, such_as="limb1_link2")
        return self.link.startswith(prefix) or self.name.startswith(prefix)


class ArticulatedBody:
    """Tree of joints: the world (joint 0), the base, then all joints, each after its parent.

    Args:
        model: The robot.
        links: Name of each joint's link, by the name of the joint.
        shapes: Function that loads the shapes of a kind, "collision" or "visual".
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
        """Number of joints, including the world."""
        return len(self._joints)

    def joint(self, i: int) -> BodyJoint:
        """Joint with index i."""
        return self._joints[check_count("i", i, most=len(self._joints) - 1)]

    def children(self, i: int, direct: bool = False) -> tuple[int, ...]:
        """Indices of the joints below joint i; with `direct`, only its children."""
        above = {self.joint(i).id}
        below: list[int] = []
        for joint in self._joints[i + 1 :]:
            if joint.parent in above:
                below.append(joint.id)
                above |= set() if check_flag("direct", direct) else {joint.id}
        return tuple(below)

    def beginning_with(self, prefix: str) -> tuple[BodyJoint, ...]:
        """Joints whose name, or whose link's name, begins with `prefix`.

        Raises:
            UnknownNameError: No name begins with it.
        """
        if not check_text("prefix", prefix, such_as="limb1_link2"):
            raise InvalidArgumentError("prefix: expected the beginning of a name such as 'limb1_link2', got ''")
        joints = tuple(joint for joint in self._joints[1:] if joint.begins_with(prefix))
        if not joints:
            raise self._unknown(prefix)
        return joints

    def shapes(self, i: int, kind: str) -> list[pin.GeometryObject]:
        """Shapes on joint i, "collision" or "visual"; placements are in the joint's axes."""
        return shapes_on(self.joint(i).id, self._shapes(kind))

    def rotation_at_zero(self, i: int) -> Reals:
        """Rotation R_world_joint of joint i with all joints at zero (3, 3) [-]."""
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
    """Name of the link that each joint moves, by the joint's name; if it moves several, the first one."""
    links: dict[str, str] = {}
    for frame in model.frames:
        if frame.type == pin.FrameType.BODY and frame.parentJoint > 0:
            links.setdefault(model.names[frame.parentJoint], frame.name)
    return links
