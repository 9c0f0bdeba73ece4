"""Legged motion of a solution as arrays: when and where each foot is in contact, and with which force."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.basics import robot_of, time_axis
from trajopt.analysis.references import all_constraints, all_terms, com_references, frame_references, knot_values
from trajopt.checks import check_array
from trajopt.contacts.stack import parameter_name
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution


_UP = (0.0, 0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Foot:
    """One foot over all knots: a frame of the robot that touches the world.

    Attributes:
        name: Name of its contact.
        frame: Name of the frame.
        positions: Positions of the frame, shape (T + 1, 3) [m].
        references: Reference positions of the cost terms, shape (T + 1, 3) [m]; NaN at knots without one.
        stands: Whether the foot is in contact from a knot to the next, shape (T,).
        forces: Force of the ground on the foot in world axes, shape (T, 3) [N]; NaN while it is not in contact.
        torques: Torque of the ground about the frame's origin in world axes, shape (T, 3) [N m]; NaN likewise.
        impulses: Impulse of the ground at a touch-down, shape (T, 3) [N s]; NaN at all other knots.
        normals: Normal of the ground, shape (T, 3) [-].
        mu: Friction coefficient of cost terms and constraints, shape (T,) [-]; NaN at knots without one.
        outline: Corners of the sole around the frame's origin in world axes, shape (T + 1, 4, 3) [m]; zeros of shape
            (T + 1, 1, 3) for a point foot, and for a sole whose size is not known.
        lands: Whether its last swing ends on a foothold at the end of the horizon, where it stands no more.
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

    @property
    def on_floor(self) -> bool:
        """Whether the foot touches a floor (its normal is within 60 degrees of the vertical) and not a wall."""
        return bool(np.median(self.normals[:, 2]) > 0.5)

    @property
    def normal_forces(self) -> Reals:
        """Normal component of the force, shape (T,) [N]."""
        return np.asarray(np.sum(self.forces * self.normals, axis=1))

    @property
    def tangential_forces(self) -> Reals:
        """Magnitude of the tangential component of the force, shape (T,) [N]."""
        along = self.forces - self.normal_forces[:, None] * self.normals
        return np.asarray(np.linalg.norm(along, axis=1))

    @property
    def normal_impulses(self) -> Reals:
        """Normal component of the impulse, shape (T,) [N s]."""
        return np.asarray(np.sum(self.impulses * self.normals, axis=1))

    @property
    def hits(self) -> npt.NDArray[np.int64]:
        """Knots at which the foot touches down with an impulse."""
        return np.flatnonzero(np.isfinite(self.impulses[:, 0]))

    @property
    def pressures(self) -> Reals:
        """Centre of pressure p + n × τ / f_n, shape (T, 3) [m]; NaN while the normal force is not positive."""
        load = np.where(self.normal_forces > 0, self.normal_forces, np.nan)
        return self.positions[:-1] + np.cross(self.normals, self.torques) / load[:, None]

    @property
    def sole_use(self) -> Reals:
        """Distance of the centre of pressure from the sole's middle, in half lengths or widths, shape (T,) [-].

        The larger of the two; beyond 1 the sole tips about an edge. NaN where there is no pressure, and of a point.
        """
        if self.outline.shape[1] != 4:
            return np.full(len(self.stands), np.nan)
        sides = self.outline[:-1, :1] - self.outline[:-1, [1, 3]]  # (T, 2, 3): along the length and the width
        place = np.einsum("tk,tik->ti", self.pressures - self.positions[:-1], sides)
        return np.asarray(2.0 * np.max(np.abs(place) / np.sum(sides**2, axis=2), axis=1))


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
    """Motion of a robot on feet.

    Attributes:
        abscissa: Time of each knot, or its number if the problem has no times, shape (T + 1,) [s] or [-].
        label: Label of the time axis.
        takes_time: Whether a knot takes time, shape (T,); the knot of an impulse takes none.
        feet: The feet, in the order of the contacts.
        com: Centre of mass, shape (T + 1, 3) [m].
        com_references: Reference positions of the centre of mass, shape (T + 1, 3) [m]; NaN at knots without one.
        weight: Weight of the robot [N].
    """

    abscissa: Reals
    label: str
    takes_time: npt.NDArray[np.bool_]
    feet: tuple[Foot, ...]
    com: Reals
    com_references: Reals
    weight: float

    @property
    def pressures(self) -> Reals:
        """Centre of pressure Σ c_i f_n,i / Σ f_n,i of the feet on the floor, shape (T, 3) [m].

        NaN while these feet carry at most a thousandth of the weight.
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
        """First and last knot of each interval in which a foot is in contact (`standing`), or in the air."""
        knots = np.flatnonzero(self.takes_time)
        flags = np.concatenate([[False], foot.stands[knots] == standing, [False]]).astype(int)
        edges = np.flatnonzero(np.diff(flags))
        return [(int(knots[a]), int(knots[b - 1]) + 1) for a, b in zip(edges[::2], edges[1::2])]

    def slip(self, foot: Foot) -> float:
        """Largest distance of a foot from its position at the beginning of a stance, over all its stances [m]."""
        stances = self.intervals(foot, standing=True)
        moved = [np.linalg.norm(foot.positions[a : b + 1] - foot.positions[a], axis=1).max() for a, b in stances]
        return float(max(moved, default=0.0))

    def landings(self, foot: Foot) -> list[int]:
        """Knots at which a foot begins a stance, and the last one if it lands there."""
        knots = [first for first, _ in self.intervals(foot, standing=True)]
        return [*knots, len(foot.positions) - 1] if foot.lands else knots

    def footholds(self, foot: Foot) -> Reals:
        """Position of a foot at each of its `landings`, shape (n, 3) [m]; empty for a foot against a wall."""
        return foot.positions[self.landings(foot)] if foot.on_floor else np.zeros((0, 3))


def is_legged(solution: Solution) -> bool:
    """Whether a solution is the motion of a robot with a floating base and contacts."""
    return bool(getattr(solution.robot, "floating_base", False)) and has_contacts(solution)


def has_contacts(solution: Solution) -> bool:
    """Whether a contact or an impulse of a solution touches the world."""
    if solution.problem is None and solution.description is not None:
        return solution.description.legs is not None
    return bool(_touches(solution.problem))


def feet_frames(solution: Solution) -> tuple[str, ...]:
    """Frames of the feet of a robot with a floating base, in the order of the contacts; none of other solutions."""
    if not is_legged(solution):
        return ()
    if solution.problem is None and solution.description is not None:
        return tuple(foot.frame for foot in solution.description.legs.feet)  # type: ignore[union-attr]
    return tuple(_touches(solution.problem))


def legged_motion(solution: Solution, sole: Reals | None = None) -> LeggedMotion:
    """Legged motion of a solution.

    Args:
        solution: The solution.
        sole: Length and width of soles whose size no cost term gives (2,) [m]; None takes such soles as points.

    Raises:
        InvalidArgumentError: The solution has no problem, its state has no robot, or no contact touches the world.
    """
    import pinocchio as pin

    model = robot_of(solution)
    if not has_contacts(solution):
        raise InvalidArgumentError(
            "solution: expected a problem with contacts, got one without; its dynamics take a ContactStack"
        )
    if solution.problem is None:
        return _described(solution, sole)
    touches = _touches(solution.problem)
    data, qs = model.createData(), solution.xs[:, : model.nq]
    com, places = np.empty((len(qs), 3)), np.empty((len(touches), len(qs), 3, 4))
    ids = [model.getFrameId(frame) for frame in touches]
    for t, q in enumerate(qs):
        pin.framesForwardKinematics(model, data, q)
        com[t] = pin.centerOfMass(model, data, q)
        for i, frame in enumerate(ids):
            places[i, t] = data.oMf[frame].homogeneous[:3]
    values, forces = knot_values(solution), solution.contact_forces()
    size = None if sole is None else check_array("sole", sole, (2,), cure="length and width [m]")
    known = _Known(solution, values, forces, size)
    feet = [_foot(known, f, items, places[i]) for i, (f, items) in enumerate(touches.items())]
    abscissa, label = time_axis(solution)
    timed = np.array([m.time_step() != 0.0 for m in solution.problem.running])  # type: ignore[union-attr]
    weight = float(pin.computeTotalMass(model) * np.linalg.norm(model.gravity.linear))
    return LeggedMotion(abscissa=abscissa, label=label, takes_time=timed, feet=tuple(feet), com=com, weight=weight,
                        com_references=com_references(solution, values))  # fmt: skip


def _described(solution: Solution, sole: Reals | None) -> LeggedMotion:
    """Motion from the file of a solution."""
    if sole is not None:
        raise InvalidArgumentError(
            "sole: expected None for a solution without its problem, got sides; use Solution.load(path, problem)"
        )
    return solution.description.legs  # type: ignore[union-attr, return-value]


def _touches(problem: Any) -> dict[str, dict[tuple[str, str], Any]]:
    """Contact and impulse models by frame, then by kind and name; loops, which join two frames, are left out."""
    found: dict[str, dict[tuple[str, str], Any]] = {}
    for action in {id(model): model for model in getattr(problem, "running", ())}.values():
        owner = getattr(action, "differential", action)
        for kind in ("contacts", "impulses"):
            stack: Any = getattr(owner, kind, None)
            for name in stack.names if stack is not None else ():
                if len(stack[name].frames) == 1:
                    found.setdefault(stack[name].frame, {}).setdefault((kind, name), stack[name])
    return found


@dataclass(frozen=True)
class _Known:
    """Data that all feet share; see `knot_values`, `Solution.contact_forces` and `legged_motion`."""

    solution: Solution
    values: Mapping[str, Reals]
    forces: Mapping[str, Reals]
    sole: Reals | None


def _foot(known: _Known, frame: str, items: dict[tuple[str, str], Any], places: Reals) -> Foot:
    """A foot from the contacts and impulses of its frame, and its placements (T + 1, 3, 4)."""
    rotations, T = places[:, :, :3], len(places) - 1
    wrenches = {kind: np.full((T, 6), np.nan) for kind in ("contacts", "impulses")}
    surface = _surface(known, items, rotations)
    for (kind, name), item in items.items():
        active = known.values[parameter_name(kind, name, "active")][:T] > 0
        wrench = _in_world(item, known.forces[name], rotations[:T])
        wrenches[kind][active] = np.nan_to_num(wrenches[kind][active]) + wrench[active]
    contact, impulse = wrenches["contacts"], wrenches["impulses"]
    return Foot(
        name=next(iter(items))[1],
        frame=frame,
        positions=places[:, :, 3],
        references=frame_references(known.solution, frame, known.values),
        stands=np.isfinite(contact[:, 0]),
        forces=contact[:, :3],
        torques=contact[:, 3:],
        impulses=impulse[:, :3],
        normals=surface.normals,
        mu=surface.mu,
        outline=surface.outline,
        lands=_lands(known.solution, frame, contact, impulse),
    )


def _lands(solution: Solution, frame: str, contact: Reals, impulse: Reals) -> bool:
    """Whether a foot that is in the air at the last knot that takes time touches down at the end.

    The last knot may be that of its touch-down; a schedule's last phase may end with its landing.
    """
    hits = np.flatnonzero(np.isfinite(impulse[:, 0]))
    stands = np.flatnonzero(np.isfinite(contact[:, 0]))
    last = len(contact) - 1
    if len(contact) == 0 or (len(stands) and stands[-1] == last):
        return False
    if len(hits) and hits[-1] > stands.max(initial=-1) and hits[-1] == last:
        return True
    schedule = getattr(solution.problem, "schedule", None)
    return schedule is not None and any(swing.foot == frame for swing in schedule.phases[-1].swings)


@dataclass(frozen=True)
class _Surface:
    """Ground below a foot as the cost terms describe it; see Foot."""

    normals: Reals
    mu: Reals
    outline: Reals


def _surface(known: _Known, items: dict[tuple[str, str], Any], rotations: Reals) -> _Surface:
    """Ground below a frame, from costs and constraints on its contacts: friction and wrench cones, pressure."""
    T, values = len(rotations) - 1, known.values
    normals, mu, outline = np.tile(_UP, (T, 1)), np.full(T, np.nan), np.zeros((T + 1, 1, 3))
    contacts = {name: item for (kind, name), item in items.items() if kind == "contacts"}
    found = False
    if known.sole is not None and any(item.nc == 6 for item in contacts.values()):
        outline = _corners(known.sole, rotations)
    for term in (*all_terms(known.solution.problem), *all_constraints(known.solution.problem)):
        item = contacts.get(getattr(term.residual, "contact", ""))
        if item is None or f"{term.name}.rotation" not in values:
            continue
        turn = values[f"{term.name}.rotation"]
        here = np.isfinite(turn[:T, 0, 0]) & _bounded(values, term.name, T)
        axes = _held(turn) if item.in_world else rotations @ _held(turn)
        rows = here if found else np.full(T, True)  # touch-downs, which may have no cone, are on the same ground
        normals[rows], found = axes[:T, :, 2][rows], True
        if f"{term.name}.mu" in values:
            mu[here] = values[f"{term.name}.mu"][:T][here]
        if f"{term.name}.box" in values:
            box = np.nanmax(values[f"{term.name}.box"], axis=0)
            outline = _corners(box, rotations if item.in_world else axes)
    return _Surface(normals, mu, outline)


def _bounded(values: Mapping[str, Reals], name: str, T: int) -> Any:
    """Knots (T,) at which a constraint has a bound; for a cost term all."""
    bounds = [values[f"{name}.{key}"][:T] for key in ("lower", "upper") if f"{name}.{key}" in values]
    return np.any([np.isfinite(bound).any(axis=1) for bound in bounds], axis=0) if bounds else np.full(T, True)


def _corners(box: Reals, axes: Reals) -> Reals:
    """Corners (n, 4, 3) of a rectangle with sides (2,), in the x-y planes of the axes (n, 3, 3)."""
    corners = np.array([(1, 1, 0), (-1, 1, 0), (-1, -1, 0), (1, -1, 0)]) * [*(box / 2), 0.0]
    return np.asarray(corners @ np.swapaxes(axes, 1, 2))


def _held(rows: Reals) -> Reals:
    """Rows with each NaN row replaced by the last known row before it, or at the start by the first known row."""
    known = np.flatnonzero(np.isfinite(rows.reshape(len(rows), -1)[:, 0]))
    before = known[np.maximum(np.searchsorted(known, np.arange(len(rows)), side="right") - 1, 0)]
    return np.asarray(rows[before])


def _in_world(item: Any, forces: Reals, rotations: Reals) -> Reals:
    """Forces of a contact, shape (T, nc), as force and torque in world axes, shape (T, 6) [N, N m]."""
    wrenches = np.zeros((len(forces), 6))
    if item.nc == 1:
        wrenches[:, :3] = forces * item.axis
    elif item.nc == 2:
        wrenches[:, [0, 2]] = forces
    else:
        wrenches[:, : item.nc] = forces
    if not item.in_world:
        wrenches = np.einsum("tij,tkj->tki", rotations, wrenches.reshape(-1, 2, 3)).reshape(-1, 6)
    return wrenches
