"""Kinematic tree of the algorithms: elementary joints, and bodies with regrouped inertias."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.dynamics.frame_choice import Branch, along_z, choose_slides, slid
from trajopt.dynamics.joint_table import ElementaryJoint, Rate, expand_joint, placed_at
from trajopt.dynamics.rigid_parameters import RigidParameters, cleaned
from trajopt.dynamics.spatial import Inertia, Placement, Spatial, rounded, spatial
from trajopt.dynamics.variable_bodies import Parameters, placements, variable_bodies
from trajopt.lie.scalars import plus, times


@dataclass
class Link:
    """One elementary joint with the body that it moves.

    Attributes:
        parent: Index of the parent link, -1 for the world.
        joint: The elementary joint.
        before: Constant placement of the joint frame in the parent's frame.
        placement: Placement of the link's frame in the parent's frame, SX.
        columns: Motion subspace S in the link's frame, one Spatial per rate.
        first: Index of this link's first rate among all rates of the tree.
        inertia: The regrouped inertia, which is equivalent for joint torques only.
        second_moments: J = Σ m r rᵀ of the regrouped inertia, SX (3, 3).
    """

    parent: int
    joint: ElementaryJoint
    before: pin.SE3
    placement: Placement
    columns: list[Spatial]
    first: int
    inertia: Inertia
    second_moments: SX


class Tree:
    """The links of a model at a configuration q, parents first.

    Inertias are regrouped (Khalil & Dombre 2002, ch. 9.4.2): if part of a body's inertia has the same effect when it is
    fixed to the parent, it is moved to the parent; an example is a mass on the axis of a revolute joint. The joint
    torques remain the same functions of (q, v, a), with 3 parameters fewer at each revolute joint.

    Args:
        model: Pinocchio's model.
        q: Configuration, SX (nq,).
        parameters: Run-time parameters of the robot; none by default.

    Attributes:
        links: Elementary joints with their bodies.
        attachment: For each joint of the model, (link, constant placement of Pinocchio's joint frame in it).
        frames: Link of each frame whose placement is a parameter, by the frame's index.
        rates: For each rate of the tree, {velocity index: coefficient}.
        grounded: First moment (3,) that regrouping moved to the world; it counts for the centre of mass only [kg m].
        mass: Total mass of the bodies [kg].
    """

    def __init__(self, model: pin.Model, q: SX, parameters: Parameters | None = None) -> None:
        self.links: list[Link] = []
        self.attachment: list[tuple[int, pin.SE3]] = [(-1, pin.SE3.Identity())]
        self.rates: list[Rate] = []
        self.frames: dict[int, int] = {}
        self._grow(model, q, *(placements(model, parameters or {}, frames=frames) for frames in (False, True)))
        variable = variable_bodies(model, parameters or {})
        self.grounded, self.mass = SX(3, 1), SX(0)
        fixed = [joint for joint in range(1, model.njoints) if joint not in variable]
        self._add([(joint, RigidParameters.of(model.inertias[joint])) for joint in fixed], SX(1))
        for pieces in variable.values():
            for joint, body, factor in pieces:
                self._add([(joint, body)], factor)

    @property
    def is_direct(self) -> bool:
        """True if the rates of the tree are the velocities of the model: no mimic and no ellipsoid joint."""
        return all(rate == {i: 1.0} for i, rate in enumerate(self.rates))

    def carrier(self, frame_id: int, frame: pin.Frame) -> tuple[int, pin.SE3]:
        """Link that carries a frame, -1 for the world, and the frame's constant placement in it."""
        if frame_id in self.frames:
            return self.frames[frame_id], pin.SE3.Identity()
        link, offset = self.attachment[frame.parentJoint]
        return link, offset * frame.placement

    def _grow(
        self, model: pin.Model, q: SX, of_joints: Mapping[int, Placement], of_frames: Mapping[int, Placement]
    ) -> None:
        """Appends the links of every joint, with their frames moved along their axes.

        A joint with a variable placement follows a link without rates, which has this placement in the parent. So does
        a frame with one.
        """
        joints: list[ElementaryJoint] = []
        branches: list[Branch] = []
        for joint_id in range(1, model.njoints):
            link, offset = self.attachment[model.parents[joint_id]]
            if joint_id in of_joints:
                branches.append(Branch(link, "fixed", offset))
                joints.append(placed_at(of_joints[joint_id]))
                link, offset = len(joints) - 1, pin.SE3.Identity()
            else:
                offset = offset * model.jointPlacements[joint_id]
            chain, after = expand_joint(model, joint_id, q)
            for joint in chain:
                branches.append(Branch(link, joint.kind, offset * joint.before))
                joints.append(joint)
                link, offset = len(joints) - 1, pin.SE3.Identity()
            self.attachment.append((link, offset * after))
        for frame_id, placement in of_frames.items():
            link, offset = self.attachment[model.frames[frame_id].parentJoint]
            branches.append(Branch(link, "fixed", offset))
            joints.append(placed_at(placement))
            self.frames[frame_id] = len(joints) - 1
        slides = choose_slides(branches)
        for i, joint in enumerate(joints):
            before = _rounded_placement(slid(branches, slides, i))
            placement = constant_placement(before).compose(joint.motion)
            columns = [spatial(joint.subspace[:, k]) for k in range(joint.subspace.shape[1])]
            none, first = RigidParameters.zero(), len(self.rates)
            inertia, moments = none.expression(), SX(none.second_moments())
            self.links.append(Link(branches[i].parent, joint, before, placement, columns, first, inertia, moments))
            self.rates.extend(joint.rates)
        self.attachment = [
            (link, _rounded_placement(along_z(-slides[link]) * after if link >= 0 else after))
            for link, after in self.attachment
        ]

    def _add(self, bodies: Iterable[tuple[int, RigidParameters]], factor: SX) -> None:
        """Adds bodies in the frames of some joints, multiplied by a factor; valid since regrouping is linear."""
        parameters = [RigidParameters.zero() for _ in range(len(self.links) + 1)]  # the last ones are the world's
        for joint, body in bodies:
            i, after = self.attachment[joint]
            parameters[i] = parameters[i].plus(body.seen_from(after))
            self.mass += factor * body.mass
        for i in reversed(range(len(self.links))):
            if parameters[i].is_zero():  # with a parameter of one body, all links but those from it to the root
                continue
            link = self.links[i]
            moved = _movable(link.joint.kind, parameters[i])
            parameters[i] = parameters[i].minus(moved)
            parameters[link.parent] = parameters[link.parent].plus(moved.seen_from(link.before))
            link.inertia = _sum(link.inertia, parameters[i].expression(), factor)
            second_moments = SX(cleaned(parameters[i].second_moments()))
            link.second_moments = plus(link.second_moments, times(factor, second_moments))
        self.grounded = self.grounded + factor * SX(parameters[-1].moment)


def _sum(a: Inertia, b: Inertia, factor: SX) -> Inertia:
    """Sum a + factor b."""
    rotational = plus(a.rotational, times(factor, b.rotational))
    return Inertia(plus(a.mass, times(factor, b.mass)), plus(a.moment, times(factor, b.moment)), rotational)


def constant_placement(placement: pin.SE3) -> Placement:
    """A numeric placement as an expression with exact zeros and ones."""
    return Placement(SX(rounded(placement.rotation)), SX(rounded(placement.translation)))


def _rounded_placement(placement: pin.SE3) -> pin.SE3:
    return pin.SE3(rounded(placement.rotation), rounded(placement.translation))


def _movable(kind: str, inertia: RigidParameters) -> RigidParameters:
    """Part of a child's inertia that has the same effect when it is fixed to the joint frame of the parent."""
    if kind == "revolute":  # a mass distribution on the z axis
        moment = np.array([0.0, 0.0, inertia.moment[2]])
        across = inertia.rotational[1, 1]
        return RigidParameters(inertia.mass, moment, np.diag([across, across, 0.0]))
    if kind in ("prismatic", "translation"):  # the joint does not turn it
        return RigidParameters(0.0, np.zeros(3), inertia.rotational.copy())
    if kind == "spherical":  # a point mass at the centre
        return RigidParameters(inertia.mass, np.zeros(3), np.zeros((3, 3)))
    return RigidParameters.zero()
