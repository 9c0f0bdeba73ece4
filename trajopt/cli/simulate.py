"""The command `trajopt simulate`: drops a robot on a floor."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from trajopt.cli.common import AnimationFile, AsJson, PlotFile, Screen, check_outputs, clean_errors


def simulate_fall(
    robot: Annotated[str, typer.Argument(help="Robot: a name, such as hyq, or a .urdf.")],
    mode: Annotated[str, typer.Option(help="Step: RK1F, RK1I, RK2I, RK4I, BACKWARD_RK1F or BACKWARD_RK1I.")] = "RK1F",
    duration: Annotated[float, typer.Option(help="Duration \\[s].")] = 1.0,
    dt: Annotated[float, typer.Option(help="Time step \\[s].")] = 1e-3,
    height: Annotated[float, typer.Option(help="Height of the lowest foot above the floor at the start \\[m].")] = 0.1,
    configuration: Annotated[str | None, typer.Option(help="Posture to hold, such as standing.")] = None,
    kp: Annotated[float | None, typer.Option(help="Stiffness of all joints [N m/rad].")] = None,
    kd: Annotated[float | None, typer.Option(help="Damping of all joints [N m s/rad].")] = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="Base: free_flyer, euler, planar or fixed; by default a .urdf floats, or is fixed if its root link "
            "has no mass."
        ),
    ] = None,
    plot: PlotFile = None,
    animate: AnimationFile = None,
    as_json: AsJson = False,
) -> None:
    """Drop a robot on a floor while its joints hold a posture."""
    from trajopt.plotting.rollout import plot_rollout, rollout_report
    from trajopt.plotting.window import write
    from trajopt.robots.on_base import load_on_base
    from trajopt.simulator import Simulator
    from trajopt.simulator.drop import Drop, stepping_mode
    from trajopt.simulator.end_spheres import ends_of

    with clean_errors():
        check_outputs(plot, animate)
        screen, begin = Screen(as_json=as_json), time.perf_counter()
        drop = Drop(configuration=configuration, height=height, duration=duration, dt=dt, kp=kp, kd=kd)
        simulator = Simulator(load_on_base(robot, base), mode=stepping_mode(mode))
        with screen.status(f"simulating {robot} ..."):
            rollout = drop.run(simulator, ends_of(simulator.robot, robot))
        for key, words in rollout_report(rollout).items():
            screen.row(key, words)
        screen.row("time", f"{time.perf_counter() - begin:.2f} s")
        screen.write("picture", plot, lambda path: write(plot_rollout(rollout), path))
        screen.write("animation", animate, rollout.film)
        screen.finish(robot=rollout.robot.name, duration=rollout.times[-1], x=rollout.xs[-1], limited=rollout.limited)
