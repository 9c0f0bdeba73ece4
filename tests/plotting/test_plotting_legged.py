"""Pictures of motions on feet: what is drawn, read back from the figures and checked against other ways to get it.

Longer than a file should be: one short test for each thing that a picture shows.
"""

import dataclasses
import io

import numpy as np
import pinocchio as pin
import pytest
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver
from scipy.spatial import ConvexHull

import trajopt
from trajopt import gaits
from trajopt.actions.differential import DifferentialActionModelContactFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.actuation import ActuationModelFloatingBase
from trajopt.analysis import legged_motion
from trajopt.analysis.hull import convex_hull
from trajopt.analysis.legs import is_legged
from trajopt.contacts import (
    ContactModel1D,
    ContactModel2D,
    ContactModel3D,
    ContactModel6D,
    ContactModelLoop,
    ContactStack,
)
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.plotting import (
    plot_com,
    plot_contact_forces,
    plot_feet,
    plot_phases,
    plot_strip,
    plot_summary,
)
from trajopt.residuals import (
    FrictionCone,
    ResidualModelContactFrictionCone,
    ResidualModelControl,
    ResidualModelState,
)
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution, SolverStatus
from trajopt.states import StateMultibody

QUADRUPED, BIPED = trajopt.load_robot("go2"), trajopt.load_robot("talos_legs")
FEET, SOLES = ("FL_foot", "FR_foot", "RL_foot", "RR_foot"), ("right_sole_link", "left_sole_link")
DRAWINGS = (plot_contact_forces, plot_feet, plot_com, plot_phases, plot_strip, plot_summary)


def solution_of(problem, xs, us):
    """A solution that no solver made: nothing has to be compiled."""
    none = np.zeros((0, 0))
    return Solution(
        xs=xs, us=us, K=none, k=none, Vx=none, Vxx=none, cost=1.0, status=SolverStatus.CONVERGED, iterations=3,
        history=(), solver="SolverFDDP", seconds=0.1, x0=xs[0], problem=problem, parameters=problem.parameter_values(),
    )  # fmt: skip


def of_schedule(robot, schedule, *, kind="references", **options):
    weights = gaits.GaitOptions.crocoddyl(soles=schedule.start.feet[schedule.feet[0]].sole)
    problem = gaits.gait_problem(robot, schedule, options=dataclasses.replace(weights, **options))
    xs, us = gaits.gait_guess(problem, schedule, kind)
    rng = np.random.default_rng(0)
    xs[:, robot.nq :] += 0.05 * rng.normal(size=(len(xs), robot.nv))
    return solution_of(problem, xs, us)


@pytest.fixture(scope="module")
def trot():
    """A trot along the references of its schedule, and the schedule."""
    stance = gaits.Stance.of(QUADRUPED, FEET)
    schedule = gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05, step_knots=10, final_knots=4)
    return of_schedule(QUADRUPED, schedule), schedule


@pytest.fixture(scope="module")
def walk():
    """A biped on soles, and its schedule."""
    stance = gaits.Stance.of(BIPED, SOLES, soles=True)
    schedule = gaits.biped_walk(stance, step_length=0.2, step_height=0.05, step_knots=8, final_knots=3)
    return of_schedule(BIPED, schedule, sole=(0.16, 0.08)), schedule


@pytest.fixture(scope="module")
def jump():
    """Standing still while the schedule says that all feet are in the air in between, and the schedule."""
    stance = gaits.Stance.of(QUADRUPED, FEET)
    schedule = gaits.quadruped_jump(
        stance, jump_length=(0.15, 0.0, 0.0), dt=1e-2, ground_knots=4, flying_knots=5, ground=stance.height,
        flight="crocoddyl",
    )  # fmt: skip
    return of_schedule(QUADRUPED, schedule, kind="standing"), schedule


@pytest.fixture(scope="module")
def uphill():
    """A walk whose front feet step up."""
    start = gaits.Stance.of(QUADRUPED, FEET)
    now, phases = start, [gaits.Phase(name="wait", knots=3, stance=FEET)]
    for foot, rise in zip(("RR_foot", "FR_foot", "RL_foot", "FL_foot"), (0.0, 0.06, 0.0, 0.06)):
        to = np.add(now.feet[foot].position, (0.1, 0.0, rise))
        com = np.add(now.com, (0.025, 0.0, rise / 4))
        rest = tuple(other for other in FEET if other != foot)
        phases.append(gaits.Phase(name=foot, knots=6, stance=rest, swings=gaits.Swing(foot, to, 0.04), com=com))
        now = now.stepped(phases[-1].footholds(), com)
    schedule = gaits.ContactSchedule(
        start=start, phases=(*phases, gaits.Phase(name="end", knots=3, stance=FEET)), dt=0.02
    )
    return of_schedule(QUADRUPED, schedule, integrator="rk4"), schedule


def by_hand(robot, contacts, *, costs=None, knots=4, seed=1):
    """Knots in which the robot is anywhere near its posture, with these contacts, by name."""
    state, rng = StateMultibody(robot), np.random.default_rng(seed)
    stack, terms = ContactStack(state), CostStack(state).add("torque", ResidualModelControl(state), 1e-3)
    for name, contact in contacts(state).items():
        stack.add(name, contact)
    for name, residual in (costs(state) if costs else {}).items():
        terms.add(name, residual, 1.0)
    actuation = ActuationModelFloatingBase(state)
    model = DifferentialActionModelContactFwdDynamics(state, actuation, stack, terms)
    end = CostStack(state).add("state", ResidualModelState(state), 1.0)
    x0 = state.at_rest(next(iter(robot.configurations.values())))
    problem = ShootingProblem(x0, [IntegratedActionModelEuler(model, 1e-2)] * knots, end)
    xs = np.array([state.integrate(x0, 0.2 * rng.normal(size=state.ndx)) for _ in range(knots + 1)])
    return solution_of(problem, xs, rng.normal(size=(knots, problem.nu)))


def visible(axes):
    return {str(line.get_label()): line for line in axes.get_lines() if not str(line.get_label()).startswith("_")}


def hidden(axes, label):
    return [line for line in axes.get_lines() if line.get_label() == label]


def patches(axes, label):
    return [patch for patch in axes.patches if patch.get_label() == label]


