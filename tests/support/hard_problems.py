"""Problems with constraints that one kind of step or one guess does not solve."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.actions import ActionModelDiscrete, ActionModelTerminal
from trajopt.actions.differential import (
    DifferentialActionModelFreeFwdDynamics,
    DifferentialActionModelFreeInvDynamics,
    DifferentialActionModelSymbolic,
)
from trajopt.actions.integrated import IntegratedActionModelEuler, IntegratedActionModelRK4
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFull
from trajopt.articulations import ArticulationBuilder
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.problems.runge_kutta import ActionModelRungeKutta, ends_at
from trajopt.residuals import (
    ResidualModelControl,
    ResidualModelFrameTranslation,
    ResidualModelJointAcceleration,
    ResidualModelJointEffort,
    ResidualModelState,
    ResidualModelSymbolic,
    ResidualModelTime,
)
from trajopt.robots import load_robot
from trajopt.shooting import ShootingProblem
from trajopt.states import StateMultibody, StateVector
from trajopt.types import Reals

INF = np.inf
Guess = tuple[Reals, Reals]


class Trailer(ActionModelRungeKutta):
    """A car, 1 m between its axles, with a trailer of 1.5 m: x = (position, headings of both), u = (v, steering)."""

    def rate(self, x: SX, u: SX) -> SX:
        v, steer = u[0], u[1]
        turn = v * ca.sin(x[2] - x[3]) / 1.5
        return ca.vertcat(v * ca.cos(x[2]), v * ca.sin(x[2]), v * ca.tan(steer), turn)


def trailer() -> tuple[ShootingProblem, Guess]:
    """It reverses into a bay between two round posts; car and trailer keep within 1.2 rad of one another."""
    state, goal = StateVector(4), np.array([2.0, -4.0, np.pi / 2, np.pi / 2])

    def clearances(x: SX) -> SX:
        points = x[:2], x[:2] - 1.5 * ca.vertcat(ca.cos(x[3]), ca.sin(x[3]))
        posts = ca.DM([0.2, -4.5]), ca.DM([3.8, -4.5])
        return ca.vertcat(*[ca.sumsqr(point - post) - 1.0 for point in points for post in posts])

    rows = ConstraintStack(state).add("wheels", ResidualModelControl(state), lower=[-1.5, -0.7], upper=[1.5, 0.7])
    rows.add("posts", ResidualModelSymbolic(state, clearances), lower=0.0)
    rows.add("fold", ResidualModelSymbolic(state, lambda x: x[2] - x[3]), lower=-1.2, upper=1.2)
    model = Trailer(2, rows, dt=0.15, goal=goal, weight=0.0, effort=0.5)
    xs = np.linspace(np.zeros(4), goal, 81)
    return ShootingProblem(np.zeros(4), [model] * 80, ends_at(state, goal)), (xs, np.tile([-0.5, 0.0], (80, 1)))


class Hopper(ActionModelDiscrete):
    """A body of 1 kg above a foot of 0.2 kg, x = (heights, velocities), u = (leg force, ground force) [N]."""

    def next_state(self, x: SX, u: SX) -> SX:
        """Semi-implicit Euler steps of 20 ms."""
        forces = ca.vertcat(u[0], (u[1] - u[0]) / 0.2)
        v = x[2:] + 0.02 * (forces - 9.81)
        return ca.vertcat(x[:2] + 0.02 * v, v)

    def running_cost(self, x: SX, u: SX) -> SX:
        """Effort; a little of the ground force, too."""
        return SX(0.02 * (1e-4 * u[0] ** 2 + 1e-7 * u[1] ** 2))

    def terminal_cost(self, x: SX) -> SX:
        """None."""
        return SX(0)


def hopper() -> tuple[ShootingProblem, Guess]:
    """It jumps to an apex; the ground pushes only at feet that it touches: force times height is at most 1e-2 N m."""
    state, start, goal = StateVector(4), np.array([0.3, 0.0, 0.0, 0.0]), np.array([1.2, 0.7, 0.0, 0.0])
    rows = ConstraintStack(state).add("forces", ResidualModelControl(state), lower=[-80.0, 0.0], upper=[80.0, 300.0])
    body = Hopper(state, 2)
    touch = ResidualModelSymbolic(state, lambda x, u: body.next_state(x, u)[1] * u[1] / 100.0)
    rows.add("touch", touch, upper=1e-4)
    rows.add("leg", ResidualModelSymbolic(state, lambda x: x[0] - x[1]), lower=0.2, upper=0.6)
    rows.add("ground", ResidualModelState(state), lower=[-INF, 0.0, -INF, -INF])
    xs = np.linspace(start, goal, 61)
    problem = ShootingProblem(start, [Hopper(state, 2, constraints=rows)] * 60, ends_at(state, goal))
    return problem, (xs, np.tile([9.81, 11.8], (60, 1)))


def double_integrator(x0: float, *, wall: float = INF, end: float = 0.0, T: int = 40) -> ShootingProblem:
    """A mass of 1 kg with 2 N that comes to rest at `end`, left of a wall."""
    state = StateVector(2)

    class Mass(ActionModelDiscrete):
        def next_state(self, x: SX, u: SX) -> SX:
            v = x[1] + 0.05 * u
            return ca.vertcat(x[0] + 0.05 * v, v)

        def running_cost(self, x: SX, u: SX) -> SX:
            return SX(0.5 * ca.sumsqr(u))

        def terminal_cost(self, x: SX) -> SX:
            return SX(0)

    rows = ConstraintStack(state).add("motor", ResidualModelControl(state), lower=-2.0, upper=2.0)
    rows.add("wall", ResidualModelState(state), upper=[wall, INF])
    last = ConstraintStack(state).add("end", ResidualModelState(state, [end, 0.0]), equals=0.0)
    terminal = ActionModelTerminal(CostStack(state), constraints=last)
    return ShootingProblem([x0, 0.0], [Mass(state, 1, constraints=rows)] * T, terminal)


class Rocket(ActionModelRungeKutta):
    """x = (place, pitch, velocity, pitch rate, mass), u = (thrust, gimbal) in m, s, t and kN; 300 s of impulse."""

    def rate(self, x: SX, u: SX) -> SX:
        force = u[0] * ca.vertcat(-ca.sin(x[2] + u[1]), ca.cos(x[2] + u[1]))
        v = force / x[6] - ca.vertcat(0.0, 9.81)
        return ca.vertcat(x[3:6], v, -5.0 * u[0] * ca.sin(u[1]) / (8.0 * x[6]), -u[0] / 2943.0)

    def running_cost(self, x: SX, u: SX) -> SX:
        """Fuel, and a little of the gimbal."""
        return SX(self.dt * self.effort * (u[0] / 2943.0 + 5e-4 * u[1] ** 2))


def rocket(T: int) -> ShootingProblem:
    """It lands softly above a glide slope, in a time of its own choice; rollouts of its controls are far from there."""
    state, slope = StateVector(7), np.tan(np.deg2rad(20.0))
    rows = ConstraintStack(state)
    rows.add("engine", ResidualModelControl(state), lower=[8.0, -0.1745], upper=[40.0, 0.1745])
    glide = ResidualModelSymbolic(state, lambda x: ca.vertcat(x[1] - slope * x[0], x[1] + slope * x[0]))
    rows.add("glide", glide, lower=0.0)
    rows.add("tilt", ResidualModelState(state, elements=[2]), lower=-0.87, upper=0.87)
    rows.add("tank", ResidualModelState(state, elements=[6]), lower=1.2)
    landed = ConstraintStack(state).add("landed", ResidualModelState(state, elements=range(6)), equals=0.0)
    model = Rocket(2, rows, dt=20.0 / T, goal=np.zeros(7), weight=0.0, effort=1.0)
    end = ActionModelTerminal(CostStack(state), constraints=landed)
    problem = ShootingProblem([150.0, 500.0, 0.0, -15.0, -50.0, 0.0, 2.0], [model] * T, end)
    problem.free("dt", 5.0 / T, 60.0 / T)
    return problem


class Car(ActionModelRungeKutta):
    """x = (position, heading, speed, steering), u = (acceleration, rate of steering), 2.5 m between its axles."""

    def rate(self, x: SX, u: SX) -> SX:
        v = x[3]
        return ca.vertcat(v * ca.cos(x[2]), v * ca.sin(x[2]), v * ca.tan(x[4]) / 2.5, u)


def aside() -> tuple[ShootingProblem, Guess]:
    """A car goes back and aside; to first order it can't go aside from where the guess is, a slide without a turn."""
    state, start, goal = StateVector(5), np.array([7.0, 1.2, 0.0, 0.0, 0.0]), np.array([1.8, -1.1, 0.0, 0.0, 0.0])
    rows = ConstraintStack(state).add("steering", ResidualModelState(state, elements=[4]), lower=-0.6, upper=0.6)
    model = Car(2, rows, dt=0.1, goal=goal, weight=0.0, effort=1.0)
    xs = np.linspace(start, goal, 121)
    return ShootingProblem(start, [model] * 120, ends_at(state, goal)), (xs, np.zeros((120, 2)))


