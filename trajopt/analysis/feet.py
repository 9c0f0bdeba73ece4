"""Legged motion as arrays: feet, contact forces and support phases."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.relief import Relief
from trajopt.types import Reals

STEEP = 0.5
"""Vertical component of the normal up to which a surface is a wall and no floor: 60 degrees from the vertical [-]."""


@dataclass(frozen=True, kw_only=True)
class Foot:
    """One foot over all knots: a frame of the robot that touches the world.

    Attributes:
        name: Name of its contact.
        frame: Name of the frame.
        positions: Positions of the frame, shape (T + 1, 3) [m].
        references: Reference positions of the cost terms, shape (T + 1, 3) [m]; NaN at knots without a reference.
        stands: Whether the foot is in contact from a knot to the next, shape (T,).
        forces: Force of the ground on the foot in world axes, shape (T, 3) [N]; NaN without contact.
        torques: Torque of the ground about the frame's origin in world axes, shape (T, 3) [N m]; NaN without contact.
        impulses: Impulse of the ground at a touch-down, shape (T, 3) [N s]; NaN at all other knots.
        normals: Normal of the ground, shape (T, 3) [-].
        mu: Friction coefficient in costs and constraints, shape (T,) [-]; NaN at knots without one.
        outline: Corners of the sole relative to the frame's origin in world axes, shape (T + 1, 4, 3) [m]; zeros of
            shape (T + 1, 1, 3) for a point foot or a sole of unknown size.
        lands: Whether the foot touches down at the end of the horizon, where it has no stance phase.
        radius: Radius of a sphere that touches the ground at `positions`; 0 for points and soles [m].
        shares: Normal and tangential force (T, 2) [N], each the sum over all surfaces that the foot touches, such as a
            floor and the side of a step. None by default: `forces` along and across `normals`.
        ball: Centre of the collision sphere of a gait's foot, shape (T + 1, 3) [m]; None without one, or if the frame
            is its centre. A foot that tilts about its frame lowers it.
    """

    name: str
    frame: str
    positions: Reals
    references: Reals
    stands: npt.NDArray[np.bool_]
    forces: Reals
    torques: Reals
    impulses: Reals
    normals: Reals
    mu: Reals
    outline: Reals
    lands: bool = False
    radius: float = 0.0
    shares: Reals | None = None
    ball: Reals | None = None

    @classmethod
    def at_points(cls, name: str, frame: str, positions: Reals, **measured: Any) -> Foot:
        """Foot at points (T + 1, 3) [m], without a sole, references and impulses.

        Args:
            name: Name of the foot.
            frame: Its frame.
            positions: Its positions.
            **measured: The attributes stands, forces, torques, normals and mu, and radius and shares of a sphere.
        """
        nowhere, outline = np.full(positions.shape, np.nan), np.zeros((len(positions), 1, 3))
        return cls(
            name=name, frame=frame, positions=positions, references=nowhere, impulses=nowhere[1:], outline=outline,
            **measured,
        )  # fmt: skip

    @property
    def on_floor(self) -> bool:
        """Whether the foot touches a floor, with a normal within 60 degrees of the vertical, and not a wall."""
        return bool(np.median(self.normals[:, 2]) > STEEP)

    @property
    def centres(self) -> Reals:
        """Centre of the foot's sphere, shape (T + 1, 3) [m]; the position of a point or a sole."""
        return np.asarray(self.positions + self.radius * np.vstack([self.normals, self.normals[-1:]]))

    @property
    def normal_forces(self) -> Reals:
        """Normal component of the force, shape (T,) [N]."""
        return normal_and_tangential(self.forces, self.normals)[0] if self.shares is None else self.shares[:, 0]

    @property
    def tangential_forces(self) -> Reals:
        """Magnitude of the tangential component of the force, shape (T,) [N]."""
        return normal_and_tangential(self.forces, self.normals)[1] if self.shares is None else self.shares[:, 1]

    @property
    def cone_use(self) -> Reals:
        """Fraction of the friction cone in use, |f_t| / (μ f_n), shape (T,) [-].

        It is inf if the normal force is not positive, and NaN without a contact or a friction coefficient.
        """
        most = self.mu * self.normal_forces
        defined = np.isfinite(most)
        use = np.divide(self.tangential_forces, most, out=np.full(most.shape, np.inf), where=defined & (most > 0.0))
        return np.where(defined, use, np.nan)

    @property
    def normal_impulses(self) -> Reals:
        """Normal component of the impulse, shape (T,) [N s]."""
        return normal_and_tangential(self.impulses, self.normals)[0]

    @property
    def hits(self) -> npt.NDArray[np.int64]:
        """Knots at which the foot touches down with an impulse, (m,)."""
        return np.flatnonzero(np.isfinite(self.impulses[:, 0]))

    @property
    def pressures(self) -> Reals:
        """Centre of pressure p + n × τ / f_n, shape (T, 3) [m]; NaN if the normal force is not positive."""
        load = np.where(self.normal_forces > 0, self.normal_forces, np.nan)
        return self.positions[:-1] + np.cross(self.normals, self.torques) / load[:, None]

    @property
    def sole_use(self) -> Reals:
        """Distance of the centre of pressure from the sole's middle, relative to its half length and width, (T,) [-].

        It is the larger of both ratios; above 1 the sole tips about an edge. NaN without pressure, and for a point
        foot.
        """
        if self.outline.shape[1] != 4:
            return np.full(len(self.stands), np.nan)
        sides = self.outline[:-1, :1] - self.outline[:-1, [1, 3]]  # (T, 2, 3): along the length and the width
        place = np.einsum("tk,tik->ti", self.pressures - self.positions[:-1], sides)
        return np.asarray(2.0 * np.max(np.abs(place) / np.sum(sides**2, axis=2), axis=1))