def legend_texts(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def texts(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def panels_over_time(figure):
    return [axes for axes in figure.axes if "\n" in axes.get_ylabel()]


def positions(solution, frame):
    """Where a frame is (T + 1, 3) [m], by Pinocchio."""
    model = solution.problem.state.model
    data, found = model.createData(), []
    for x in solution.xs:
        pin.framesForwardKinematics(model, data, x[: model.nq])
        found.append(data.oMf[model.getFrameId(frame)].translation.copy())
    return np.array(found)


def total_wrench(motion, t):
    """Force and torque about the world's origin of all contacts (6,) [N, N m]."""
    torques = [foot.torques[t] + np.cross(foot.positions[t], foot.forces[t]) for foot in motion.feet if foot.stands[t]]
    return np.concatenate([sum(foot.forces[t] for foot in motion.feet if foot.stands[t]), sum(torques)])


def accelerated(solution, motion, t):
    """Pinocchio's data after the robot was pushed by the forces of all contacts at a knot."""
    problem, model, x = solution.problem, solution.problem.state.model, solution.xs[t]
    q, v = x[: model.nq], x[model.nq :]
    data, pushes = model.createData(), pin.StdVec_Force()
    pin.forwardKinematics(model, data, q)
    pushes.extend([pin.Force.Zero()] * model.njoints)
    for foot in motion.feet:
        torque = foot.torques[t] + np.cross(foot.positions[t], foot.forces[t])
        joint = model.frames[model.getFrameId(foot.frame)].parentJoint
        pushes[joint] += data.oMi[joint].actInv(pin.Force(foot.forces[t], torque))
    a = pin.aba(model, data, q, v, np.concatenate([np.zeros(6), solution.us[t]]), pushes)
    assert problem.nu == model.nv - 6
    pin.forwardKinematics(model, data, q, v, a)
    pin.updateFramePlacements(model, data)
    return data


# --- the motion ------------------------------------------------------------------------------------------------------


def kinds_of_contacts(state):
    """One of each kind and each reference frame."""
    return {
        "one": ContactModel1D(state, "FL_foot", axis=(0.2, 0.3, 1.0)),
        "local_one": ContactModel1D(state, "FR_foot", axis=(0.2, 0.3, 1.0), reference_frame="local"),
        "two": ContactModel2D(state, "RL_foot"),
        "three": ContactModel3D(state, "RR_foot", reference_frame="local"),
    }


def soles(state):
    return {
        "left": ContactModel6D(state, "left_sole_link", reference_frame="local"),
        "right": ContactModel6D(state, "right_sole_link"),
    }


AXIS = np.array([0.2, 0.3, 1.0]) / np.linalg.norm([0.2, 0.3, 1.0])
HELD = {"one": AXIS, "local_one": AXIS, "two": np.eye(3)[[0, 2]], "three": np.eye(3)}
"""Directions in which each of `kinds_of_contacts` holds its frame."""


def test_forces_in_the_world_are_those_that_hold_the_feet():
    solution = by_hand(QUADRUPED, kinds_of_contacts)
    motion, model = legged_motion(solution), QUADRUPED.model
    assert [foot.name for foot in motion.feet] == list(HELD)
    for t in range(solution.problem.T):
        data = accelerated(solution, motion, t)
        for foot in motion.feet:
            axes = pin.LOCAL_WORLD_ALIGNED if foot.name == "one" else pin.LOCAL
            moving = pin.getFrameClassicalAcceleration(model, data, model.getFrameId(foot.frame), axes).linear
            np.testing.assert_allclose(HELD[foot.name] @ moving, 0.0, atol=1e-8 * np.abs(data.ddq).max())


def test_wrenches_in_the_world_are_those_that_hold_the_soles():
    solution = by_hand(BIPED, soles)
    motion, model = legged_motion(solution), BIPED.model
    for t in range(solution.problem.T):
        data = accelerated(solution, motion, t)
        for foot in motion.feet:
            moving = pin.getFrameAcceleration(model, data, model.getFrameId(foot.frame), pin.LOCAL).vector
            np.testing.assert_allclose(moving, 0.0, atol=1e-8 * np.abs(data.ddq).max())


def test_contacts_of_one_frame_are_one_foot_and_joined_frames_are_none():
    def contacts(state):
        return {
            "height": ContactModel1D(state, "FL_foot"),
            "side": ContactModel1D(state, "FL_foot", axis=(0, 1, 0)),
            "joined": ContactModelLoop(state, "RR_foot", "RL_foot", dimension=3),
        }

    solution = by_hand(QUADRUPED, contacts)
    (foot,) = legged_motion(solution).feet
    forces = solution.contact_forces()
    np.testing.assert_allclose(foot.forces[:, 1:], np.hstack([forces["side"], forces["height"]]))
    assert is_legged(solution)


def test_normals_are_those_of_the_cones():
    tilt = pin.rpy.rpyToMatrix(0.3, 0.2, 0.0)

    def contacts(state):
        return {
            "world": ContactModel3D(state, "FL_foot"),
            "local": ContactModel3D(state, "FR_foot", reference_frame="local"),
            "none": ContactModel3D(state, "RL_foot"),
        }

    def costs(state):
        cone = FrictionCone(0.5, rotation=tilt)
        return {f"{name}_cone": ResidualModelContactFrictionCone(state, name, cone) for name in ("world", "local")}

    solution = by_hand(QUADRUPED, contacts, costs=costs)
    solution.problem.set_parameter("world_cone.mu", 0.9, range(2))  # the picture is of the solve, not of now
    world, local, none = legged_motion(solution).feet
    np.testing.assert_allclose(world.normals, np.tile(tilt[:, 2], (4, 1)))
    forces = solution.contact_forces()
    along = np.array([np.append(tilt[:, :2].T @ f, tilt[:, 2] @ f) for f in forces["local"]])
    np.testing.assert_allclose(local.normal_forces, along[:, 2])  # a product of vectors is the same in all axes
    np.testing.assert_allclose(local.tangential_forces, np.hypot(along[:, 0], along[:, 1]))
    np.testing.assert_array_equal(none.normal_forces, forces["none"][:, 2])
    assert world.mu.tolist() == local.mu.tolist() == [0.5] * 4
    assert np.isnan(none.mu).all()


def test_about_the_centre_of_pressure_the_ground_does_not_tip_the_robot(walk):
    solution, _ = walk
    motion, checked = legged_motion(solution), 0
    for t in np.flatnonzero(motion.takes_time):
        loads = [foot for foot in motion.feet if foot.stands[t]]
        if any(foot.normal_forces[t] <= 0 for foot in loads) or np.ptp([f.positions[t, 2] for f in loads]) > 1e-9:
            continue
        fx, fy, fz, mx, my, _ = total_wrench(motion, t)
        height, checked = loads[0].positions[t, 2], checked + 1
        expected = [(height * fx - my) / fz, (height * fy + mx) / fz, height]
        np.testing.assert_allclose(motion.pressures[t], expected, atol=1e-9)
    assert checked > 10


def test_standing_still_the_centre_of_pressure_is_below_the_centre_of_mass(jump):
    solution, _ = jump
    still = solution.xs.copy()
    still[:, QUADRUPED.nq :] = 0.0
    motion = legged_motion(dataclasses.replace(solution, xs=still))
    assert motion.weight == pytest.approx(9.81 * sum(body.mass for body in QUADRUPED.model.inertias))
    np.testing.assert_allclose(motion.pressures[:4, :2], motion.com[:4, :2], atol=1e-9)
    np.testing.assert_allclose(sum(foot.normal_forces[:4] for foot in motion.feet), motion.weight)
    assert np.isnan(motion.pressures[4:15]).all()  # in the air, and the touch-down
    heavy = dataclasses.replace(motion, weight=1e4 * motion.weight)  # next to nothing presses
    assert np.isnan(heavy.pressures).all()


def test_phases_and_intervals_are_those_of_the_schedule(trot):
    solution, schedule = trot
    motion = legged_motion(solution)
    found = [(phase.first, phase.last, phase.feet) for phase in motion.phases]
    assert found == [
        (0, 2, (0, 1, 2, 3)), (2, 12, (0, 3)), (13, 15, (0, 1, 2, 3)), (15, 25, (1, 2)), (26, 29, (0, 1, 2, 3))
    ]  # fmt: skip
    assert schedule.T == 29
    lf = motion.feet[0]
    assert motion.intervals(lf, standing=True) == [(0, 15), (26, 29)]
    assert motion.intervals(lf, standing=False) == [(15, 25)]
    assert lf.hits.tolist() == [25]
    np.testing.assert_allclose(motion.footholds(lf), lf.positions[[0, 26]])


def test_a_wall_is_no_floor():
    up = pin.rpy.rpyToMatrix(0.0, -np.pi / 2, 0.0)  # normal along -x

    def contacts(state):
        return {"foot": ContactModel3D(state, "FL_foot"), "wall": ContactModel3D(state, "FR_foot")}

    def costs(state):
        return {"cone": ResidualModelContactFrictionCone(state, "wall", FrictionCone(0.5, rotation=up))}

    solution = by_hand(QUADRUPED, contacts, costs=costs)
    motion = legged_motion(solution)
    foot, wall = motion.feet
    assert (foot.on_floor, wall.on_floor) == (True, False)
    np.testing.assert_allclose(wall.normal_forces, -wall.forces[:, 0], atol=1e-12)
    pressed = foot.normal_forces > 0
    assert pressed.any()
    np.testing.assert_allclose(motion.pressures[pressed], foot.positions[:-1][pressed])
    assert len(motion.footholds(wall)) == 0
    (support,) = polygons(plot_com(solution).axes[0])
    np.testing.assert_allclose(np.unique(support, axis=0), foot.positions[:1, :2])


# --- forces ----------------------------------------------------------------------------------------------------------


def test_forces_are_drawn_as_steps_with_the_friction_limit(trot):
    solution, schedule = trot
    figure = plot_contact_forces(solution)
    forces, times = solution.contact_forces(), solution.problem.times
    assert [axes.get_ylabel() for axes in figure.axes] == [f"{name}\nforce [N]" for name in FEET]
    assert figure.axes[-1].get_xlabel() == "time [s]"
    lasting = np.flatnonzero(~schedule.touchdowns[:-1])
    corners = np.stack([times[lasting], times[lasting + 1]], axis=1).ravel()
    for i, (axes, name) in enumerate(zip(figure.axes, FEET)):
        stands = np.repeat(schedule.active[lasting, i], 2)
        normal = np.repeat(forces[name][lasting, 2], 2)
        along = np.repeat(np.linalg.norm(forces[name][lasting, :2], axis=1), 2)
        lines = visible(axes)
        np.testing.assert_allclose(lines["normal"].get_xdata(), corners)
        np.testing.assert_allclose(lines["normal"].get_ydata(), np.where(stands, normal, np.nan))
        np.testing.assert_allclose(lines["tangential"].get_ydata(), np.where(stands, along, np.nan), atol=1e-9)
        (limit,) = hidden(axes, "_limit")
        np.testing.assert_allclose(limit.get_ydata(), np.where(stands, 0.7 * np.maximum(normal, 0), np.nan))
        (band,) = [c for c in axes.collections if c.get_label() == "_band"]
        corner = np.concatenate([path.vertices for path in band.get_paths()])
        assert corner[:, 1].min() == 0.0
        assert corner[:, 1].max() == pytest.approx(np.nanmax(limit.get_ydata()))
    assert "friction limit (μ = 0.7)" in legend_texts(figure)


def test_forces_have_the_air_in_grey_and_lines_where_phases_begin(trot):
    solution, schedule = trot
    figure = plot_contact_forces(solution, schedule)
    times = solution.problem.times
    spans = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in patches(figure.axes[0], "_air")]
    np.testing.assert_allclose(spans, [(times[15], times[25])])
    begins = [line.get_xdata()[0] for line in hidden(figure.axes[2], "_phase")]
    np.testing.assert_allclose(begins, times[[2, 13, 15, 26]])
    named = [text for text in figure.axes[0].texts if text.get_text() == "FR_foot+RL_foot"]
    assert [text.xy[0] for text in named] == pytest.approx([(times[2] + times[12]) / 2])
    assert "FR_foot+RL_foot" not in texts(figure.axes[1])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_touch_downs_are_triangles_with_the_impulse_and_a_negative_one_looks_different(trot, sign):
    solution, _ = trot
    impulse = solution.contact_forces()["FR_foot"][12, 2]
    if sign * impulse < 0:  # the velocity before the touch-down makes the impulse: turn it round
        xs = solution.xs.copy()
        xs[:, QUADRUPED.nq :] *= -1.0
        solution = dataclasses.replace(solution, xs=xs)
        impulse = solution.contact_forces()["FR_foot"][12, 2]
    assert sign * impulse > 0
    figure = plot_contact_forces(solution)
    label, other = ("_touch-down", "_pull") if sign > 0 else ("_pull", "_touch-down")
    (mark,) = hidden(figure.axes[1], label)
    assert not hidden(figure.axes[1], other)
    assert (mark.get_marker(), mark.get_xdata()[0]) == ("^" if sign > 0 else "v", solution.problem.times[12])
    assert [text for text in texts(figure.axes[1]) if "friction" not in text] == [f"{impulse:.2g} N s"]
    assert ("touch-down, normal impulse" if sign > 0 else "negative impulse: pulls") in legend_texts(figure)


def test_forces_without_cones_or_impulses_have_no_band_and_no_triangle():
    figure = plot_contact_forces(by_hand(BIPED, soles))
    assert legend_texts(figure) == ["normal force", "tangential force"]
    assert not hidden(figure.axes[0], "_touch-down")
    assert not hidden(figure.axes[0], "_limit")
    assert not np.isnan(visible(figure.axes[0])["normal"].get_ydata()).any()


# --- phases ----------------------------------------------------------------------------------------------------------


def chart(axes):
    """What a Gantt chart shows, by row: merged bars, arcs with their style, triangles."""
    rows = {}
    for level, name in zip(axes.get_yticks(), (label.get_text() for label in axes.get_yticklabels())):
        bars = sorted(
            (p.get_x(), p.get_x() + p.get_width())
            for p in axes.patches
            if abs(p.get_y() + p.get_height() / 2 - level) < 0.1
        )
        merged = []
        for start, end in bars:
            if merged and start <= merged[-1][1] + 1e-9:
                merged[-1][1] = end
            else:
                merged.append([start, end])
        arcs = [(*line.get_xdata()[[0, -1]], line.get_linestyle()) for line in hidden(axes, "_swing")
                if abs(line.get_ydata().mean() - level) < 0.5]  # fmt: skip
        hits = [line.get_xdata()[0] for line in hidden(axes, "_touch-down") if abs(line.get_ydata()[0] - level) < 0.5]
        rows[name] = (
            np.round(merged, 9).tolist(),
            [(round(a, 9), round(b, 9), s) for a, b, s in arcs],
            np.round(hits, 9).tolist(),
        )
    return rows


def test_phases_of_a_solution_look_like_those_of_its_schedule(trot, walk):
    for solution, schedule in (trot, walk):
        mine, theirs = plot_phases(solution).axes[0], schedule.plot().axes[0]
        assert chart(mine) == chart(theirs)
        assert mine.get_xlabel() == theirs.get_xlabel()
    times = trot[0].problem.times
    bars, arcs, hits = chart(plot_phases(trot[0]).axes[0])["FL_foot"]
    np.testing.assert_allclose(bars, times[[[0, 15], [26, 29]]])
    assert arcs == [(pytest.approx(times[15]), pytest.approx(times[25]), "-")]
    assert hits == [pytest.approx(times[25])]


def test_phases_come_from_the_parameters_of_the_solve():
    solution = by_hand(BIPED, soles)
    problem = solution.problem
    problem.set_parameter("contacts.left.active", 0.0, range(1, 3))
    lifted = dataclasses.replace(solution, parameters=problem.parameter_values())
    problem.set_parameter("contacts.left.active", 1.0, "running")
    rows = chart(plot_phases(lifted).axes[0])
    assert rows == {
        "right": ([[0.0, 0.04]], [], []),
        "left": ([[0.0, 0.01], [0.03, 0.04]], [(0.01, 0.03, "--")], []),
    }


def test_a_jump_hangs_unguided(jump):
    bars, arcs, hits = chart(plot_phases(jump[0]).axes[0])["RR_foot"]
    assert bars == [[0.0, 0.04], [0.14, 0.17]]
    assert arcs == [(0.04, 0.14, "--")]
    assert hits == [0.14]


# --- feet ------------------------------------------------------------------------------------------------------------


def test_feet_are_drawn_over_time_with_their_references(trot):
    solution, schedule = trot
    figure = plot_feet(solution)
    times = solution.problem.times
    for i, (axes, name) in enumerate(zip(figure.axes, FEET)):
        assert axes.get_ylabel() == f"{name}\nz [m]"
        np.testing.assert_allclose(
            visible(axes)[name].get_xydata(), np.column_stack([times, positions(solution, name)[:, 2]])
        )
        (asked,) = hidden(axes, "_reference")
        np.testing.assert_allclose(asked.get_ydata(), schedule.foot_references[:, i, 2, 3])
        assert asked.get_linestyle() == "--"
    ground = [line.get_xdata().tolist() for line in hidden(figure.axes[0], "_ground")]
    np.testing.assert_allclose(ground, times[[[0, 15], [26, 29]]])


def test_feet_from_the_side_leave_the_ground_and_come_back(trot):
    solution, _ = trot
    side = plot_feet(solution).axes[-1]
    assert (side.get_xlabel(), side.get_ylabel()) == ("x [m]", "z [m]")
    paths = {name: positions(solution, name) for name in FEET}
    for name, marks in zip(FEET, hidden(side, "_foothold")):
        np.testing.assert_allclose(visible(side)[name].get_xydata(), paths[name][:, [0, 2]])
        holds = paths[name][[0, 26 if name in ("FL_foot", "RR_foot") else 13]]
        np.testing.assert_allclose(marks.get_xydata(), holds[:, [0, 2]])
    (ground,) = hidden(side, "_ground")
    assert ground.get_ydata()[0] == pytest.approx(min(path[:, 2].min() for path in paths.values()), abs=1e-3)
    widths = [visible(side)[name].get_linewidth() for name in FEET]
    assert widths[0] == widths[2] > 2 * widths[1] == 2 * widths[3]  # paths that are the same are both seen


def test_feet_that_stay_are_lines_not_noise(trot):
    """Panels show centimetres also where feet move by less than a millimetre."""
    solution, _ = trot
    still = dataclasses.replace(solution, xs=np.tile(solution.xs[0], (len(solution.xs), 1)), us=0 * solution.us)
    problem = solution.problem
    for name in [name for name in problem.parameters if name.endswith("_track.weight")]:
        problem.set_parameter(name, 0.0, "running")
    try:
        figure = plot_feet(dataclasses.replace(still, parameters=problem.parameter_values()))
    finally:
        for name in [name for name in problem.parameters if name.endswith("_track.weight")]:
            problem.set_parameter(name, solution.parameters[name], problem.parameters[name].knots)
    for axes in (figure.axes[0], figure.axes[-1]):
        assert np.ptp(axes.get_ylim()) >= 0.04 - 1e-9
        assert np.ptp(axes.get_ylim()) < 0.1


def test_the_ground_of_steps_up_rises_between_the_footholds(uphill):
    solution, _ = uphill
    side = plot_feet(solution).axes[-1]
    (ground,) = hidden(side, "_ground")
    motion = legged_motion(solution)
    for foot in motion.feet:
        for place in motion.footholds(foot):
            assert place[2] in np.interp(place[0] + np.array([-1e-6, 1e-6]), *ground.get_data())
    assert ground.get_xdata()[0] <= side.get_xlim()[0] < side.get_xlim()[1] <= ground.get_xdata()[-1]
    assert np.ptp(ground.get_ydata()) == pytest.approx(0.06, abs=5e-3)


@pytest.mark.parametrize(("heading", "label"), [(0.0, "x [m]"), (np.pi / 2, "y [m]"), (0.7, "along the way [m]")])
def test_the_side_is_seen_across_the_way(heading, label):
    stance = gaits.Stance.of(QUADRUPED, FEET)
    schedule = gaits.quadruped_trot(stance, step_length=0.1, step_knots=4, heading=heading)
    solution = of_schedule(QUADRUPED, schedule)
    side = plot_feet(solution).axes[-1]
    assert side.get_xlabel() == label
    along = positions(solution, "FR_foot")[:, :2] @ [np.cos(heading), np.sin(heading)]
    np.testing.assert_allclose(visible(side)["FR_foot"].get_xdata(), along, atol=2e-3)


# --- centre of mass --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_hulls_are_those_of_scipy(seed):
    points = np.random.default_rng(seed).normal(size=(40, 2))
    hull, reference = convex_hull(points), points[ConvexHull(points).vertices]  # both counter-clockwise
    start = int(np.argmin(np.linalg.norm(reference - hull[0], axis=1)))
    np.testing.assert_array_equal(hull, np.roll(reference, -start, axis=0))


def test_hulls_of_few_points_and_of_points_on_a_line():
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], dtype=float)
    within = [(0.5, 0.5), (0.5, 0.0), (1.0, 0.5), (0, 0)]
    np.testing.assert_array_equal(convex_hull(np.vstack([within, square])), square)
    np.testing.assert_array_equal(convex_hull(np.array([(0, 0), (2, 2), (1, 1)], dtype=float)), [(0, 0), (2, 2)])
    np.testing.assert_array_equal(convex_hull(np.array([(1, 2), (1, 2)], dtype=float)), [(1, 2)])


