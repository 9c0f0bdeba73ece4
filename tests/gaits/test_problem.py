"""Problems of gaits: their parameters against Crocoddyl's builders, options, and what is refused."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.gait_robots import (
    CROCODDYL,
    FEET,
    SOLES,
    crocoddyl_models_of,
    crocoddyl_of,
    models_of,
    robot_of,
    schedule_of,
    stance_of,
)
from trajopt import DuplicateNameError, InvalidArgumentError, UnknownNameError, gaits
from trajopt.shooting.evaluator import Evaluator

EXACT = 1e-15


class Values:
    """The parameters of a problem, by knot."""

    def __init__(self, problem: trajopt.ShootingProblem) -> None:
        self._table, self._infos = problem.parameter_values(), problem.parameters

    def at(self, name: str, t: int) -> Any:
        """A value; None where the knot has no such parameter."""
        knots = self._infos[name].knots if name in self._infos else ()
        return self._table[name][knots.index(t)] if t in knots else None


@pytest.mark.parametrize(("robot", "gait"), CROCODDYL)
def test_every_knot_asks_for_what_crocoddyl_asks_for(robot: str, gait: str) -> None:
    schedule, reference = schedule_of(robot, gait), crocoddyl_of(robot)
    problem = crocoddyl_models_of(robot).problem(schedule, reference["x0"])
    values, T = Values(problem), schedule.T
    for t, (kind, active, com, places) in enumerate(reference["gaits"][gait]["nodes"]):
        terms = reference["terms"][kind]
        weight = terms["comTrack"]["weight"] if com else 0.0
        assert values.at("com.weight", t) == (None if kind == "impulse" and t < T else weight)
        if com:
            np.testing.assert_allclose(values.at("com.reference", t), com, rtol=0, atol=EXACT)
        for i, foot in enumerate(FEET[robot]):
            for stack in ("contact", "impulse") if t < T else ():
                expected = float(i in active) if stack == kind else None
                assert values.at(f"{stack}s.{foot}.active", t) == expected
            if kind == "contact" and t < T:
                cone = terms["wrenchCone" if robot in SOLES else "frictionCone"]["weight"]
                assert values.at(f"{foot}_cone.weight", t) == cone * (i in active)
            assert values.at(f"{foot}_track.weight", t) == terms["footTrack"]["weight"] * (str(i) in places)
            if str(i) in places:
                given = values.at(f"{foot}_track.reference", t)
                expected = np.column_stack([np.eye(3), places[str(i)]]) if robot in SOLES else places[str(i)]
                np.testing.assert_allclose(given, expected, rtol=0, atol=EXACT)
        assert values.at("state.weight", t) == terms["stateReg"]["weight"]
        np.testing.assert_allclose(values.at("state.weights", t), terms["stateReg"]["weights"], rtol=1e-15)
        np.testing.assert_allclose(values.at("state.reference", t), terms["stateReg"]["reference"], rtol=0, atol=EXACT)
        bounds = values.at("bounds.weight", t)
        assert (bounds or 0.0) == (terms["stateBounds"]["weight"] if "stateBounds" in terms else 0.0)
        if kind == "contact" and t < T:
            assert values.at("control.weight", t) == terms["ctrlReg"]["weight"]
            assert values.at("dt", t) == schedule.dt


@pytest.mark.parametrize("robot", ["anymal", "hyq", "talos_legs"])
def test_constant_settings_of_models_match_crocoddyl(robot: str) -> None:
    models, contact, impulse = crocoddyl_models_of(robot), *crocoddyl_of(robot)["terms"].values()
    running, costs = models.running.differential, models.running.differential.costs
    cone = contact["wrenchCone" if robot in SOLES else "frictionCone"]
    for foot in FEET[robot]:
        assert type(running.contacts[foot]).__name__ == contact["model"]["type"]
        assert type(models.touchdown.impulses[foot]).__name__ == impulse["model"]["type"]
        parameters = running.contacts[foot].parameters()
        assert "kp" not in parameters
        assert [0.0, float(parameters["kd"].default)] == contact["model"]["gains"]
        term = costs[f"{foot}_cone"]
        given = term.residual.cone
        assert [given.mu, given.facets, given.inner] == [cone["mu"], cone["facets"], cone["inner"]]
        if robot in SOLES:
            assert list(given.box) == cone["box"]
        for name in ("lower", "upper"):
            bounds = [None if np.isinf(b) else b for b in term.activation.parameters()[name].default]
            assert bounds == cone[name]
    assert float(running.parameters()["damping"].default) == contact["damping"]
    assert float(models.touchdown.parameters()["damping"].default) == impulse["damping"]
    assert [t.name for t in costs.terms if t.name == "bounds"] == (["bounds"] if "stateBounds" in contact else [])
    if "stateBounds" in contact:
        barrier = costs["bounds"].activation.parameters()
        for name in ("lower", "upper"):
            expected = np.array(contact["stateBounds"][name], dtype=float)
            given = np.where(np.isinf(barrier[name].default), np.nan, barrier[name].default)
            np.testing.assert_allclose(given, expected, rtol=1e-15)
        reference = costs["bounds"].residual.parameters()["reference"].default
        np.testing.assert_array_equal(reference, contact["stateBounds"]["reference"])


def test_landings_without_an_impulse_have_costs_on_position_and_velocity() -> None:
    schedule = gaits.quadruped_trot(stance_of("anymal"), impulse=False, final_knots=2)
    landings = np.argwhere(schedule.references.landing)
    first, second = 2 + 25, 2 + 25 + 2 + 25
    assert landings.tolist() == [[first, 1], [first, 2], [second, 0], [second, 3]]
    options = gaits.GaitOptions.crocoddyl(landing_velocity=1e6)
    values = Values(gaits.gait_problem(robot_of("anymal"), schedule, options=options))
    for t, i in landings:
        foot, dt = FEET["anymal"][i], schedule.dt
        assert values.at(f"{foot}_track.weight", t) == pytest.approx(1e7 / dt)
        assert values.at(f"{foot}_velocity.weight", t) == pytest.approx(1e6 / dt)
        np.testing.assert_allclose(values.at(f"{foot}_track.reference", t), schedule.end.feet[foot].position)
    for foot in FEET["anymal"]:
        assert values.at(f"{foot}_velocity.weight", first + 1) == values.at(f"{foot}_track.weight", first + 1) == 0.0


def test_a_schedule_is_exchanged_without_compiling() -> None:
    models, stance = models_of("anymal"), stance_of("anymal")
    problem = models.problem(gaits.quadruped_walk(stance))
    other = gaits.quadruped_walk(stance, step_length=0.1, dt=0.02)
    evaluator = Evaluator(problem)
    models.set_schedule(problem, other)
    fresh = models.problem(other)
    for name, values in fresh.parameter_values().items():
        np.testing.assert_array_equal(problem.parameter_values()[name], values)
    assert evaluator.fits(problem)
    np.testing.assert_allclose(problem.times, other.times)
    with pytest.raises(InvalidArgumentError, match=r"expected touch-downs at the same knots as in the problem \(T = "):
        models.set_schedule(problem, gaits.quadruped_trot(stance))
    with pytest.raises(
        InvalidArgumentError, match=r"got one with impulse=False; build .* GaitModels\(..., soft=True\)"
    ):
        models.set_schedule(problem, gaits.quadruped_walk(stance, impulse=False, final_knots=5))
    assert problem.schedule is other
    with pytest.raises(InvalidArgumentError, match="expected a ContactSchedule"):
        models.set_schedule(problem, stance)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="expected the feet LF_FOOT, .* got lf_foot"):
        models.set_schedule(problem, gaits.quadruped_walk(stance_of("hyq")))


def test_all_gaits_of_a_robot_are_three_models() -> None:
    models, stance = models_of("anymal"), stance_of("anymal")
    makers = (gaits.quadruped_walk, gaits.quadruped_trot, gaits.quadruped_jump, gaits.quadruped_com_shift)
    problems = [models.problem(make(stance)) for make in makers]
    assert {id(model) for p in problems for model in (*p.running, p.terminal)} == {
        id(models.running),
        id(models.touchdown),
        id(models.terminal),
    }


def test_initial_states_and_postures() -> None:
    robot, schedule = robot_of("anymal"), schedule_of("anymal", "com_shift")
    q0, standing = robot.configuration("standing"), robot.configuration("standing")
    q0[2] += 0.1
    x0 = np.concatenate([q0, np.full(robot.nv, 0.1)])
    models = models_of("anymal")
    np.testing.assert_array_equal(models.problem(schedule).x0[: robot.nq], standing)
    np.testing.assert_array_equal(models.problem(schedule, x0).x0, x0)
    np.testing.assert_array_equal(models.problem(schedule, q0).x0, [*q0, *np.zeros(robot.nv)])
    pulled = models.problem(schedule, x0).get_parameter("state.reference")
    np.testing.assert_array_equal(pulled, [*standing, *np.zeros(robot.nv)])
    pulled = models.problem(schedule, x0, posture=x0).get_parameter("state.reference")
    np.testing.assert_array_equal(pulled, [*q0, *np.zeros(robot.nv)])


def test_a_robot_without_a_posture_is_pulled_to_where_it_starts() -> None:
    robot = trajopt.Robot(pin.buildSampleModelHumanoidRandom())
    feet = ["rleg6_body", "lleg6_body"]
    q0 = pin.randomConfiguration(robot.model, -np.ones(robot.nq), np.ones(robot.nq))
    stance = gaits.Stance.of(robot, feet, q0)
    with pytest.raises(InvalidArgumentError, match="no configuration standing or half_sitting"):
        gaits.gait_problem(robot, gaits.biped_walk(stance))
    problem = gaits.gait_problem(robot, gaits.biped_walk(stance), q0)
    np.testing.assert_allclose(problem.get_parameter("state.reference"), [*q0, *np.zeros(robot.nv)])


def test_wrong_arguments_are_refused_before_anything_is_compiled() -> None:
    schedule = gaits.quadruped_walk(stance_of("anymal"))
    with pytest.raises(InvalidArgumentError, match="floating base, got 'talos_arm', which is fixed"):
        gaits.gait_problem(trajopt.load_robot("talos_arm"), schedule)
    with pytest.raises(UnknownNameError, match="hyq: foot 'LF_FOOT' not found.*look like feet: lf_foot"):
        gaits.gait_problem(robot_of("hyq"), schedule)
    with pytest.raises(InvalidArgumentError, match="options: expected GaitOptions"):
        gaits.gait_problem(robot_of("anymal"), schedule, options={"mu": 0.5})  # type: ignore[arg-type]
    with pytest.raises(
        InvalidArgumentError, match=r"x0: expected a state \(37,\) or configuration \(19,\), got \(3,\)"
    ):
        gaits.gait_problem(robot_of("anymal"), schedule, [0, 0, 0])
    with pytest.raises(InvalidArgumentError, match=r"posture: expected a state \(37,\) or configuration"):
        gaits.gait_problem(robot_of("anymal"), schedule, posture=[0, 0, 0])
    for values, message in (
        ({"com": -1.0}, "com: expected a number >= 0"),
        ({"mu": 0.0}, "mu: expected a number > 0"),
        ({"facets": 5}, "facets: expected an even number >= 4, got 5"),
        ({"sole": (0.1, 0.0)}, "sole: expected two numbers > 0"),
        ({"min_force": -1.0}, "min_force: expected a number >= 0"),
        ({"gains": (0.0, -1.0)}, "gains: expected two numbers >= 0"),
        ({"restitution": 1.5}, "restitution: expected a number from 0 to 1"),
        ({"state_weights": 3.0}, "state_weights: expected StateWeights"),
        ({"rows": "stages"}, "rows: expected 'knot' for Euler steps.*add integrator='rk4'"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            gaits.GaitOptions(**values)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="integrator 'rk2' not found.*euler, rk4"):
        gaits.GaitOptions(integrator="rk2")
    with pytest.raises(InvalidArgumentError, match="joints: expected a number >= 0"):
        dataclasses.replace(gaits.GaitOptions().state_weights, joints=-1.0)


def test_own_cost_terms_are_in_every_knot_that_takes_time() -> None:
    schedule, state = gaits.quadruped_walk(stance_of("anymal")), trajopt.StateMultibody(robot_of("anymal"))
    height = trajopt.ResidualModelFrameTranslation(state, "base", [0.0, 0.0, 0.5])
    own = trajopt.CostStack(state).add("height", height, 3.0).add("effort", trajopt.ResidualModelControl(state), 0.5)
    problem = gaits.gait_problem(robot_of("anymal"), schedule, costs=own)
    usual = gaits.gait_problem(robot_of("anymal"), schedule)
    timed = np.flatnonzero(~schedule.touchdowns[:-1]).tolist()
    for name, weight in (("height", 3.0), ("effort", 0.5)):
        assert list(problem.parameters[f"{name}.weight"].knots) == timed
        assert problem.get_parameter(f"{name}.weight", 0) == weight
    assert set(problem.parameters) - set(usual.parameters) == {"height.weight", "height.reference", "effort.weight",
                                                               "effort.reference"}  # fmt: skip
    again = gaits.gait_problem(robot_of("anymal"), schedule, costs=own.add("later", height, 1.0))
    assert "later.weight" in again.parameters


def test_own_cost_terms_have_to_fit() -> None:
    schedule, robot = gaits.quadruped_walk(stance_of("anymal")), robot_of("anymal")
    other, state = trajopt.StateMultibody(robot_of("hyq")), trajopt.StateMultibody(robot)
    for costs in (trajopt.CostStack(other), {"height": 1.0}):
        with pytest.raises(InvalidArgumentError, match=r"costs: expected a CostStack on StateMultibody\(anymal\), got"):
            gaits.gait_problem(robot, schedule, costs=costs)  # type: ignore[arg-type]
    taken = trajopt.CostStack(state).add("com", trajopt.ResidualModelState(state), 1.0)
    with pytest.raises(DuplicateNameError, match="term 'com' is in the stack already"):
        gaits.gait_problem(robot, schedule, costs=taken)


def test_names_of_feet_become_identifiers() -> None:
    from trajopt.gaits.parameters import identifiers

    assert identifiers(("left-foot", "1st", "ok")) == {"left-foot": "left_foot", "1st": "foot_1st", "ok": "ok"}
    with pytest.raises(DuplicateNameError, match="differ only in special characters"):
        identifiers(("a-b", "a.b"))


def test_options_change_the_models() -> None:
    schedule = gaits.quadruped_trot(stance_of("anymal"))
    options = gaits.GaitOptions(mu=0.4, restitution=0.2, damping=1e-3, bounds=0.0, integrator="rk4", gains=(10.0, 20.0))
    problem = gaits.gait_problem(robot_of("anymal"), schedule, options=options)
    assert "bounds.weight" not in problem.parameters
    assert problem.get_parameter("LF_FOOT_cone.mu") == 0.4
    assert problem.get_parameter("restitution") == 0.2
    assert problem.get_parameter("damping", 0) == 1e-3
    assert problem.get_parameter("contacts.LF_FOOT.kp") == 10.0
    assert type(problem.running[0]).__name__ == "IntegratedActionModelRK4"


@pytest.mark.parametrize(("robot", "gait"), [("anymal", "quadruped_trot"), ("talos_legs", "biped_walk")])
def test_stiff_contacts_pull_feet_to_where_they_stand(robot: str, gait: str) -> None:
    """Each foot to its first foothold, and after its step to the next one; nothing is pulled to the world's origin."""
    schedule = getattr(gaits, gait)(stance_of(robot), cycles=2, heading=0.3)
    values = Values(gaits.gait_problem(robot_of(robot), schedule))
    for i, foot in enumerate(schedule.feet):
        place, checked = schedule.start.feet[foot], 0
        for t in range(schedule.T):
            if schedule.touchdowns[t]:
                swings = schedule.phases[schedule.phase_of_knot[t]].swings
                place = next((swing.to for swing in swings if swing.foot == foot), place)
            elif schedule.active[t, i]:
                expected = place.placement if robot in SOLES else place.position
                np.testing.assert_allclose(values.at(f"contacts.{foot}.reference", t), expected, atol=1e-12)
                gains = [values.at(f"contacts.{foot}.{gain}", t) for gain in ("kp", "kd")]
                np.testing.assert_allclose(gains, gaits.holding_gains(schedule.dt), rtol=1e-12)
                checked += 1
        assert checked > schedule.T / 3


