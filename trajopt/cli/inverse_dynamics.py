"""The command `trajopt inverse-dynamics`: contact forces and torques of a recorded motion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from trajopt.checks import check_non_negative, check_positive
from trajopt.cli.common import PlotFile, Screen, check_input, check_outputs, clean_errors
from trajopt.errors import InvalidArgumentError
from trajopt.files import output_file
from trajopt.objects.lazy import above

if TYPE_CHECKING:
    from trajopt.inverse_dynamics import ContactFrame, ContactInverseDynamics


def forces_of_motion(
    robot: Annotated[str, typer.Argument(help="Robot: a name, such as hyq, or a .urdf.")],
    motion: Annotated[Path, typer.Argument(help="Recorded configurations: .csv with a header, or .npz.")],
    feet: Annotated[
        str | None, typer.Option(help="Frames of the feet, such as left_sole,right_sole; known for legged robots.")
    ] = None,
    points: Annotated[
        bool | None, typer.Option("--points/--soles", help="Whether feet are points, which transmit only forces.")
    ] = None,
    friction: Annotated[float | None, typer.Option(help="Friction coefficient; limits forces to cones.")] = None,
    torque_limits: Annotated[bool, typer.Option("--torque-limits", help="Keep the robot's torque limits.")] = False,
    dt: Annotated[float | None, typer.Option(help="Time step of a file without times \\[s].")] = None,
    smooth: Annotated[bool, typer.Option("--smooth/--as-it-is", help="Remove noise with splines.")] = True,
    smoothness: Annotated[float, typer.Option(help="Weight on changes of the forces.")] = 1.0,
    plot: PlotFile = None,
    save: Annotated[Path | None, typer.Option(help="File for wrenches and torques: .npz.")] = None,
) -> None:
    """Compute contact forces and torques of a motion, and whether the robot can produce them."""
    from trajopt.inverse_dynamics import (
        Motion,
        find_contacts,
        multiple_contact_inverse_dynamics_over_time,
        read_positions,
    )
    from trajopt.robots import load_robot

    with clean_errors():
        check_outputs(plot, save=(save, (".npz",)))
        check_input("MOTION", motion)
        weight = check_non_negative("--smoothness", smoothness)
        if dt is not None:
            check_positive("--dt", dt, unit="s")
        loaded, contacts = load_robot(robot), _contacts(robot, feet, points, friction)
        positions, times = read_positions(loaded, motion, dt)
        recorded = Motion.of(loaded, positions, times, smoothing="auto" if smooth else None)
        result = multiple_contact_inverse_dynamics_over_time(
            recorded,
            contacts,
            stands=find_contacts(recorded, contacts),
            smoothness=weight,
            torque_limits=torque_limits,
            axes="world",
        )
        screen = Screen()
        screen.text(result.explain())
        write = above("plotting.window.write")
        screen.write("picture", plot, lambda path: write(result.plot(), path))
        screen.write("saved", save, lambda path: _save(path, result))


def _contacts(robot: str, feet: str | None, points: bool | None, friction: float | None) -> list[ContactFrame]:
    """Contact frames of the feet; those of a known robot are points unless it has soles."""
    from trajopt.inverse_dynamics import ContactFrame
    from trajopt.residuals.friction_cone import FrictionCone
    from trajopt.robots.legged import LEGGED_ROBOTS

    legged = LEGGED_ROBOTS.get(robot)
    if feet is None and legged is None:
        raise InvalidArgumentError(f"--feet: expected frames of the feet, as {robot!r} is not a known legged robot")
    frames = [name.strip() for name in feet.split(",")] if feet is not None else list(legged.feet if legged else ())
    if points is None:
        points = legged is not None and legged.sole is None
    cone = None if friction is None else FrictionCone(check_positive("--friction", friction))
    return [ContactFrame(frame, "point" if points else "sole", cone) for frame in frames]


def _save(path: Path, result: ContactInverseDynamics) -> None:
    motion = result.motion
    with output_file(path, "--save") as file:
        np.savez(
            file,
            contacts=np.array([contact.frame for contact in result.contacts]),
            stands=result.stands,
            wrenches=result.wrenches,
            torques=result.torques,
            base_residual=result.base_residual,
            times=motion.times,
            positions=motion.positions,
            velocities=motion.velocities,
            accelerations=motion.accelerations,
        )