def polygons(axes):
    """Corners of each phase's polygon, without the closing one."""
    return [patch.get_xy()[:-1] for patch in patches(axes, "_support")]


def test_com_is_drawn_from_above_with_the_support_polygons(trot):
    solution, schedule = trot
    above, beside = plot_com(solution).axes
    assert (above.get_aspect(), above.get_xlabel(), above.get_ylabel()) == (1.0, "x [m]", "y [m]")
    model, feet = solution.problem.state.model, {name: positions(solution, name) for name in FEET}
    com = np.array([pin.centerOfMass(model, model.createData(), x[: model.nq]).copy() for x in solution.xs])
    np.testing.assert_allclose(visible(above)["centre of mass"].get_xydata(), com[:, :2])
    drawn = polygons(above)
    assert [len(corners) for corners in drawn] == [4, 2, 4, 2, 4]
    np.testing.assert_allclose(
        sorted(drawn[1].tolist()), sorted([feet["FL_foot"][2, :2].tolist(), feet["RR_foot"][2, :2].tolist()])
    )
    expected = ConvexHull(np.array([path[13, :2] for path in feet.values()])).volume
    assert ConvexHull(drawn[2]).volume == pytest.approx(expected)
    asked = hidden(beside, "_reference")[0].get_ydata()
    np.testing.assert_allclose(asked, schedule.com_references[:, 2])
    np.testing.assert_allclose(
        visible(beside)["centre of mass"].get_xydata(), np.column_stack([solution.problem.times, com[:, 2]])
    )
    assert beside.get_ylabel() == "CoM height [m]"


