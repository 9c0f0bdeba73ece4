"""Slots for pairs of links: rows whose two bodies are run-time numbers."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt.dynamics.rates import rate_motions, rates_moving, velocities_of_rates
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.kernels import Array, PairCalls, Program
from trajopt.residuals.nearest import in_place, nearest
from trajopt.robots import Robot
from trajopt.robots.closest_points import axis_gap, closest_points, length_and_direction
from trajopt.robots.collisions.collision_shapes import CollisionShapes
from trajopt.robots.frame_index import frame_index
from trajopt.types import Ints, Reals

FAR = 1e3  # distance of a slot without bodies [m]
ROUND_OFF = 1e-9  # keeps the derivative finite if axes meet [m]


@dataclass(frozen=True, eq=False)
class LinkSlots:
    """Rows |p1 - p2| - (ρ1 + ρ2) of as many pairs of bodies as there are slots.

    The numbers of a slot are the index of its pair, a unit vector that selects the joint of either body among
    `joints`, the ends of both axes in the frames of these joints, and ρ1 + ρ2.

    Attributes:
        joints: Joints of the model that carry the first and the second bodies.
        pairs: Indices of the two bodies of each pair (pairs, 2).
        groups: Number of the two joints of each pair (pairs,).
        table: Numbers of a slot for each pair (pairs, width) [-, m].
        count: Number of slots [-].
    """

    joints: tuple[tuple[int, ...], tuple[int, ...]]
    pairs: Ints
    groups: Ints
    table: Reals
    count: int

    @classmethod
    def of(cls, robot: Robot, shapes: CollisionShapes, count: int) -> LinkSlots:
        """Slots for the pairs of collision shapes, at most one for each pair."""
        carriers, points = in_joints(robot.model, shapes)
        pairs, radii = np.array(shapes.pairs, dtype=np.int64), np.array([body.radius for body in shapes.bodies])
        groups = np.unique(np.sort(carriers[pairs], axis=1), axis=0, return_inverse=True)[1].ravel()
        joints = [tuple(sorted(set(carriers[side].tolist()))) for side in pairs.T]
        units = [np.eye(len(own))[np.searchsorted(own, carriers[side])] for own, side in zip(joints, pairs.T)]
        ends = [points[side].reshape(-1, 6) for side in pairs.T]
        table = np.column_stack([np.arange(len(pairs)), *units, *ends, radii[pairs].sum(axis=1)])
        return cls((joints[0], joints[1]), pairs, groups, table, min(count, len(pairs)))

    @property
    def width(self) -> int:
        """Number of numbers of a slot [-]."""
        return int(self.table.shape[1])

    @property
    def size(self) -> int:
        """Number of rows [-]."""
        return self.count

    def filled(self, gaps: Reals, values: Mapping[str, Reals], slots: Reals) -> Reals:
        """Numbers of all slots (n, count · width) with the nearest pairs.

        Args:
            gaps: Distances of all pairs (n, pairs) [m].
            values: Parameters of obstacles, which have no effect.
            slots: Present numbers; pairs that remain keep their place.
        """
        old = slots.reshape(-1, self.count, self.width)[:, :, 0].astype(np.int64)
        return self.table[in_place(old, nearest(gaps, self.count, self.groups))].reshape(len(gaps), -1)

    def off(self) -> Reals:
        """Numbers of slots without a pair (count · width): a distance of 1 km without a derivative."""
        numbers = np.zeros((self.count, self.width))
        numbers[:, 0], numbers[:, -1] = -1.0, -FAR
        return numbers.ravel()

    def add_gaps(self, program: Program, bodies: Array) -> Array:
        """Adds the distances (pairs, 1) of all pairs [m], from the bodies, 7 numbers each; see `axis_gap`."""
        step = PairCalls.new(program, axis_gap(), bodies, bodies, [(i, j) for i, j in self.pairs.tolist()])
        program.add_step(step)
        return step.result

    def indices(self) -> Ints:
        """Indices of the bodies of all pairs (pairs, 2)."""
        return self.pairs

    def labels(self, names: Sequence[str]) -> list[str]:
        """Words for all pairs, from the names of the bodies."""
        return [f"{names[i]} and {names[j]}" for i, j in self.pairs.tolist()]

    def labels_of(self, slots: Reals, names: Sequence[str]) -> list[list[str]]:
        """Words for the pair of each slot, from numbers (n, count · width) of slots; empty for a slot without one."""
        words = [*self.labels(names), ""]  # a slot without a pair has the index -1
        chosen = slots.reshape(len(slots), self.count, self.width)[:, :, 0].astype(np.int64)
        return [[words[i] for i in row] for row in chosen.tolist()]

    def has_row(self, slots: Reals) -> npt.NDArray[np.bool_]:
        """Mask (n, pairs) of the pairs that have a slot; `slots` are their numbers (n, count · width)."""
        mask = np.zeros((len(slots), len(self.pairs)), dtype=np.bool_)
        chosen = slots.reshape(len(slots), self.count, self.width)[:, :, 0].astype(np.int64)
        np.put_along_axis(mask, chosen, True, axis=1)
        return mask

    def rows(self, robot: RobotExpressions, slots: SX) -> tuple[SX, SX]:
        """Distances (count,) [m] and their derivative by q (count, nv), of slots (width, count)."""
        _, *selectors, first, second, radii = ca.vertsplit(slots, self._places)
        placements = [_selected(robot, own, each) for own, each in zip(self.joints, selectors)]
        found = [
            _gap()(placements[0][:, i], first[:, i], placements[1][:, i], second[:, i], radii[i])
            for i in range(self.count)
        ]
        distances, wrenches = (ca.horzcat(*each) for each in zip(*found))
        first_moves, second_moves = (_moved(robot, own) @ each for own, each in zip(self.joints, selectors))
        rates = (rate_motions(robot.tree).T @ wrenches) * (first_moves - second_moves)
        return distances.T, rates.T @ velocities_of_rates(robot.tree, robot.model.nv)

    @property
    def _places(self) -> list[int]:
        sizes = [1, *map(len, self.joints), 6, 6, 1]
        return np.cumsum([0, *sizes]).tolist()


def in_joints(model: pin.Model, shapes: CollisionShapes) -> tuple[Ints, Reals]:
    """Joint (n,) that carries each body, and the ends (n, 2, 3) of its axis in the joint's frame [m]."""
    frames = [model.frames[frame_index(model, str(body.frame))] for body in shapes.bodies]
    ends = [np.broadcast_to(body.points, (2, 3)) for body in shapes.bodies]
    points = [each @ frame.placement.rotation.T + frame.placement.translation for each, frame in zip(ends, frames)]
    return np.array([frame.parentJoint for frame in frames]), np.array(points).reshape(-1, 2, 3)