class HastyCar(Car):
    """The same car, in a hurry."""

    def running_cost(self, x: SX, u: SX) -> SX:
        return SX(self.dt * (1.0 + 5e-3 * ca.sumsqr(u)))


def among_posts() -> ShootingProblem:
    """A car parks among round posts as fast as it can; at rest, where guesses begin, it can't turn to first order."""
    state, start, goal = StateVector(5), np.array([-0.2, 1.0, -0.3, 0.0, 0.0]), np.array([4.0, -2.5, 0.0, 0.0, 0.0])
    rows = ConstraintStack(state).add("motors", ResidualModelControl(state), lower=[-1.5, -0.8], upper=[1.5, 0.8])
    rows.add("range", ResidualModelState(state, elements=[3, 4]), lower=[-2.0, -0.6], upper=[2.0, 0.6])

    def clearances(x: SX) -> SX:
        posts = ([1.3, -1.9], 0.8), ([8.2, -2.4], 0.8), ([2.8, 2.7], 0.6)
        disks = [x[:2] + at * ca.vertcat(ca.cos(x[2]), ca.sin(x[2])) for at in (0.25, 2.25)]
        return ca.vertcat(*[ca.norm_2(disk - ca.DM(post)) - radius - 1.0 for disk in disks for post, radius in posts])

    rows.add("posts", ResidualModelSymbolic(state, clearances), lower=0.0)
    model = HastyCar(2, rows, dt=0.15, goal=goal, weight=0.0, effort=1.0)
    problem = ShootingProblem(start, [model] * 60, ends_at(state, goal))
    problem.free("dt", 0.01, 0.5)
    return problem


