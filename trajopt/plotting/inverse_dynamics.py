"""Plot of inverse dynamics with contacts: contact forces, joint torques, and the residual at the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.actuation import ActuationModelFloatingBase
from trajopt.analysis.feet import Foot, LeggedMotion
from trajopt.analysis.limbs import limbs_of
from trajopt.plotting.forces import draw_forces
from trajopt.plotting.limits import draw_limit
from trajopt.plotting.style import RED, drawing, legend_beside, line_look, set_time_axis, split, whole_figure
from trajopt.states import StateMultibody
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.inverse_dynamics import ContactInverseDynamics


def plot_inverse_dynamics(dynamics: ContactInverseDynamics, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws the torques of each limb and the missing force at the base, and beside them the force of each contact.

    Forces are drawn as in `plot_contact_forces`. Torque limits are dashed lines, drawn if a torque comes close to
    them.

    Args:
        dynamics: Result of the inverse dynamics.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("forces.png")` writes it.
    """
    limbs = _torque_panels(dynamics)
    with drawing(figure, 13.0, 0.9 + 1.5 * max(len(limbs) + 1, len(dynamics.contacts))) as target:
        left, right = split(target, 1, 2, width_ratios=[1.15, 1.0])
        draw_forces(right, _legged(dynamics))
        panels = left.subplots(len(limbs) + 1, sharex=True, squeeze=False)[:, 0]
        for axes, (label, lines) in zip(panels, limbs.items()):
            _draw_torques(axes, dynamics.motion.times, label, lines)
        force = np.linalg.norm(dynamics.base_residual[:, :3], axis=1)
        panels[-1].plot(dynamics.motion.times, force, color=RED)
        panels[-1].set_ylabel("missing at\nthe base [N]", fontsize=8.0)
        panels[-1].set_ylim(0.0, max(1.0, 1.1 * float(force.max())))
        set_time_axis(panels[-1], dynamics.motion.times, "time [s]")
        return whole_figure(target)


def _torque_panels(dynamics: ContactInverseDynamics) -> dict[str, list[tuple[str, Reals, float]]]:
    """Name, torques (N,) and limit of each joint, by limb."""
    model = dynamics.motion.robot.model
    limbs, limits = limbs_of(model), ActuationModelFloatingBase(StateMultibody(dynamics.motion.robot)).upper
    panels: dict[str, list[tuple[str, Reals, float]]] = {}
    for j in range(2, model.njoints):
        joint, name = model.joints[j], model.names[j]
        for i in range(joint.nv):
            limit = float(limits[joint.idx_v - 6 + i])
            label = name if joint.nv == 1 else f"{name} {i}"
            line = (label, dynamics.torques[:, joint.idx_v + i], limit)
            panels.setdefault(limbs.get(name, "joints"), []).append(line)
    return panels


def _draw_torques(axes: Axes, times: Reals, label: str, lines: list[tuple[str, Reals, float]]) -> None:
    axes.set_ylabel(f"{label}\ntorque [N m]", fontsize=8.0)
    for i, (name, values, limit) in enumerate(lines):
        look = line_look(i)
        axes.plot(times, values, label=name, **look)
        if np.abs(values).max() > 0.5 * limit:
            for bound in (-limit, limit):
                draw_limit(axes, bound, color=look["color"])
    legend_beside(axes, len(lines))


def _legged(dynamics: ContactInverseDynamics) -> LeggedMotion:
    """Legged motion with the contacts as feet; forces are constant between times."""
    m, n = dynamics.motion, len(dynamics.motion)
    step = m.times[-1] - m.times[-2] if n > 1 else 1.0
    times = np.append(m.times, m.times[-1] + step)
    com = np.array(m.robot.com(m.positions))
    feet = []
    for j, contact in enumerate(dynamics.contacts):
        on = dynamics.stands[:, j, None]
        points = dynamics.kinetics.points[:, j]
        mu = np.full(n, np.nan if contact.cone is None else contact.cone.mu)
        forces, torques = (np.where(on, each[:, j], np.nan) for each in (dynamics.forces, dynamics.moments))
        measured = {"stands": dynamics.stands[:, j], "forces": forces, "torques": torques, "mu": mu}
        measured["normals"] = np.tile([0.0, 0.0, 1.0], (n, 1))
        feet.append(Foot.at_points(contact.frame, contact.frame, np.vstack([points, points[-1:]]), **measured))
    com = np.vstack([com, com[-1:]])
    return LeggedMotion(abscissa=times, label="time [s]", takes_time=np.ones(n, dtype=bool), feet=tuple(feet), com=com,
                        com_references=np.full((n + 1, 3), np.nan), weight=dynamics.weight)  # fmt: skip
