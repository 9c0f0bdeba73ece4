"""Residual of the distances of those bodies that are nearest to one another."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_array, check_count, check_finite, check_instance, check_positive
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels import Program
from trajopt.model.parameters import Parameter
from trajopt.residuals.link_bodies import LinkBodies
from trajopt.residuals.link_slots import LinkSlots, in_joints
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.residuals.scene_slots import SceneSlots
from trajopt.robots.box import Box, check_size
from trajopt.robots.distance_grid import in_one_table
from trajopt.robots.parameters import PLACEMENT_QUANTITIES
from trajopt.robots.placements import check_placement
from trajopt.robots.round_bodies import Capsule, Sphere, check_ends
from trajopt.robots.scene import Body, Scene
from trajopt.robots.triangle_mesh import TriangleMesh
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state
from trajopt.types import Ints, Reals

OWN = 0.01
"""Largest margin between links where there are obstacles: shapes contain the links already [m]."""


class ResidualModelCollisions(ResidualModelMultibody):
    """Signed distances of the links that are nearest to each other, and of the obstacles nearest to each link [m].

    The bodies are the spheres and capsules of `Robot.collision_shapes`. A row is a slot: which two bodies it measures
    is a run-time number, chosen anew for each knot before each expansion of a problem. So the cost of a row does not
    depend on the number of bodies, and obstacles that move, come or go compile nothing. Values and derivatives are
    those of `ResidualModelPairDistance`. A constraint has the bound r >= 0 by default. In a cost the bodies of a row
    would stay those of the neutral configuration.

    Args:
        state: State of a robot with collision geometry.
        scene: Obstacles in the world; none by default. The run-time parameters of an obstacle "table" are, in a
            constraint "collisions", "collisions.table", the centre (3,) of a sphere, the ends (2, 3) of a capsule or
            the placement (3, 4) of a box or mesh in the world, and "collisions.table_radius" or, of a box, its sides
            "collisions.table_size" (3,) [m]. An obstacle that is not there is far away. Near a mesh with a grid, a
            capsule is a row of balls that contains it and is at most 3.1 % thicker.
        pairs: Largest number of pairs of links that have a row at a knot, >= 1 [-]. More than two pairs of the same two
            joints have one only if all others have.
        obstacles: Largest number of rows at a knot for each link and the balls and capsules near it, again for the
            boxes and for the meshes near it, >= 1 [-]. Bodies count as one link if one joint carries them.

    Attributes:
        scene: The obstacles where they were at the construction; None without any.

    Raises:
        InvalidArgumentError: The robot has no collision geometry, or there are no bodies that may touch.
    """

    not_content = (*ResidualModelMultibody.not_content, "scene")  # its numbers are values of parameters

    def __init__(
        self, state: StateAbstract, scene: Scene | None = None, *, pairs: int = 12, obstacles: int = 4
    ) -> None:
        robot = check_robot_state(type(self).__name__, state).robot
        pairs, obstacles = check_count("pairs", pairs, least=1), check_count("obstacles", obstacles, least=1)
        self.scene = scene
        there = {} if scene is None else dict(check_instance("scene", scene, Scene).obstacles)
        shapes = robot.collision_shapes
        self._carriers, self._ends = in_joints(robot.model, shapes)
        self._radii = np.array([body.radius for body in shapes.bodies])
        joints = [joint for joint in np.unique(self._carriers).tolist() if joint]
        self._slots: dict[str, LinkSlots | SceneSlots] = {}
        if shapes.pairs:
            self._slots["pair"] = LinkSlots.of(robot, shapes, pairs)
        for kind in ("round", "box", "mesh"):
            own = {name: each for name, each in there.items() if _kind(each) == kind}
            if own and joints:
                self._slots[kind] = self._scene_slots(own, joints, obstacles)
        if not self._slots:
            raise InvalidArgumentError(
                f"state: expected a robot with links that may touch, got {robot.name!r}, whose collision shapes have "
                "no pairs; leave collisions out, or pass a Scene"
            )
        super().__init__(state, sum(each.size for each in self._slots.values()), unit="m")
        for name, obstacle in there.items():
            self._declare(name, obstacle)
        values = {name: p.flat(p.default)[None] for name, p in self.parameters().items()}
        first = self._at_rest(values)
        self._symbols = {
            kind: self.parameter(name, first[name].reshape(-1, self._slots[kind].width).T, unit="-, m")
            for kind, name in self._names.items()
        }

    def _scene_slots(self, obstacles: Mapping[str, Body], joints: Sequence[int], count: int) -> SceneSlots:
        """Slots of obstacles of one kind for the bodies that joints carry."""
        meshes = [each.grid for each in obstacles.values() if isinstance(each, TriangleMesh)]
        bodies = (LinkBodies.balls if meshes else LinkBodies.whole)(self._ends, self._radii)
        carriers = self._carriers[bodies.owners]
        grids, table = in_one_table(meshes) if meshes else (None, None)
        return SceneSlots(
            names=tuple(obstacles),
            points=tuple(map(_points_of, obstacles.values())),
            links={joint: np.flatnonzero(carriers == joint) for joint in joints},
            bodies=bodies,
            count=count,
            grids=grids,
            table=table,
        )

    def _declare(self, name: str, obstacle: Body) -> None:
        """Declares the parameters of an obstacle; compiled code reads those of slots only."""
        if isinstance(obstacle, (Box, TriangleMesh)):
            self.parameter(name, obstacle.placement, unit="-, m", convert=check_placement)
            if isinstance(obstacle, Box):
                self.parameter(f"{name}_size", obstacle.size, unit="m", convert=check_size)
            return
        if isinstance(obstacle, Capsule):
            self.parameter(name, obstacle.points, unit="m", convert=_check_ends)
        else:
            self.parameter(name, obstacle.points[0], unit="m")
        self.parameter(f"{name}_radius", obstacle.radius, unit="m", convert=_check_radius)

    @property
    def _names(self) -> dict[str, str]:
        """Name of the parameter with the numbers of slots, by kind."""
        return {kind: f"{kind}_slots" for kind in self._slots}

    def margins(self, margin: float) -> Reals:
        """Least distance of each row (rows,) [m]: where there are obstacles, of links from each other at most OWN."""
        least, of_links = check_finite("margin", margin), self._slots["pair"].size if "pair" in self._slots else 0
        return np.where(np.arange(self.size(0)) < of_links, own_margin(least, self.scene), least)

    @property
    def own_bounds(self) -> tuple[Reals, Reals]:
        """Bound 0 <= r: the bodies do not overlap."""
        return np.zeros(self.size(0)), np.full(self.size(0), np.inf)

    def bodies_of_rows(self, values: Mapping[str, Reals]) -> list[list[str]]:
        """Words for what each row measures, such as "panda_hand and table", (n, rows); empty for a row without bodies.

        Args:
            values: Parameters by name (n, size), flat; those of slots say which bodies have a row.
        """
        names = self.state.robot.collision_shapes.names
        kinds = [each.labels_of(values[self._names[kind]], names) for kind, each in self._slots.items()]
        return [[words for part in parts for words in part] for parts in zip(*kinds)]

    def evaluate(self, instant: Instant) -> SX:
        return self._rows(instant)[0]

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        rows = self._rows(instant)[1]
        return self.pad(rows), SX(rows.shape[0], instant.nu)

    def _rows(self, instant: Instant) -> tuple[SX, SX]:
        def build() -> tuple[SX, SX]:
            rows = [each.rows(instant.robot, self._symbols[kind]) for kind, each in self._slots.items()]
            return SX(ca.vertcat(*(r for r, _ in rows))), SX(ca.vertcat(*(J for _, J in rows)))

        return instant.once(("collisions", id(self)), build)

    # Choice of the bodies

    @functools.cached_property
    def geometry(self) -> dict[str, Parameter]:
        """Run-time parameters of the robot that move its bodies, by name."""
        own = [p for p in self.state.robot.parameters.values() if p.quantity in PLACEMENT_QUANTITIES]
        return {p.parameter.name: p.parameter for p in own if p.frame is None}

    @functools.cached_property
    def points_program(self) -> Program:
        """Program (q, values of `geometry`) (nq + k,) -> ends of the axes of all bodies in the world (6 n,) [m]."""
        model, symbols = self.state.robot.model, [p.symbol for p in self.geometry.values()]
        q = SX.sym("q", model.nq)
        robot = RobotExpressions(model, q, parameters=self.state.robot.parameters)
        ends = []
        for joint, points in zip(self._carriers.tolist(), self._ends):
            rotation, position = robot.joint_placement(joint)
            ends += [rotation @ point + position for point in points]
        return Program.of("collision shapes", ca.Function("points", [ca.vertcat(q, *symbols)], [ca.vertcat(*ends)]))

    @functools.cached_property
    def distances_program(self) -> Program:
        """Program (ends of all axes (6 n,), parameters of obstacles) -> distances of all pairs of each kind [m]."""
        symbols = {name: p.symbol for name, p in self.parameters().items() if name not in self._names.values()}
        program = Program("distances of collision shapes")
        points, own = SX.sym("points", 6, len(self._ends)), SX(ca.vertcat(SX(0, 1), *map(ca.vec, symbols.values())))
        inputs = [program.input(points.numel()), program.input(own.numel())]
        for each in self._slots.values():
            known = each.bodies if isinstance(each, SceneSlots) else LinkBodies.whole(self._ends, self._radii)
            numbers = ca.Function("bodies", [ca.vec(points)], [ca.vec(known.in_world(points))])
            (bodies,) = program.call(numbers, inputs[0])
            if isinstance(each, LinkSlots):
                program.output(each.add_gaps(program, bodies))
            else:
                numbers = ca.Function("obstacles", [own], [each.symbols(symbols)])
                program.output(each.add_gaps(program, bodies, *program.call(numbers, inputs[1])))
        return program

    @property
    def obstacle_size(self) -> int:
        """Number of numbers of the parameters of obstacles, which come before those of slots [-]."""
        return sum(p.size for name, p in self.parameters().items() if name not in self._names.values())

    @property
    def widths(self) -> dict[str, int]:
        """Number of numbers of a slot, of which the first says which bodies it measures, by parameter [-]."""
        return {name: self._slots[kind].width for kind, name in self._names.items()}

    def filled(self, gaps: Sequence[Reals], values: Mapping[str, Reals]) -> dict[str, Reals]:
        """Parameters with the numbers of all slots, which measure the nearest bodies, by name (n, size).

        Args:
            gaps: Results of `distances_program`, a row for each configuration [m].
            values: Present parameters by name (n, size). Bodies that remain keep their slot.
        """
        return {
            name: self._slots[kind].filled(own, values, values[name])
            for (kind, name), own in zip(self._names.items(), gaps, strict=True)
        }

    def off(self) -> dict[str, Reals]:
        """Parameters with the numbers of slots that measure nothing, by name (size,)."""
        return {name: self._slots[kind].off() for kind, name in self._names.items()}

    def without_row(self, gaps: Sequence[Reals], values: Mapping[str, Reals]) -> dict[str, Reals]:
        """Distances (n,) of bodies by their names; inf where the two have a row [m]. Arguments as in `filled`."""
        rows = [slots.has_row(values[self._names[kind]]) for kind, slots in self._slots.items()]
        hidden = np.where(np.concatenate(rows, axis=1), np.inf, np.concatenate(gaps, axis=1))
        least = dict[str, Reals]()
        for label, own in zip(self.labels(), hidden.T, strict=True):  # a capsule has several balls near a mesh
            least[label] = np.minimum(least[label], own) if label in least else own
        return least

    def labels(self) -> list[str]:
        """Words for all pairs of bodies, in the order of the results of `distances_program`."""
        names = self.state.robot.collision_shapes.names
        return [label for slots in self._slots.values() for label in slots.labels(names)]

    def indices(self) -> Ints:
        """The bodies of all pairs (pairs, 2) in the same order: two of the robot, or one and -1 for an obstacle."""
        return np.concatenate([slots.indices() for slots in self._slots.values()])

    def _at_rest(self, values: Mapping[str, Reals]) -> dict[str, Reals]:
        """Numbers of slots (1, size) in the neutral configuration, by name."""
        model = self.state.robot.model
        data = model.createData()
        pin.forwardKinematics(model, data, pin.neutral(model))
        places = [data.oMi[joint] for joint in self._carriers.tolist()]
        points = np.array([each @ place.rotation.T + place.translation for each, place in zip(self._ends, places)])
        own = np.concatenate([np.zeros(0), *(each[0] for each in values.values())])
        gaps = [each.T for each in self.distances_program.evaluate(points.reshape(-1, 1), own[:, None])]
        return self.filled(gaps, {**values, **{name: each[None] for name, each in self.off().items()}})


def own_margin(margin: float, scene: Scene | None) -> float:
    """Least distance of links from each other, where obstacles keep a margin: a wide one leaves robots no posture."""
    return margin if scene is None else min(margin, OWN)


def _kind(obstacle: Body) -> str:
    """Kind of the slots of an obstacle."""
    return "mesh" if isinstance(obstacle, TriangleMesh) else "box" if isinstance(obstacle, Box) else "round"


def _points_of(obstacle: Body) -> int:
    return len(obstacle.points) if isinstance(obstacle, (Sphere, Capsule)) else 0


def _check_radius(argument: str, value: Any) -> Reals:
    return np.array(check_positive(argument, value, unit="m"))


def _check_ends(argument: str, value: Any) -> Reals:
    return check_ends(argument, check_array(argument, value, (2, 3)))
