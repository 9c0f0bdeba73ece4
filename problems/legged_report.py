"""What a motion on feet comes to, measured on the solution: distance, slip, forces, how far they are from sliding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.solution import Solution

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FootMotion:
    """A foot over the knots.

    Attributes:
        frame: Its frame.
        stands: Whether it stands from knot t to t + 1 (T,). At a touch-down: whether it lands, or stood before; that
            takes no time and ends no stance.
        places: Where its frame is (T + 1, 4, 4) [-, m].
        forces: What the ground does to it at each knot (T, 3 or 6) in the world's axes [N, N m]; zero in the air, NaN
            at a touch-down.
    """

    frame: str
    stands: npt.NDArray[np.bool_]
    places: Reals
    forces: Reals

    def stances(self) -> Iterator[tuple[int, int]]:
        """First and last state of each stance."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], self.stands, [False]]).astype(int)))
        yield from zip(edges[::2].tolist(), edges[1::2].tolist())

    def slip(self) -> float:
        """Largest distance of the foot from where a stance of it began [m]."""
        positions = self.places[:, :3, 3]
        moved = [np.linalg.norm(positions[a : b + 1] - positions[a], axis=1).max() for a, b in self.stances()]
        return float(max(moved, default=0.0))

    def loads(self) -> Reals:
        """Its forces while it stands, without touch-downs (n, 3 or 6) [N, N m]."""
        return self.forces[self.stands & np.isfinite(self.forces).all(axis=1)]


def feet_of(solution: Solution) -> dict[str, FootMotion]:
    """The feet of a solution by the name of their contact, in the order in which the problem has them."""
    problem: Any = solution.problem
    names: dict[str, str] = {}
    for model in problem.running:
        stack = getattr(getattr(model, "differential", model), "contacts", None)
        names.update({name: stack[name].frame for name in stack.names} if stack is not None else {})
    forces = solution.contact_forces()
    model, places = problem.state.model, {name: np.empty((problem.T + 1, 4, 4)) for name in names}
    data, nq = model.createData(), model.nq
    for t, x in enumerate(solution.xs):
        pin.framesForwardKinematics(model, data, x[:nq])
        for name, frame in names.items():
            places[name][t] = data.oMf[model.getFrameId(frame)].homogeneous
    return {
        name: FootMotion(frame=frame, stands=_stands(solution, name), places=places[name], forces=forces[name])
        for name, frame in names.items()
    }


def _stands(solution: Solution, name: str) -> npt.NDArray[np.bool_]:
    """See `FootMotion.stands`."""
    problem: Any = solution.problem
    stands = np.zeros(problem.T, dtype=bool)
    lands, stays = f"impulses.{name}.active", f"contacts.{name}.active"
    for key in (lands, stays):
        if key in problem.parameters:
            stands[list(problem.parameters[key].knots)] |= np.ravel(solution.parameters[key]) > 0
    for t in problem.parameters[lands].knots if lands in problem.parameters else ():
        if 0 < t < problem.T:
            stands[t] |= stands[t - 1]
    return stands


def motion_report(solution: Solution, mu: float) -> dict[str, str]:
    """The motion in words.

    Args:
        solution: A solution of a problem with contacts whose forces are in the world's axes.
        mu: Friction coefficient by which sliding is judged [-].
    """
    feet, problem = feet_of(solution), solution.problem
    assert problem is not None
    base, times = solution.xs[:, :3], problem.times
    step = base[-1] - base[0]
    words = {"moved": f"{step[0]:+.3f} m forward, {step[1]:+.3f} m to the left"}
    if times is not None:
        words["moved"] += f" in {times[-1]:.2f} s"
    words["base"] = f"{base[:, 2].min():.3f} to {base[:, 2].max():.3f} m high"
    worst = max(feet, key=lambda name: feet[name].slip())
    words["slip"] = f"at most {1e3 * feet[worst].slip():.2g} mm during a stance ({worst})"
    loads = {name: foot.loads() for name, foot in feet.items()}
    peak = max(loads, key=lambda name: float(loads[name][:, 2].max(initial=0.0)))
    weight = pin.computeTotalMass(problem.state.model) * 9.81  # type: ignore[attr-defined]
    force = float(loads[peak][:, 2].max(initial=0.0))
    words["force"] = f"at most {force:.0f} N on one foot ({peak}), {force / weight:.2f} of the weight"
    margin = cone_margin(feet, mu)
    words["friction"] = f"{abs(margin):.3g} N {'inside' if margin >= 0 else 'outside'} the cone at worst (mu = {mu:g})"
    return words


def cone_margin(feet: dict[str, FootMotion], mu: float) -> float:
    """Smallest mu f_z - |(f_x, f_y)| while a foot stands [N]: negative where it would slide."""
    margins = [mu * f[2] - float(np.hypot(f[0], f[1])) for foot in feet.values() for f in foot.loads()]
    return float(min(margins, default=np.inf))