def test_centre_of_pressure_has_gaps_between_phases_and_in_flight(trot, jump):
    for solution, _ in (trot, jump):
        motion = legged_motion(solution)
        path = visible(plot_com(solution).axes[0])["centre of pressure"].get_xydata()
        pieces = np.split(path, np.flatnonzero(np.isnan(path[:, 0])))
        pieces = [piece[np.isfinite(piece[:, 0])] for piece in pieces]
        pieces = [piece for piece in pieces if len(piece)]
        standing = [phase for phase in motion.phases if phase.feet]
        assert len(pieces) == len(standing)
        for piece, phase in zip(pieces, standing):
            np.testing.assert_allclose(piece, motion.pressures[phase.first : phase.last, :2])
    above, beside = plot_com(jump[0]).axes
    assert len(polygons(above)) == 2
    (air,) = patches(beside, "_air")
    assert (air.get_x(), air.get_x() + air.get_width()) == pytest.approx((0.04, 0.14))
    assert "no foot on the ground" in legend_texts(beside.figure)


def test_soles_are_rectangles(walk):
    solution, _ = walk
    above = plot_com(solution).axes[0]
    prints = [patch.get_xy()[:-1] for patch in patches(above, "_footprint")]
    assert len(prints) == 4
    right = positions(solution, "right_sole_link")[0, :2]
    np.testing.assert_allclose(
        prints[0] - right, [(0.08, 0.04), (-0.08, 0.04), (-0.08, -0.04), (0.08, -0.04)], atol=1e-6
    )
    single = polygons(above)[1]  # on the left sole
    assert ConvexHull(single).volume == pytest.approx(0.16 * 0.08, rel=1e-3)


