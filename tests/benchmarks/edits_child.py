"""A user's script, with a clock: `python edits_child.py SCENARIO EDIT`. `edits.py` runs copies of this file.

Prints one JSON object: wall seconds from the end of the imports to the end of the first iteration, and seconds of the
processor meanwhile, of this process and of its children. EDIT is what differs from the script's first version:
"session" nothing, then it stays until all code is optimised; "warm" nothing; others, see `more_terms` and below it.
"""

import json
import resource
import sys
import time
from collections.abc import Callable

import casadi
import numpy as np

import trajopt
from trajopt import CostStack, Robot, ShootingProblem, gaits
from trajopt.gaits import ContactSchedule
from trajopt.problems import humanoid, stand_up
from trajopt.simulator import ActionModelSimulator, Simulator
from trajopt.simulator.contact import weight_of
from trajopt.solvers import FDDPOptions, SolverFDDP, SolverSQP, SQPOptions


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = u / (m l²) - g / l sin(q), x = (q, v)."""

    def acceleration(self, x, u):
        return 4.0 * u - 19.62 * casadi.sin(x[0])


class ResidualModelHeight(trajopt.ResidualModelAbstract):
    """Height of a frame [m]."""

    def __init__(self, state, frame):
        super().__init__(state, 1, unit="m")
        self.frame_id = state.robot.frame_id(frame)

    def evaluate(self, instant):
        return instant.robot.frame_placement(self.frame_id)[1][2]


class ResidualModelSwing(trajopt.ResidualModelAbstract):
    """Distance of the rod's end from the vertical, in lengths of the rod [-]."""

    def __init__(self, state):
        super().__init__(state, 1)

    def evaluate(self, instant):
        return casadi.sin(instant.x[0])


Guess = tuple[np.ndarray | None, np.ndarray | None]


def main(scenario: str, edit: str) -> None:
    """Solves the problem and prints the figures."""
    marks = [clock()]
    problem, guess = SCENARIOS[scenario](edit)
    solver, options = (SolverSQP, SQPOptions) if edit == "constraint" else (SolverFDDP, FDDPOptions)
    solver(problem, options(max_iterations=10), callbacks=[lambda _: marks.append(clock())]).solve(*guess)
    if edit == "session":
        from trajopt.kernels import wait_until_optimised

        wait_until_optimised()
    print(json.dumps(dict(zip(("wall", "cpu", "children"), (marks[1] - marks[0]).tolist()))))


def clock() -> np.ndarray:
    """Wall time, processor time of this process and of its children that have ended [s]."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return np.array([time.monotonic(), time.process_time(), children.ru_utime + children.ru_stime])


def more_terms(costs: CostStack, nu: int, edit: str, frame: str | None) -> CostStack:
    """The terms of a knot with nu controls, with one more or with another activation of the controls."""
    state, edited = costs.state, CostStack(costs.state)
    for term in costs.terms:
        activation = term.activation
        if edit == "activation" and isinstance(term.residual, trajopt.ResidualModelControl):
            activation = trajopt.ActivationModelQuadraticBarrier(-np.ones(nu), np.ones(nu))
        edited.add(term.name, term.residual, term.weight.default, activation)
    if edit == "built-in term":
        edited.add("calm", calm(state, frame), weight=1e-3)
    if edit == "own term":
        own = ResidualModelHeight(state, frame) if frame else ResidualModelSwing(state)
        edited.add("own", own, weight=1e-3)
    return edited


def calm(state: trajopt.StateAbstract, frame: str | None) -> trajopt.ResidualModelAbstract:
    """Velocity of a frame; without one, the state."""
    return trajopt.ResidualModelFrameVelocity(state, frame) if frame else trajopt.ResidualModelState(state)


def more_rows(state: trajopt.StateAbstract, edit: str, frame: str | None) -> trajopt.ConstraintStack | None:
    """Bounds of `calm` that are wide; none by default."""
    if edit != "constraint":
        return None
    return trajopt.ConstraintStack(state).add("calm", calm(state, frame), lower=-100.0, upper=100.0)


def integrated(dynamics: trajopt.DifferentialActionModelAbstract, dt: float, edit: str) -> trajopt.ActionModelAbstract:
    """Euler's steps, or RK4's."""
    rk4 = edit == "integrator"
    return (trajopt.IntegratedActionModelRK4 if rk4 else trajopt.IntegratedActionModelEuler)(dynamics, dt=dt)


def panda(edit: str) -> tuple[ShootingProblem, Guess]:
    """The README's hello world."""
    arm, tool = trajopt.load_robot("panda"), "panda_hand_tcp"
    arm = arm.lock_joints(["panda_finger_joint1", "panda_finger_joint2"])
    state = trajopt.StateMultibody(arm)
    motion = trajopt.ResidualModelState(state)
    velocities = trajopt.ActivationModelWeightedQuad(np.repeat([0.0, 1.0], arm.nv))
    running = CostStack(state).add("velocity", motion, weight=1e-2, activation=velocities)
    running.add("torque", trajopt.ResidualModelControl(state), weight=1e-4)
    goal = trajopt.ResidualModelFrameTranslation(state, tool, [0.4, 0.2, 0.5])  # [m]
    terminal = CostStack(state).add("goal", goal, weight=1e3)
    terminal.add("stop", motion, weight=10.0, activation=velocities)
    costs, rows = more_terms(running, arm.nv, edit, tool), more_rows(state, edit, tool)
    actuation = trajopt.ActuationModelFull(state)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs, constraints=rows)
    x0 = np.r_[0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8, np.zeros(arm.nv)]
    return ShootingProblem(x0, [integrated(dynamics, 1e-2, edit)] * 100, terminal), (None, None)