class CarAmongCars(Car):
    """A car of 4.5 x 1.8 m, whose further controls are two lines (angle of the normal, distance) that separate it."""

    def rate(self, x: SX, u: SX) -> SX:
        return super().rate(x, u[:2])

    def running_cost(self, x: SX, u: SX) -> SX:
        """Effort, and a little that keeps the lines along the street."""
        lines = u[2:] - ca.DM([np.pi / 2, 0.0, np.pi / 2, 0.0])
        return SX(self.dt * 5.0 * (ca.sumsqr(u[:2]) + 9e-4 * ca.sumsqr(lines)))


def slot() -> tuple[ShootingProblem, Guess]:
    """A car parks between two others in a street; the guess goes through one of them, straight to the goal."""
    state, start, goal = StateVector(5), np.array([4.15, 2.3, 0.0, 0.0, 0.0]), np.array([-1.25, 0.0, 0.0, 0.0, 0.0])
    motors = ConstraintStack(state).add(
        "motors", ResidualModelSymbolic(state, lambda x, u: u[:2]), lower=[-1.5, -0.8], upper=[1.5, 0.8]
    )
    rows = motors.add("range", ResidualModelState(state, elements=[3, 4]), lower=[-2.0, -0.6], upper=[2.0, 0.6])

    def corners(x: SX) -> list[SX]:
        c, s = ca.cos(x[2]), ca.sin(x[2])
        body = [(-1.0, -0.9), (3.5, -0.9), (3.5, 0.9), (-1.0, 0.9)]
        return [x[:2] + ca.vertcat(c * a - s * b, s * a + c * b) for a, b in body]

    def apart(x: SX, u: SX) -> SX:
        sides = []
        for angle, distance, middle in ((u[2], u[3], 5.4), (u[4], u[5], -5.4)):
            normal, center = ca.vertcat(ca.cos(angle), ca.sin(angle)), ca.DM([middle, 0.0])
            others = [ca.DM([middle + a, b]) for a in (-2.25, 2.25) for b in (-0.9, 0.9)]
            sides += [ca.dot(normal, corner - center) - distance for corner in corners(x)]
            sides += [distance - ca.dot(normal, corner - center) for corner in others]
        return ca.vertcat(*sides)

    rows.add(
        "street", ResidualModelSymbolic(state, lambda x: ca.vertcat(*(c[1] for c in corners(x)))), lower=-1.3, upper=5.0
    )
    rows.add("cars", ResidualModelSymbolic(state, apart), lower=0.025)
    model = CarAmongCars(6, rows, dt=0.1, goal=goal, weight=0.0, effort=1.0)
    xs, us = np.linspace(start, goal, 101), np.tile([0.0, 0.0, np.pi / 2, 1.1, np.pi / 2, 1.1], (100, 1))
    return ShootingProblem(start, [model] * 100, ends_at(state, goal)), (xs, us)