def test_soles_of_unknown_size_are_points_unless_the_size_is_passed():
    solution = by_hand(BIPED, soles)
    assert not patches(plot_com(solution).axes[0], "_footprint")
    said = plot_com(solution, sole=(0.2, 0.1)).axes[0]
    corners = legged_motion(solution, np.array([0.2, 0.1])).feet[0].outline[0]
    np.testing.assert_allclose(np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1), [0.1, 0.2, 0.1, 0.2])
    drawn = patches(said, "_footprint")[0].get_xy()[:-1]
    np.testing.assert_allclose(drawn, legged_motion(solution).feet[0].positions[0, :2] + corners[:, :2])


# --- strip -----------------------------------------------------------------------------------------------------------


def arrows(axes):
    found = [c for c in axes.collections if isinstance(c, Quiver)]
    return (np.asarray(found[0].XY), np.column_stack([found[0].U, found[0].V])) if found else (np.zeros((0, 2)),) * 2


OBLIQUE = 0.3  # what a strip shifts points to the right by, in their distance to the left


def strip_knots(solution, schedule, frames):
    """Knots of the pictures: even in time, one moved to the largest force, others to mid-swings; and that knot."""
    lasting = np.flatnonzero(~schedule.touchdowns[:-1])
    knots = lasting[np.round(np.linspace(0, len(lasting) - 1, frames)).astype(int)]
    forces = solution.contact_forces()
    active = schedule.active[:-1].T
    total = sum(np.linalg.norm(forces[name], axis=1) * here for name, here in zip(FEET, active))
    peak = lasting[np.argmax(total[lasting])]
    heights = np.array([positions(solution, name)[:-1, 2] for name in FEET])
    rises = heights - heights.min(axis=1, keepdims=True)
    swings = ((rises > 0.8 * rises.max(axis=1, keepdims=True)) & (active == 0)).any(axis=0)
    times, inside = solution.times, list(range(1, len(knots) - 1))
    mean = times[knots[-1]] / (len(knots) - 1)
    near_end = np.abs(times[knots[[0, -1]]] - times[peak]).min() < mean / 3
    knots[min(range(len(knots)) if near_end else inside, key=lambda i: abs(knots[i] - peak))] = peak
    for i in [i for i in inside if knots[i] != peak]:
        close = min((k for k in lasting if swings[k]), key=lambda k: abs(times[k] - times[knots[i]]))
        others = times[np.delete(knots, i)]
        if abs(times[close] - times[knots[i]]) <= 0.35 * mean and np.abs(others - times[close]).min() >= mean / 3:
            knots[i] = close
    return np.unique(knots), peak