def normal_and_tangential(pushes: Reals, normals: Reals) -> tuple[Reals, Reals]:
    """Component of forces or impulses (n, 3) along normals (n, 3), and magnitude of the rest, (n,) each [N, N s]."""
    normal = np.asarray(np.sum(pushes * normals, axis=1))
    return normal, np.asarray(np.linalg.norm(pushes - normal[:, None] * normals, axis=1))


@dataclass(frozen=True, kw_only=True)
class SupportPhase:
    """An interval of the motion during which the same feet are in contact.

    Attributes:
        first: Knot at which it begins.
        last: Knot at which it ends.
        feet: Indices of the feet in contact.
    """

    first: int
    last: int
    feet: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class LeggedMotion:
    """Motion of a legged robot.

    Attributes:
        abscissa: Time of each knot, or its number if the problem has no times, shape (T + 1,) [s] or [-].
        label: Label of the time axis.
        takes_time: Whether each knot has a positive duration, shape (T,); that of an impulse has none.
        feet: The feet, in the order of the contacts.
        com: Centre of mass, shape (T + 1, 3) [m].
        com_references: Reference positions of the centre of mass, shape (T + 1, 3) [m]; NaN at knots without one.
        weight: Weight of the robot [N].
        ground: Height of level ground [m]; None if unknown, then the ground is where the feet stand.
        relief: Ground of a gait on terrain; None without terrain.
        measured: Whether the forces are those of a plant, whose soles may be larger than those of the feet.
    """

    abscissa: Reals
    label: str
    takes_time: npt.NDArray[np.bool_]
    feet: tuple[Foot, ...]
    com: Reals
    com_references: Reals
    weight: float
    ground: float | None = None
    relief: Relief | None = None
    measured: bool = False

    @property
    def pressures(self) -> Reals:
        """Centre of pressure Σ c_i f_n,i / Σ f_n,i of all feet on the floor, shape (T, 3) [m].

        It is NaN while these feet carry at most a thousandth of the weight.
        """
        feet = [foot for foot in self.feet if foot.on_floor]
        if not feet:
            return np.full((len(self.takes_time), 3), np.nan)
        loads = np.array([np.where(foot.normal_forces > 0, foot.normal_forces, 0.0) for foot in feet])
        points = np.array([np.nan_to_num(foot.pressures) for foot in feet])
        total = loads.sum(axis=0)
        total[total <= 1e-3 * self.weight] = np.nan
        return np.asarray(np.einsum("it,itk->tk", loads, points) / total[:, None])

    @property
    def phases(self) -> list[SupportPhase]:
        """The support phases, in order."""
        knots = np.flatnonzero(self.takes_time)
        flags = np.array([foot.stands[knots] for foot in self.feet]).T
        edges = [0, *(np.flatnonzero(np.any(np.diff(flags, axis=0), axis=1)) + 1).tolist(), len(knots)]
        return [
            SupportPhase(first=int(knots[a]), last=int(knots[b - 1]) + 1, feet=tuple(np.flatnonzero(flags[a]).tolist()))
            for a, b in itertools.pairwise(edges)
        ]

    def intervals(self, foot: Foot, *, standing: bool) -> list[tuple[int, int]]:
        """Returns first and last knot of each interval in which a foot stands, or is in the air if not `standing`."""
        knots = np.flatnonzero(self.takes_time)
        flags = np.concatenate([[False], foot.stands[knots] == standing, [False]]).astype(int)
        edges = np.flatnonzero(np.diff(flags))
        return [(int(knots[a]), int(knots[b - 1]) + 1) for a, b in zip(edges[::2], edges[1::2])]

    def slip(self, foot: Foot) -> float:
        """Returns the largest distance of a foot from its position at the start of a stance, over all stances [m]."""
        stances = self.intervals(foot, standing=True)
        moved = [np.linalg.norm(foot.positions[a : b + 1] - foot.positions[a], axis=1).max() for a, b in stances]
        return float(max(moved, default=0.0))

    def landings(self, foot: Foot) -> list[int]:
        """Returns the knots at which a foot begins a stance, and the last knot if it lands there."""
        knots = [first for first, _ in self.intervals(foot, standing=True)]
        return [*knots, len(foot.positions) - 1] if foot.lands else knots

    def footholds(self, foot: Foot) -> Reals:
        """Returns the position of a foot at each of its `landings`, shape (n, 3) [m]; empty for a foot on a wall."""
        return foot.positions[self.landings(foot)] if foot.on_floor else np.zeros((0, 3))