class Load(ActionModelRungeKutta):
    """A planar quadrotor of 1 kg with .3 kg on a cable of .7 m: x = (place, pitch, cable, rates), u = forces [N]."""

    def rate(self, x: SX, u: SX) -> SX:
        s, c, push = ca.sin(x[3]), ca.cos(x[3]), (u[0] + u[1]) * ca.vertcat(-ca.sin(x[2]), ca.cos(x[2]))
        pull = 0.3 * (0.7 * x[7] ** 2 - push[0] * s + push[1] * c) / 1.3  # of the cable
        a = push + pull * ca.vertcat(s, -c)
        return ca.vertcat(x[4:], a[0], a[1] - 9.81, 10.0 * (u[1] - u[0]), -(a[0] * c + a[1] * s) / 0.7)

    def running_cost(self, x: SX, u: SX) -> SX:
        """Forces beside those that hold it."""
        return SX(self.dt / 2 * self.effort * ca.sumsqr(u - 6.3765))


def load() -> tuple[ShootingProblem, Guess]:
    """Drone and load fly past a post."""
    state, goal = StateVector(8), np.array([3.0, *np.zeros(7)])
    rows = ConstraintStack(state).add("forces", ResidualModelControl(state), lower=0.0, upper=12.0)

    def clearances(x: SX) -> SX:
        below = x[:2] + 0.7 * ca.vertcat(ca.sin(x[3]), -ca.cos(x[3]))
        return ca.vertcat(*(ca.sumsqr(place - ca.DM([1.5, 0.0])) for place in (x[:2], below)))

    rows.add("post", ResidualModelSymbolic(state, clearances), lower=[0.36, 0.16])
    model = Load(2, rows, dt=0.03, goal=goal, weight=0.0, effort=0.1)
    xs = np.linspace(np.zeros(8), goal, 101)
    return ShootingProblem(np.zeros(8), [model] * 100, ends_at(state, goal)), (xs, np.full((100, 2), 6.3765))


def reach_by_torque(robot_name: str, dt: float, weight: float) -> ShootingProblem:
    """An arm goes to a configuration in 50 steps at the cost of torque alone: the motors could spin its wrist."""
    robot = load_robot(robot_name)
    state = StateMultibody(robot)
    actuation, model, n = ActuationModelFull(state), robot.model, state.nv
    q0, q1 = np.random.default_rng(0).uniform(-1.5, 1.5, (2, n))
    costs = CostStack(state).add("torque", ResidualModelControl(state), weight=weight)
    rows = ConstraintStack(state)
    rows.add("motors", ResidualModelControl(state), lower=-model.effortLimit, upper=model.effortLimit)
    goal = ConstraintStack(state).add("goal", ResidualModelState(state, [*q1, *np.zeros(n)]), equals=0.0)
    arm = DifferentialActionModelFreeFwdDynamics(state, actuation, costs, constraints=rows)
    end = ActionModelTerminal(CostStack(state), constraints=goal)
    return ShootingProblem([*q0, *np.zeros(n)], [IntegratedActionModelEuler(arm, dt=dt)] * 50, end)