def test_pictures_around_a_short_flight_are_spread_in_time():
    """Lift-off, apex and landing are within half the time between two pictures: one of them is enough."""
    start = gaits.Stance.of(QUADRUPED, FEET)
    hop = tuple(gaits.Swing(foot, start.feet[foot].position, height=None) for foot in FEET)
    stand = gaits.Phase(name="stand", knots=40, stance=FEET)
    phases = (stand, gaits.Phase(name="fly", knots=5, swings=hop, com=start.com), stand)
    schedule = gaits.ContactSchedule(start=start, phases=phases, dt=0.01)
    solution = of_schedule(QUADRUPED, schedule, kind="standing")
    shown = [float(label.get_text().split("\n")[0]) for label in plot_strip(solution, 6).axes[0].get_xticklabels()]
    assert len(shown) == 6
    assert np.diff(shown).min() >= (shown[-1] - shown[0]) / 5 / 3
    assert any(0.4 <= time <= 0.5 for time in shown)
    assert "asked" not in plot_summary(solution).get_suptitle().partition("rises")[2].partition(",")[0]


def test_a_strip_shows_feet_in_mid_swing(trot):
    """A trot whose seven pictures would all miss a foot above 80 % of its swing: two of them move to one."""
    solution, schedule = trot
    lasting = np.flatnonzero(~schedule.touchdowns[:-1])
    even = lasting[np.round(np.linspace(0, len(lasting) - 1, 7)).astype(int)]
    heights = np.array([positions(solution, name)[:-1, 2] for name in FEET])
    rise = (heights - heights.min()).max(axis=0)
    shown = [float(label.get_text().split("\n")[0]) for label in plot_strip(solution, 7).axes[0].get_xticklabels()]
    knots = [lasting[np.argmin(np.abs(solution.times[lasting] - time))] for time in shown]
    assert np.sum(rise[even] > 0.8 * rise.max()) == 0
    assert np.sum(rise[knots] > 0.8 * rise.max()) == 2
    assert shown[0] == 0.0


def test_strip_shows_the_robot_and_its_forces_also_the_largest(trot):
    solution, schedule = trot
    axes = plot_strip(solution, 4).axes[0]
    knots, peak = strip_knots(solution, schedule, 4)
    words = [f"{solution.problem.times[k]:.2f}" + ("\nlargest force" if k == peak else "") for k in knots]
    assert [label.get_text() for label in axes.get_xticklabels()] == words
    assert axes.get_aspect() == 1.0
    width = np.diff(axes.get_xticks())[0]
    bones = np.concatenate([line.get_xydata() for line in hidden(axes, "_bones")])
    feet, base = {name: positions(solution, name) for name in FEET}, solution.xs[:, :3]
    shift = axes.get_xticks()[0] - 0.0
    tips, pushes = arrows(axes)  # the ground pushes from below: an arrow ends at the foot
    assert axes.findobj(Quiver)[0].pivot == "tip"
    forces, count = solution.contact_forces(), 0
    scale, ahead, left = None, *(legged_motion(solution).com - base)[0, :2]
    middle = hidden(axes, "_com")[0].get_xdata()[0] - (ahead + OBLIQUE * left + shift)
    assert abs(middle) < width / 4  # all pictures are shifted alike
    for number, knot in enumerate(knots):
        for i, name in enumerate(FEET):
            ahead, left, height = feet[name][knot] - base[knot] * [1, 1, 0]
            seen = np.array([ahead + OBLIQUE * left + number * width + shift + middle, height])
            assert np.nanmin(np.linalg.norm(bones - seen, axis=1)) < 1e-9
            if schedule.active[knot, i]:
                force = forces[name][knot, [0, 2]]
                np.testing.assert_allclose(tips[count], seen, atol=1e-9)
                scale = scale or np.linalg.norm(pushes[count]) / np.linalg.norm(force)
                np.testing.assert_allclose(pushes[count], scale * force, atol=1e-9)
                count += 1
    assert count == len(tips) == len(hidden(axes, "_contact"))