def in_contact(
    knot: trajopt.IntegratedActionModelEuler, dt: float, edit: str, frame: str
) -> trajopt.ActionModelAbstract:
    """A knot of a robot in contact, edited."""
    first = knot.differential
    costs, rows = more_terms(first.costs, first.nu, edit, frame), more_rows(first.state, edit, frame)
    dynamics = trajopt.DifferentialActionModelContactFwdDynamics(
        first.state, first.actuation, first.contacts, costs, constraints=rows
    )
    return integrated(dynamics, dt, edit)


def go2(edit: str) -> tuple[ShootingProblem, Guess]:
    """The README's trot."""
    robot = trajopt.load_robot("go2")
    stance = gaits.Stance.of(robot, ["FL_foot", "FR_foot", "RL_foot", "RR_foot"])
    trot = gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05, cycles=2)  # [m]
    return gait(robot, trot, edit, "base")


def talos_walk(edit: str) -> tuple[ShootingProblem, Guess]:
    """Talos' legs walk."""
    robot = trajopt.load_robot("talos_legs")
    walk = gaits.biped_walk(gaits.Stance.of(robot, ["right_sole_link", "left_sole_link"], soles=True))
    return gait(robot, walk, edit, "base_link")


def gait(robot: Robot, schedule: ContactSchedule, edit: str, frame: str) -> tuple[ShootingProblem, Guess]:
    """A gait whose knots between touch-downs are edited."""
    models = gaits.GaitModels(robot, schedule.start)
    vars(models)["running"] = in_contact(models.running, 1e-2, edit, frame)
    problem = models.problem(schedule)
    return problem, gaits.gait_guess(problem, schedule)


def talos_reach(edit: str) -> tuple[ShootingProblem, Guess]:
    """The ready problem humanoid-reach."""
    robot, hand = trajopt.load_robot("talos"), "gripper_left_joint"
    phases = [humanoid.LeftFootPhase(knots=60)]
    ready = humanoid.humanoid_problem(
        robot, phases, hand=hand, target=(0.4, 0.0, 1.2), dt=5e-2, damping=None, cone=1e-2
    )
    knot = in_contact(ready.running[0], 5e-2, edit, hand)
    return ShootingProblem(ready.x0, [knot] * ready.T, ready.terminal), (None, None)


def a1(edit: str) -> tuple[ShootingProblem, Guess]:
    """A1 stays where it stands, by contacts that the simulator finds."""
    body = stand_up.BODIES["a1"]
    robot = stand_up.with_motors(trajopt.load_robot("a1"), body.rotor)
    mode = "FORWARD_RK1I" if edit == "integrator" else "FORWARD_RK1F"
    simulator = Simulator(robot, stand_up.spheres(robot, body), mode, barrier_weight=0.1 * weight_of(robot))
    state = trajopt.StateMultibody(robot)
    x0 = state.at_rest(stand_up.posture(robot, body, body.standing))
    terminal = CostStack(state).add("posture", trajopt.ResidualModelState(state, x0), weight=10.0)
    running = CostStack(state).add("posture", trajopt.ResidualModelState(state, x0), weight=1.0)
    running.add("effort", trajopt.ResidualModelControl(state), weight=1e-3)
    costs, rows = more_terms(running, 12, edit, "trunk"), more_rows(state, edit, "trunk")
    knot = ActionModelSimulator(simulator, costs, dt=1e-2, constraints=rows)
    xs, us = np.tile(x0, (71, 1)), np.zeros((70, knot.nu))
    return ShootingProblem(x0, [knot] * 70, terminal), (xs, us)


def pendulum(edit: str) -> tuple[ShootingProblem, Guess]:
    """The README's own model."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
    running = CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1e-2)
    upright = trajopt.ResidualModelState(state, [np.pi, 0.0])
    terminal = CostStack(state).add("upright", upright, weight=1e2)
    dynamics = Pendulum(state, 1, more_terms(running, 1, edit, None), constraints=more_rows(state, edit, None))
    return ShootingProblem([0.0, 0.0], [integrated(dynamics, 0.02, edit)] * 100, terminal), (None, None)


SCENARIOS: dict[str, Callable[[str], tuple[ShootingProblem, Guess]]] = {
    "panda": panda,
    "go2": go2,
    "talos reach": talos_reach,
    "talos walk": talos_walk,
    "a1": a1,
    "pendulum": pendulum,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