def reach_of_a_light_wrist() -> ShootingProblem:
    """An xArm 7 turns to a point on its other side in 1.5 s, within all limits: its wrist weighs next to nothing."""
    robot = load_robot("xarm7")
    state = StateMultibody(robot)
    lower, upper = (
        np.clip(limit, -2.5, 2.5) for limit in (robot.model.lowerPositionLimit, robot.model.upperPositionLimit)
    )
    q0, q1 = (lower + (upper - lower) * part for part in np.random.default_rng(1).uniform(0.2, 0.8, (6, robot.nq))[4:])
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, q1)
    point = data.oMf[robot.frame_id("link_eef")].translation
    actuation, velocities = ActuationModelFull(state), ActivationModelWeightedQuad(np.repeat([0.0, 1.0], robot.nv))
    running = CostStack(state).add("velocity", ResidualModelState(state), weight=1e-2, activation=velocities)
    running.add("torque", ResidualModelControl(state), weight=1e-4)
    stop = CostStack(state).add("stop", ResidualModelState(state), weight=10.0, activation=velocities)
    goal = ConstraintStack(state).add("goal", ResidualModelFrameTranslation(state, "link_eef", point), equals=0.0)
    rows = ConstraintStack.of_robot(state, actuation)
    arm = DifferentialActionModelFreeFwdDynamics(state, actuation, running, constraints=rows)
    knots = [IntegratedActionModelEuler(arm, dt=0.02)] * 75
    return ShootingProblem([*q0, *np.zeros(robot.nv)], knots, ActionModelTerminal(stop, constraints=goal))


class Crane(DifferentialActionModelSymbolic):
    """A trolley of 100 kg with a load of 200 kg: x = (trolley, rope, swing, rates), u = (trolley's force, tension)."""

    def acceleration(self, x: SX, u: SX) -> SX:
        rope, swing, rope_rate, rate, g = x[1], x[2], x[4], x[5], 9.81
        s, c = ca.sin(swing), ca.cos(swing)
        a = (u[0] + u[1] * s) / 100.0
        along = rope * rate**2 + g * c - u[1] / 200.0 - a * s
        return ca.vertcat(a, along, (-g * s - 2.0 * rope_rate * rate - a * c) / rope)


def crane() -> tuple[ShootingProblem, Guess]:
    """It carries its load over a wall in least time, with rows at stages: its rope begins as long as may be."""
    N, x0, x1 = 80, np.array([0.0, 4.7, 0.0, 0.0, 0.0, 0.0]), np.array([4.0, 4.7, 0.0, 0.0, 0.0, 0.0])
    state, most = StateVector(6), np.array([5.0, 4.7, np.deg2rad(5.0), 1.5, 0.6, INF])
    least = np.array([-1.0, 1.0, *-most[2:]])

    def distance(x: SX) -> SX:
        aside, above = ca.fabs(x[0] + x[1] * ca.sin(x[2]) - 2.0) - 0.1, 3.5 - x[1] * ca.cos(x[2])
        outside = ca.sqrt(ca.fmax(aside, 0) ** 2 + ca.fmax(above, 0) ** 2 + 1e-8)
        return outside + ca.fmin(ca.fmax(aside, above), 0)

    rows = ConstraintStack(state)
    rows.add("forces", ResidualModelControl(state, np.zeros(2)), lower=[-600.0, 0.0], upper=[600.0, 3000.0])
    rows.add("motion", ResidualModelState(state), lower=least, upper=most)
    rows.add("wall", ResidualModelSymbolic(state, distance), lower=0.3)
    costs = CostStack(state).add("time", ResidualModelTime(state), weight=1.0)
    end = ConstraintStack(state).add("goal", ResidualModelState(state, x1), equals=0.0)
    knot = IntegratedActionModelRK4(Crane(state, 2, costs, constraints=rows), dt=0.08, rows="stages")
    problem = ShootingProblem(x0, [knot] * N, ActionModelTerminal(CostStack(state), constraints=end))
    problem.free("dt", 0.01, 0.2)
    xs = np.linspace(x0, x1, N + 1)
    xs[:, 1] -= 1.5 * np.sin(np.linspace(0.0, np.pi, N + 1))
    return problem, (xs, np.tile([0.0, 200.0 * 9.81], (N, 1)))