def test_strip_says_how_long_an_arrow_is(trot):
    solution, _ = trot
    axes = plot_strip(solution, 3).axes[0]
    (key,) = [artist for artist in axes.artists if hasattr(artist, "U")]
    _, pushes = arrows(axes)
    force = legged_motion(solution).feet[0].forces[0]
    number = float(key.label.split()[2])
    assert key.label == f"contact force: {number:g} N"
    largest = max(np.linalg.norm(foot.forces[foot.stands], axis=1).max() for foot in legged_motion(solution).feet)
    assert largest / 2.5 < number <= largest
    np.testing.assert_allclose(key.U / number, np.linalg.norm(pushes[0]) / np.linalg.norm(force[[0, 2]]))


def test_strip_of_a_flight_has_no_contact_and_no_arrow(jump):
    solution, schedule = jump
    axes = plot_strip(solution, 100).axes[0]
    lasting = ~schedule.touchdowns[:-1]
    assert len(hidden(axes, "_com")) == lasting.sum()  # one picture for each knot that takes time
    assert len(hidden(axes, "_contact")) == schedule.active[:-1][lasting].sum()


def test_strip_is_seen_from_the_right_whatever_the_robot_looks_at(trot):
    solution, _ = trot
    turn = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 2.0), np.array([3.0, 1.0, 0.0]))
    xs = solution.xs.copy()
    for x in xs:
        x[:7] = pin.SE3ToXYZQUAT(turn * pin.XYZQUATToSE3(x[:7]))
    here, there = (plot_strip(s, 3).axes[0] for s in (solution, dataclasses.replace(solution, xs=xs)))
    for a, b in zip(hidden(here, "_bones"), hidden(there, "_bones")):
        np.testing.assert_allclose(a.get_xydata(), b.get_xydata(), atol=1e-9)


def test_strip_shows_the_distance_of_a_foot_in_contact_from_the_ground(trot):
    solution, _ = trot
    xs = solution.xs.copy()
    xs[13:, 2] += 0.004  # all that land from then on
    lifted = dataclasses.replace(solution, xs=xs)
    for shown, words in ((solution, set()), (lifted, {"+4 mm"})):
        axes = plot_strip(shown, 6).axes[0]
        assert {text for text in texts(axes) if text.endswith("mm")} == words
        entries = [text.get_text() for legend in axes.figure.legends for text in legend.get_texts()]
        assert any("below (-) the ground" in each for each in entries) == bool(words)
        (line,) = hidden(axes, "_ground")
        np.testing.assert_allclose(line.get_ydata(), legged_motion(solution).feet[0].positions[0, 2], atol=1e-6)
        for height in plot_feet(shown).axes[:4]:
            ground = [line.get_ydata()[0] for line in hidden(height, "_ground")]
            np.testing.assert_allclose(ground, legged_motion(solution).feet[0].positions[0, 2], atol=1e-6)


def test_strip_has_left_and_right_in_two_colours(uphill, monkeypatch):
    monkeypatch.setattr("trajopt.plotting.strip._APART", 1e-4)  # as many pictures as there are knots
    solution, schedule = uphill
    axes = plot_strip(solution, 100).axes[0]
    assert legend_texts(axes.figure)[:2] == ["right", "left"]
    colors = {line.get_label(): line.get_color() for line in axes.figure.legends[0].get_lines()}
    times = [label.get_text().split("\n")[0] for label in axes.get_xticklabels()]
    bones = np.reshape(hidden(axes, "_bones"), (len(times), -1))  # those of each picture
    seen = set()
    for knot in np.flatnonzero(schedule.active[:-1].sum(axis=1) == 3):  # one foot is in the air
        name = FEET[int(np.argmin(schedule.active[knot]))]
        heights = {each: positions(solution, each)[knot, 2] for each in FEET}
        raised = heights.pop(name)
        if np.isclose(raised, list(heights.values()), atol=1e-6).any():
            continue  # it is about to leave the ground
        if f"{solution.problem.times[knot]:.2f}" in times:
            picture = bones[times.index(f"{solution.problem.times[knot]:.2f}")]
            with_foot = [line for line in picture if np.isclose(line.get_ydata(), raised, atol=1e-9).any()]
            side = {"R": "right", "L": "left"}[name[1]]
            assert [line.get_color() for line in with_foot] == [colors[side]]
            seen.add(side)
    assert seen == {"right", "left"}


def test_the_ground_of_a_strip_is_drawn_once_and_the_robot_where_it_is(uphill):
    """Each picture used to have its own piece of the steps, so that the ground went up and down again."""
    solution, _ = uphill
    axes = plot_strip(solution, 3).axes[0]
    (ground,) = hidden(axes, "_ground")
    across, up = ground.get_data()
    assert np.all(np.diff(across) >= 0)
    assert np.all(np.diff(up) >= -1e-5)
    assert (across[0], across[-1]) == pytest.approx(axes.get_xlim())
    ticks = axes.get_xticks()
    knots = [int(np.argmin(np.abs(solution.problem.times - float(label.get_text().split()[0]))))
             for label in axes.get_xticklabels()]  # fmt: skip
    way = solution.xs[knots, 0] - solution.xs[knots[0], 0]
    np.testing.assert_allclose(ticks - ticks[0], way, atol=1e-4)  # and a little of the sway
    np.testing.assert_allclose(np.diff(ticks), np.mean(np.diff(ticks)), rtol=0.2)  # none is moved to another
    (places,) = axes.child_axes
    axes.figure.savefig(io.BytesIO())  # gives this axis its limits
    shift = places.get_xlim()[0] - axes.get_xlim()[0]
    feet = [foot for foot in legged_motion(solution).feet if foot.stands[knots[0]]]
    seen = [foot.positions[knots[0]] - [0.0, *solution.xs[knots[0], 1:3]] for foot in feet]
    drawn = [line.get_xdata()[0] + shift for line in hidden(axes, "_contact")[: len(feet)]]
    np.testing.assert_allclose(drawn, [x + OBLIQUE * y for x, y, _ in seen], atol=1e-6)
    assert axes.get_xlabel() == "time [s] of each picture, x [m] in the ground"
    for line in hidden(axes, "_contact"):
        x, z = line.get_xydata()[0]
        assert z in np.interp(x + np.array([-1e-6, 1e-6]), across, up) or np.interp(x, across, up) <= z + 1e-9


# --- all of them -----------------------------------------------------------------------------------------------------