def _selected(robot: RobotExpressions, joints: tuple[int, ...], units: SX) -> SX:
    """Rotation, column by column, and position (12, n) of the joints that unit vectors (joints, n) select."""
    columns = [ca.vertcat(ca.vec(rotation), position) for rotation, position in map(robot.joint_placement, joints)]
    return SX(ca.horzcat(*columns) @ units)


def _moved(robot: RobotExpressions, joints: tuple[int, ...]) -> SX:
    """1 where a rate of the tree moves a joint (rates, joints)."""
    moved = SX(len(robot.tree.rates), len(joints))
    for column, joint in enumerate(joints):
        moved[rates_moving(robot.tree, joint), column] = 1.0
    return moved


@functools.cache
def _gap() -> ca.Function:
    """(placement (12,), ends (6,), placement, ends, ρ1 + ρ2) -> distance, and the wrench of its derivative (6,)."""
    symbols = [SX.sym(name, n) for name, n in (("A", 12), ("a", 6), ("B", 12), ("b", 6), ("radii", 1))]
    first, second = (_in_world(symbols[i], symbols[i + 1]) for i in (0, 2))
    weights = closest_points(first, second, degenerate=True)
    point = first.T @ weights[0]
    length, normal = length_and_direction(point - second.T @ weights[1], ROUND_OFF)
    return ca.Function("gap", symbols, [length - symbols[4], ca.vertcat(normal, ca.cross(point, normal))])


def _in_world(placement: SX, ends: SX) -> SX:
    """Ends (2, 3) of an axis in the world [m]."""
    return SX((ca.reshape(placement[:9], 3, 3) @ ca.reshape(ends, 3, 2) + placement[9:]).T)
