"""Slots for the obstacles near a link: rows whose obstacle is a set of run-time numbers."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.dynamics.rates import rate_motions, rates_moving, velocities_of_rates
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.kernels import Array, PairCalls, Program
from trajopt.kernels.tables import Table
from trajopt.residuals.link_bodies import LinkBodies
from trajopt.residuals.link_slots import FAR, ROUND_OFF
from trajopt.residuals.nearest import in_place, nearest
from trajopt.robots.box_distances import box_gap, segment_box
from trajopt.robots.closest_points import axis_gap, closest_points, length_and_direction
from trajopt.robots.distance_grid import WIDTH as GRID_WIDTH
from trajopt.robots.distance_grid import grid_distance
from trajopt.robots.distance_grid import off as no_grid
from trajopt.types import Ints, Reals

NONE = 1e200  # distance of a candidate that a link does not have, times its place [m]


@dataclass(frozen=True, kw_only=True, eq=False)
class SceneSlots:
    """Rows of each link for the nearest obstacles of one kind: those with an axis (balls, capsules), boxes, or meshes.

    The numbers of a slot are the index of its body and obstacle, the ends of the body's axis in the frame of its joint
    and its radius, then the numbers of the obstacle: the ends of its axis and its radius, the placement and the half
    sides of a box, or the placement and the grid of a mesh, see `grid_distance`. Bodies near a mesh are balls.

    Attributes:
        names: Names of the obstacles.
        points: Number of points of each obstacle: 1 of a ball, 2 of a capsule, 0 of others.
        links: Indices of the bodies of each link, by the joint that carries them.
        bodies: The bodies.
        count: Largest number of slots of a link [-].
        grids: Numbers of the grid of each mesh (obstacles, 8); None for other obstacles.
        table: Coefficients of these grids.
    """

    names: tuple[str, ...]
    points: tuple[int, ...]
    links: Mapping[int, Ints]
    bodies: LinkBodies
    count: int
    grids: Reals | None = None
    table: Table | None = None

    @property
    def kind(self) -> str:
        """Kind of the obstacles: "round", "box" or "mesh"."""
        return "round" if self.points[0] else "box" if self.grids is None else "mesh"

    @property
    def width(self) -> int:
        """Number of numbers of a slot [-]."""
        return 8 + {"round": 7, "box": 15, "mesh": GRID_WIDTH}[self.kind]

    @property
    def _counts(self) -> list[int]:
        return list(self.counts.values())

    @property
    def counts(self) -> dict[int, int]:
        """Number of slots of each link [-]."""
        return {joint: min(self.count, len(own) * len(self.names)) for joint, own in self.links.items()}

    @property
    def size(self) -> int:
        """Number of slots of all links [-]."""
        return sum(self.counts.values())

    def numbers(self, values: Mapping[str, Reals]) -> Reals:
        """Numbers of each obstacle (n, obstacles, width - 8), from the parameters of n knots by name."""
        columns = []
        for i, (name, points) in enumerate(zip(self.names, self.points)):
            place = values[name]
            if self.grids is not None:
                parts = [place, np.tile(self.grids[i], (len(place), 1))]
            elif self.kind == "box":
                parts = [place, values[f"{name}_size"] / 2.0]
            else:
                ends = place.reshape(-1, 3, points).transpose(0, 2, 1).reshape(-1, 3 * points)
                parts = [np.tile(ends, 3 - points), values[f"{name}_radius"]]
            columns.append(np.concatenate(parts, axis=1))
        return np.stack(columns, axis=1)

    def symbols(self, symbols: Mapping[str, SX]) -> SX:
        """Numbers of all obstacles in a column, from the symbols of their parameters by name; as `numbers`."""
        columns = list[SX]()
        for i, (name, points) in enumerate(zip(self.names, self.points)):
            place = symbols[name]
            if self.grids is not None:
                columns += [ca.vec(place), SX(self.grids[i])]
            elif self.kind == "box":
                columns += [ca.vec(place), symbols[f"{name}_size"] / 2.0]
            else:
                ends = place.T if points == 2 else ca.vec(place)
                columns += [ca.vec(ca.repmat(ends, 1, 3 - points)), symbols[f"{name}_radius"]]
        return SX(ca.vertcat(*columns))

    def filled(self, gaps: Reals, values: Mapping[str, Reals], slots: Reals) -> Reals:
        """Numbers of all slots (n, size · width) with the nearest obstacles of each link.

        Args:
            gaps: Distances (n, bodies · obstacles) of the bodies of all links, link by link [m].
            values: Parameters of the obstacles by name, (n, size) each.
            slots: Present numbers; obstacles that remain keep their place.
        """
        n, numbers, (links, most) = len(gaps), self.numbers(values), self._candidates.shape
        width = min(self.count, most)
        there = np.arange(width) < np.array(self._counts)[:, None]
        own = np.where(self._candidates >= 0, gaps[:, self._candidates], NONE * np.arange(1, most + 1))
        old = np.tile(np.arange(width), (n, links, 1))
        old[:, there] = slots.reshape(n, self.size, self.width)[:, :, 0]
        chosen = in_place(old.reshape(-1, width), nearest(own.reshape(-1, most), width))
        index = chosen.reshape(n, links, width)[:, there]
        body, obstacle = self._members[np.nonzero(there)[0], index // len(self.names)], index % len(self.names)
        parts = [index[:, :, None], self.bodies.numbers[body], numbers[np.arange(n)[:, None], obstacle]]
        return np.concatenate(parts, axis=2).reshape(n, -1)

    @functools.cached_property
    def _candidates(self) -> Ints:
        """Columns of the distances of each link among those of all links (links, most); -1 beyond its last one."""
        sizes = np.array([len(own) * len(self.names) for own in self.links.values()])[:, None]
        places = np.arange(sizes.max())
        return np.where(places < sizes, np.cumsum(sizes, axis=0) - sizes + places, -1)

    @functools.cached_property
    def _members(self) -> Ints:
        """Indices of the bodies of each link (links, most); 0 beyond its last one."""
        members = np.zeros((len(self.links), max(map(len, self.links.values()))), dtype=np.int64)
        for row, own in zip(members, self.links.values()):
            row[: len(own)] = own
        return members

    def off(self) -> Reals:
        """Numbers of slots without an obstacle (size · width): a distance of about 1 km."""
        numbers = np.zeros((self.size, self.width))
        numbers[:, 0], numbers[:, 7] = -1.0, -FAR
        if self.kind == "mesh":
            numbers[:, 8:] = no_grid()
        return numbers.ravel()

    def add_gaps(self, program: Program, bodies: Array, obstacles: Array) -> Array:
        """Adds the distances (bodies · obstacles, 1) of the bodies of all links, link by link [m].

        Args:
            program: Program that gets the step.
            bodies: The bodies in the world, 7 numbers each; see `axis_gap`.
            obstacles: Numbers of the obstacles, one after the other.
        """
        function = axis_gap() if self.kind == "round" else box_gap() if self.table is None else mesh_gap(self.table)
        pairs = [(i, j) for own in self.links.values() for i in own.tolist() for j in range(len(self.names))]
        step = PairCalls.new(program, function, bodies, obstacles, pairs)
        program.add_step(step)
        return step.result

    def indices(self) -> Ints:
        """Index of the body of each distance, and -1 for its obstacle (bodies · obstacles, 2)."""
        own = self.bodies.owners[np.repeat(np.concatenate(list(self.links.values())), len(self.names))]
        return np.stack([own, np.full(len(own), -1)], axis=1)

    def labels(self, names: Sequence[str]) -> list[str]:
        """Words for all bodies and obstacles, from the names of the bodies."""
        owners = [names[i] for own in self.links.values() for i in self.bodies.owners[own].tolist()]
        return [f"{owner} and {name}" for owner in owners for name in self.names]

    def labels_of(self, slots: Reals, names: Sequence[str]) -> list[list[str]]:
        """Words for the body and obstacle of each slot, from numbers (n, size · width); empty for a slot without."""
        words, first = self.labels(names), 0
        starts = list[int]()
        for joint, own in self.links.items():
            starts += [first] * self.counts[joint]
            first += len(own) * len(self.names)
        chosen = slots.reshape(len(slots), self.size, self.width)[:, :, 0].astype(np.int64)
        return [["" if i < 0 else words[start + i] for start, i in zip(starts, row)] for row in chosen.tolist()]

    def has_row(self, slots: Reals) -> npt.NDArray[np.bool_]:
        """Mask (n, bodies · obstacles) of those that have a slot; `slots` are their numbers (n, size · width)."""
        masks, first = list[npt.NDArray[np.bool_]](), 0
        chosen = slots.reshape(len(slots), self.size, self.width)[:, :, 0].astype(np.int64)
        for joint, own in self.links.items():
            end = first + self.counts[joint]
            masks.append(np.zeros((len(slots), len(own) * len(self.names)), dtype=np.bool_))
            np.put_along_axis(masks[-1], chosen[:, first:end], True, axis=1)
            first = end
        return np.concatenate(masks, axis=1)

    def rows(self, robot: RobotExpressions, slots: SX) -> tuple[SX, SX]:
        """Distances (size,) [m] and their derivative by q (size, nv), of slots (width, size)."""
        motions, coefficients = rate_motions(robot.tree), velocities_of_rates(robot.tree, robot.model.nv)
        distances, derivatives = list[SX](), list[SX]()
        columns = iter(ca.horzsplit(slots))
        for joint, count in self.counts.items():
            rotation, position = robot.joint_placement(joint)
            moved = rates_moving(robot.tree, joint)
            for _ in range(count):
                numbers = next(columns)
                points = rotation @ ca.reshape(numbers[1:7], 3, 2) + position
                distance, wrench = self._gap(points, numbers[8:])
                rates = SX(motions.shape[1], 1)
                rates[moved] = motions[:, moved].T @ wrench
                distances.append(distance - numbers[7])
                derivatives.append(rates.T @ coefficients)
        return SX(ca.vertcat(*distances)), SX(ca.vertcat(*derivatives))

    @functools.cached_property
    def _gap(self) -> ca.Function:
        return _axis_gap(self.kind == "box") if self.table is None else _ball_gap(self.table)


def mesh_gap(table: Table) -> ca.Function:
    """(ends (6,) of the axis of a ball, which are equal, and radius, numbers of a mesh) -> distance of the two [m]."""
    body, mesh = SX.sym("body", 7), SX.sym("mesh", GRID_WIDTH)
    return ca.Function("mesh_gap", [body, mesh], [grid_distance(body[:3], mesh, table, derivatives=False) - body[6]])


def _ball_gap(table: Table) -> ca.Function:
    """(ends (3, 2), which are equal, numbers of a mesh) -> distance, and the wrench of its derivative (6,)."""
    ends, numbers = SX.sym("ends", 3, 2), SX.sym("mesh", GRID_WIDTH)
    point = SX.sym("point", 3)
    distance = grid_distance(point, numbers, table)
    slope = ca.gradient(distance, point)
    wrench = ca.vertcat(slope, ca.cross(point, slope))
    found = ca.Function("at", [point, numbers], [distance, wrench])
    return ca.Function("gap", [ends, numbers], found.call([ends[:, 0], numbers]))


@functools.cache
def _axis_gap(boxes: bool) -> ca.Function:
    """(ends (3, 2), numbers of an obstacle) -> distance from the axis, and the wrench of its derivative (6,)."""
    ends = SX.sym("ends", 3, 2)
    if boxes:
        numbers = SX.sym("box", 15)
        rotation, position = ca.reshape(numbers[:9], 3, 3), numbers[9:12]
        start, along = ends[:, 0], ends[:, 1] - ends[:, 0]
        distance, normal, share = segment_box(rotation.T @ (start - position), rotation.T @ along, numbers[12:])
        normal, point = rotation @ normal, start + share * along
    else:
        numbers = SX.sym("axis", 7)
        first, second = ends.T, ca.reshape(numbers[:6], 3, 2).T
        weights = closest_points(first, second, degenerate=True)
        point = first.T @ weights[0]
        length, normal = length_and_direction(point - second.T @ weights[1], ROUND_OFF)
        distance = length - numbers[6]
    return ca.Function("gap", [ends, numbers], [distance, ca.vertcat(normal, ca.cross(point, normal))])
