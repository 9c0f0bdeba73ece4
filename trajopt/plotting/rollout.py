"""Plots of a simulator's rollout: base, joints and contact forces over time, and an animation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.limbs import limbs_of
from trajopt.analysis.rollouts import base_path, rollout_motion, thinned, way_of
from trajopt.analysis.skeleton import skeleton_of
from trajopt.checks import check_instance
from trajopt.plotting.animation import write_film
from trajopt.plotting.film import filmed
from trajopt.plotting.forces import draw_forces
from trajopt.plotting.frames import check_film_path
from trajopt.plotting.projection import side_view
from trajopt.plotting.style import drawing, legend_beside, line_look, set_time_axis, split, whole_figure
from trajopt.robots.bases import base_joints
from trajopt.simulator import Rollout
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_STEP = 0.01  # time step of an animation [s]
_ROWS = 2  # of a figure, at least


def plot_rollout(rollout: Rollout, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws the height of the base and the joints over time, and beside them the force of each contact.

    A base that moves more along the ground than up and down also has a panel with the length of its horizontal path.

    Joints of a limb share a panel. Forces are drawn as in `plot_contact_forces`: the background is grey while a
    contact is in the air, and the tangential force has the limit μ times the normal force. A contact that slides
    between two of its n rays uses cos(π/n) of it, 87 % with 6 rays.

    Normal forces of a sliding body bob about its weight, as a sliding contact is a spring without damping; their mean
    over whole periods is right. Forces of a contact that sticks do not bob.

    Args:
        rollout: The rollout.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("rollout.png")` writes it.

    Raises:
        InvalidArgumentError: `rollout` is not a Rollout.
    """
    check_instance("rollout", rollout, Rollout, "such as from Simulator.rollout")
    motion, panels = rollout_motion(rollout), _panels(rollout)
    rows = max(_ROWS, len(panels), 0 if motion is None else len(motion.feet))
    with drawing(figure, 8.0 if motion is None else 13.0, 0.9 + 1.5 * rows) as target:
        left = target
        if motion is not None:
            left, right = split(target, 1, 2, width_ratios=[1.15, 1.0])
            draw_forces(right, motion)
        drawn = left.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
        for axes, (label, lines) in zip(drawn, panels):
            _draw(axes, rollout.times, label, lines)
        set_time_axis(drawn[-1], rollout.times, "time [s]")
        return whole_figure(target)


Panel = tuple[str, Sequence[tuple[str, Reals]]]


def _panels(rollout: Rollout) -> list[Panel]:
    """Label and lines (name, values (T + 1,)) of each panel: height and way of a moving base, then joints."""
    model = rollout.robot.model
    panels: list[Panel] = []
    base = base_joints(model)
    if base:
        path = base_path(rollout)
        panels.append(("base z [m]", [("height", path[:, 2])]))
        if (way := way_of(path)) is not None:
            panels.append(("horizontal way [m]", [("way", way)]))
    limbs = limbs_of(model)
    groups: dict[tuple[str, str], list[tuple[str, Reals]]] = {}
    for i in range(1 + base, model.njoints):
        joint, name = model.joints[i], model.names[i]
        unit = "m" if joint.nv == 1 and "JointModelP" in joint.shortname() else "rad"
        for k, values in enumerate(_coordinates(joint, rollout.xs)):
            line = (name if joint.nv == 1 else f"{name} {k}", values)
            groups.setdefault((limbs.get(name, "joints"), unit if joint.nv == 1 else "-"), []).append(line)
    names = {key: lines[0][0] if len(lines) == 1 else key[0] for key, lines in groups.items()}
    return panels + [(f"{names[key]} [{key[1]}]", lines) for key, lines in groups.items()]


def _coordinates(joint: Any, xs: Reals) -> list[Reals]:
    """Coordinates of a joint over time, (T + 1,) each; an angle for a joint that is stored as (cos, sin)."""
    own = xs[:, joint.idx_q : joint.idx_q + joint.nq]
    if joint.nv == 1 and joint.nq == 2:
        return [np.unwrap(np.arctan2(own[:, 1], own[:, 0]))]
    return list(own.T)


def _draw(axes: Axes, times: Reals, label: str, lines: Sequence[tuple[str, Reals]]) -> None:
    for i, (name, values) in enumerate(lines):
        axes.plot(times, values, label=name, **line_look(i))
    axes.set_ylabel(label)
    if len(lines) > 1:
        legend_beside(axes, len(lines))


def animate_rollout(
    rollout: Rollout, path: str | os.PathLike[str], *, speed: float = 1.0, frames_per_second: float = 25.0
) -> Path:
    """Writes a rollout as an animation, as `animate` does for a solution.

    Args:
        rollout: The rollout.
        path: File to write: .gif, or .mp4, which needs the extra `film` or the program ffmpeg.
        speed: Playback speed relative to real time [-].
        frames_per_second: Frame rate, > 0 [1/s].

    Returns:
        The path.

    Raises:
        InvalidArgumentError: The path cannot be written, or there would be over 1,800 frames.
        MissingDependencyError: The path ends with .mp4, and there is no ffmpeg.
    """
    path = check_film_path(path)
    robot = check_instance("rollout", rollout, Rollout, "such as from Simulator.rollout").robot
    base = base_joints(robot.model)
    rollout = thinned(rollout, _STEP)
    motion = rollout_motion(rollout)
    skeleton, _ = skeleton_of(robot.model, rollout.xs[:, : robot.nq], shapes=robot.shapes)
    film = filmed(
        skeleton,
        motion,
        side=side_view(robot.model, rollout.xs[:, : robot.nq], base) if base and motion is not None else None,
        times=rollout.times,
        label="time [s]",
        trails=[foot.positions for foot in motion.feet] if motion is not None else [],
    )
    write_film(film, path, speed, frames_per_second)
    return path


def rollout_report(rollout: Rollout) -> dict[str, str]:
    """Summarises a rollout in text by keyword: duration, base, joints, contacts."""
    robot, times, xs = rollout.robot, rollout.times, rollout.xs
    words = {"robot": f"{robot.name}, {robot.nv} degrees of freedom"}
    words["duration"] = f"{times[-1]:.4g} s in {len(times) - 1} steps"
    if base_joints(robot.model):
        path = base_path(rollout)
        heights, way = path[:, 2], way_of(path)
        words["base"] = f"from {heights[0]:.3f} to {heights[-1]:.3f} m, lowest {heights.min():.3f} m"
        words["base"] += "" if way is None else f", {way[-1]:.3f} m along the ground"
    fastest = float(np.abs(xs[-1, robot.nq :]).max(initial=0.0))
    words["speed"] = f"at most {fastest:.2g} rad/s or m/s at the end"
    motion = rollout_motion(rollout)
    if motion is not None:
        stands = [foot.name for foot in motion.feet if foot.stands[-1]]
        load = sum(float(foot.normal_forces[-1]) for foot in motion.feet if foot.stands[-1])
        carried = f", which carry {100 * load / motion.weight:.0f} % of the weight of {motion.weight:.0f} N"
        words["contacts"] = f"{len(stands)} of {len(motion.feet)} at the end" + (carried if stands else "")
    return words