def scara() -> ShootingProblem:
    """A SCARA with a tool in its quill moves at the least squares of torques, within limits, near a flat saddle."""
    builder, parent, length = ArticulationBuilder(), "world", 0.0
    links = [(4.0, 0.15, (0.01, 0.04, 0.04), 0.3), (2.5, 0.12, (0.006, 0.02, 0.02), 0.25)]
    for mass, com, inertia, reach in [*links, (0.5, 0.0, (0.0006, 0.0006, 0.0008), 0.0)]:
        name = f"link_{mass:g}"
        builder.add_link(name, mass=mass, com=[com, 0.0, 0.0], inertia=np.diag(inertia))
        builder.add_revolute(parent, name, X_p=[length, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        parent, length = name, reach
    builder.add_link("quill", mass=0.8, com=[0.01, 0.0, -0.1], inertia=np.diag([0.004, 0.004, 0.0005]))
    builder.add_prismatic(parent, "quill")
    state = StateMultibody(builder.build("scara"))
    actuation, motion = ActuationModelFull(state), ResidualModelState(state)
    torques, acceleration = ResidualModelJointEffort(state, actuation), ResidualModelJointAcceleration(state)
    costs = CostStack(state).add("energy", torques, weight=1.0).add("effort", acceleration, weight=1e-6)
    q, v = np.array([2.3, 2.5, 3.1, 0.2]), np.array([5.0, 7.0, 12.0, 0.8])
    motors, most = np.array([40.0, 18.0, 1.5, 25.0]), np.array([25.0, 40.0, 60.0, 6.0])
    rows = ConstraintStack(state).add("motors", torques, lower=-motors, upper=motors)
    rows.add("motion", motion, lower=[*(-q), *(-v)], upper=[*q[:3], 0.0, *v])
    rows.add("acceleration", acceleration, lower=-most, upper=most)
    goal = ConstraintStack(state)
    goal.add("goal", ResidualModelState(state, [0.9, -0.6, 1.5, -0.15, 0, 0, 0, 0]), equals=0.0)
    model = DifferentialActionModelFreeInvDynamics(state, actuation, costs, constraints=rows)
    end = ActionModelTerminal(CostStack(state), constraints=goal)
    return ShootingProblem([-0.8, 1.2, 0, -0.02, 0, 0, 0, 0], [IntegratedActionModelRK4(model, dt=0.8 / 60)] * 60, end)


class Acrobot(DifferentialActionModelSymbolic):
    """Two rods of 1 kg and 1 m with a motor in the elbow: x = (angles from hanging, rates)."""

    def acceleration(self, x: SX, u: SX) -> SX:
        cosine, v, w = ca.cos(x[1]), x[2], x[3]
        M = ca.blockcat([[5 / 3 + cosine, 1 / 3 + cosine / 2], [1 / 3 + cosine / 2, 1 / 3]])
        turning = 0.5 * ca.sin(x[1]) * ca.vertcat(w * (2 * v + w), -(v**2))
        forearm = 0.5 * ca.sin(x[0] + x[1])
        return ca.solve(M, ca.vertcat(0, u) + turning - 9.81 * ca.vertcat(1.5 * ca.sin(x[0]) + forearm, forearm))


def acrobot(motor: float) -> ShootingProblem:
    """Its swing-up within 4 s, by at most `motor` [N m]."""
    state = StateVector(4)
    effort, upright = ResidualModelControl(state), ResidualModelState(state, [np.pi, 0.0, 0.0, 0.0])
    rows = ConstraintStack(state).add("motor", effort, lower=-motor, upper=motor)
    costs = CostStack(state).add("effort", effort, weight=0.1)
    weights = ActivationModelWeightedQuad([100.0, 100.0, 10.0, 10.0])
    end = CostStack(state).add("upright", upright, weight=10.0, activation=weights)
    knot = IntegratedActionModelRK4(Acrobot(state, 1, costs, constraints=rows), dt=0.02)
    return ShootingProblem(np.zeros(4), [knot] * 200, end)