def test_summary_of_a_motion_on_feet_has_its_pictures(trot, tmp_path):
    solution, _ = trot
    figure = solution.plot(tmp_path / "trot.png")
    labels = [axes.get_ylabel() for axes in figure.axes]
    for label in ("z [m]", "FL_foot\nforce [N]", "RR_foot\nforce [N]", "torque [N m]"):
        assert label in labels
    assert len(labels) == 1 + 4 + 4
    assert (tmp_path / "trot.png").read_bytes()[:4] == b"\x89PNG"
    space = plot_summary(solution, frame="FL_foot", targets=[0.3, 0.0, 0.0])
    assert sum(axes.name == "3d" for axes in space.axes) == 1


def test_summary_of_an_arm_in_contact_is_that_of_an_arm():
    robot = trajopt.load_robot("planar-2r")
    state = StateMultibody(robot)
    costs = CostStack(state).add("torque", ResidualModelControl(state), 1.0)
    stack = ContactStack(state).add("tip", ContactModel1D(state, "tool"))
    actuation = trajopt.ActuationModelFull(state)
    model = DifferentialActionModelContactFwdDynamics(state, actuation, stack, costs)
    end = CostStack(state).add("state", ResidualModelState(state), 1.0)
    problem = ShootingProblem(np.full(state.nx, 0.3), [IntegratedActionModelEuler(model, 0.01)] * 3, end)
    solution = solution_of(problem, np.tile(problem.x0, (4, 1)), np.ones((3, 2)))
    assert not is_legged(solution)
    figure = plot_summary(solution)
    assert figure.get_size_inches().tolist() == [14.0, 9.0]
    assert not any("force" in axes.get_ylabel() for axes in figure.axes)
    assert plot_contact_forces(solution).axes[0].get_ylabel() == "tip\nforce [N]"


@pytest.mark.parametrize("draw", DRAWINGS)
def test_pictures_can_be_drawn_of_every_kind_of_motion(draw, trot, walk, jump, uphill):
    import matplotlib
    from matplotlib import pyplot

    before = dict(matplotlib.rcParams)
    motions = (trot[0], walk[0], jump[0], uphill[0], by_hand(BIPED, soles))
    for solution in motions if draw is not plot_summary else motions[1:3]:
        xs, us = solution.xs.copy(), solution.us.copy()
        figure = draw(solution)
        assert isinstance(figure, Figure)
        figure.canvas.draw()
        np.testing.assert_array_equal(solution.xs, xs)
        np.testing.assert_array_equal(solution.us, us)
    assert dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("draw", DRAWINGS[:-1])
def test_pictures_can_be_drawn_into_a_figure_of_the_caller(draw, trot):
    mine = Figure(layout="constrained")
    left, right = mine.subfigures(1, 2)
    assert draw(trot[0], figure=left) is mine
    assert left.axes
    assert not right.axes


@pytest.mark.parametrize("draw", DRAWINGS[:-1])
def test_motions_without_time_count_knots(draw, trot, monkeypatch):
    monkeypatch.setattr(ShootingProblem, "times", None)
    labels = [axes.get_xlabel() for axes in draw(dataclasses.replace(trot[0])).axes]
    assert any(label.startswith("knot [-]") for label in labels)


@pytest.mark.parametrize("draw", DRAWINGS[:-1])
def test_nothing_ever_on_the_ground_is_drawn_as_such(draw):
    solution = by_hand(BIPED, soles)
    for name in ("left", "right"):
        solution.problem.set_parameter(f"contacts.{name}.active", 0.0, "running")
    figure = draw(dataclasses.replace(solution, parameters=solution.problem.parameter_values()))
    figure.canvas.draw()
    assert figure.axes


@pytest.mark.parametrize("draw", DRAWINGS[:-1])
def test_pictures_of_motions_on_feet_refuse_others(draw, trot):
    solution, _ = trot
    with pytest.raises(InvalidArgumentError, match="solution: expected one with its problem, got none"):
        draw(dataclasses.replace(solution, problem=None))
    bare = by_hand(QUADRUPED, lambda state: {})
    with pytest.raises(InvalidArgumentError, match="solution: expected a problem with contacts, got one without"):
        draw(bare)


def test_schedules_have_to_fit(trot, walk):
    for draw in (plot_contact_forces, plot_feet, plot_com, plot_phases):
        with pytest.raises(InvalidArgumentError, match=r"schedule: expected T = 29 as in the solution, got T = \d+"):
            draw(trot[0], walk[1])
        with pytest.raises(InvalidArgumentError, match="schedule: expected a ContactSchedule, got 'trot'"):
            draw(trot[0], "trot")


def test_arguments_of_strip_and_com_are_checked(trot):
    for frames in (0, 2.5, True):
        with pytest.raises(InvalidArgumentError, match=f"frames: expected an integer >= 1, got {frames!r}"):
            plot_strip(trot[0], frames)
    with pytest.raises(InvalidArgumentError, match="sole: expected length and width > 0"):
        plot_com(trot[0], sole=(0.1, 0.0))
    with pytest.raises(InvalidArgumentError, match=r"sole: expected shape \(2,\)"):
        plot_com(trot[0], sole=0.1)


@pytest.mark.slow
def test_a_motion_of_many_phases_has_more_pictures() -> None:
    """By the height of the strip alone a trot of eight cycles has fewer, some of them standing."""
    from tests.support.unsolved import solution_of
    from trajopt.plotting import legged_summary, plot_summary

    robot = trajopt.load_robot("go2")
    stance = gaits.Stance.of(robot, ["FL_foot", "FR_foot", "RL_foot", "RR_foot"])
    schedule = gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05, cycles=8)
    problem = gaits.gait_problem(robot, schedule)
    long = solution_of(problem, *gaits.gait_guess(problem, schedule), SolverStatus.MAX_ITERATIONS)
    assert legged_summary._fitting(long, 14.0) < 9 <= len(legged_motion(long).phases) // 2
    figure = plot_summary(long)
    drawn = [line for axes in figure.axes for line in axes.get_lines() if line.get_label() == "_com"]
    assert len(drawn) == 9


def test_a_step_below_left_and_right_feet_has_one_outline(trot):
    """Outlines of both sections, one beside the other, looked like several steps."""
    from trajopt.plotting.ground import draw_ground

    axes = Figure().subplots()
    section = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 0.1], [1.0, 0.1]])
    draw_ground(axes, legged_motion(trot[0] if isinstance(trot, tuple) else trot), np.empty((0, 2)), [section, section])
    assert len(hidden(axes, "_ground")) == 1