def test_wrench_cones_turn_with_the_soles() -> None:
    """The box of a sole that lands turned is turned as well."""
    stance = stance_of("talos_legs")
    turned = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 0.4), np.array([0.2, -0.1, 0.0]))
    right, _ = stance.names
    walk = gaits.biped_footsteps(stance, [(right, turned)], final_knots=3)
    values = Values(models_of("talos_legs").problem(walk))
    for foot in stance.names:
        for t in np.flatnonzero(walk.active[:-1, walk.feet.index(foot)] & ~walk.touchdowns[:-1]):
            landed = foot == right and t > np.flatnonzero(walk.touchdowns)[0]
            expected = turned.rotation if landed else stance.feet[foot].rotation
            np.testing.assert_allclose(values.at(f"{foot}_cone.rotation", t), expected, atol=1e-12)


def test_holding_gains_reduce_the_error_as_documented() -> None:
    """A point at 1 mm with 0.1 m/s, stepped as contacts are: v⁺ = v - (kd v + kp e) dt, e⁺ = e + v⁺ dt."""
    dt, e, v = 0.02, 1e-3, 0.1
    kp, kd = gaits.holding_gains(dt)
    v -= (kd * v + kp * e) * dt
    assert e + v * dt == pytest.approx(0.75e-3, rel=1e-12)
    with pytest.raises(InvalidArgumentError, match=r"dt: expected a number > 0 \[s\], got 0"):
        gaits.holding_gains(0.0)
    assert gaits.holding_gains(dt, 0.1)[0] == pytest.approx(0.1 / dt**2)
    with pytest.raises(InvalidArgumentError, match="share: expected a number from 0 to 1, got 2"):
        gaits.holding_gains(dt, 2)


def test_weights_count_in_units_of_the_robot() -> None:
    """Twice as long and eight times as heavy: the same costs for the same motion, scaled."""
    small, large = gaits.GaitOptions().absolute(10.0, 0.5), gaits.GaitOptions().absolute(80.0, 1.0)
    speed = np.sqrt(2.0)
    for name, scale in (("com", 2), ("flight", 2), ("foot", 2), ("touchdown_foot", 2), ("control", 16), ("cone", 8)):
        assert getattr(small, name) == pytest.approx(getattr(large, name) * scale**2, rel=1e-12), name
    assert small.min_force * 8 == pytest.approx(large.min_force, rel=1e-12)
    assert small.landing_velocity == pytest.approx(large.landing_velocity * speed**2, rel=1e-12)
    for name in ("base_velocity", "joint_velocities"):  # rates are slower in the large one
        assert getattr(large.state_weights, name) == pytest.approx(
            getattr(small.state_weights, name) * speed, rel=1e-12
        )
    assert small.absolute(1.0, 1.0) == small
    other = gaits.GaitOptions.crocoddyl(soles=True, mu=0.5)
    assert other.mu == 0.5
    assert other.absolute(10.0, 0.5) == other
    assert pickle.loads(pickle.dumps(other)) == other


def test_friction_cones_begin_above_zero() -> None:
    """Of a foot's force on its axis, more than `min_force` is inside the cone; an options' 0 is Crocoddyl's."""
    robot = robot_of("anymal")
    models = gaits.GaitModels(robot, stance_of("anymal"))
    weight = 9.81 * pin.computeTotalMass(robot.model)
    for given, lowest in ((models, gaits.GaitOptions().min_force * weight), (crocoddyl_models_of("anymal"), 0.0)):
        term = given.running.differential.costs["LF_FOOT_cone"]
        upper, lower = (term.activation.parameters()[name].default for name in ("upper", "lower"))
        inside = [np.all(term.residual.cone.matrix @ [0.0, 0.0, f] <= upper + 1e-9) for f in (lowest - 1, lowest + 1)]
        assert inside == [False, True]
        assert lower[-1] == pytest.approx(lowest)


def test_a_problem_keeps_its_schedule() -> None:
    schedule = gaits.quadruped_trot(stance_of("anymal"))
    problem = models_of("anymal").problem(schedule)
    assert problem.schedule is schedule
    assert pickle.loads(pickle.dumps(problem)).schedule == schedule
