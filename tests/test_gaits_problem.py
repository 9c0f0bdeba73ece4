"""Problems of gaits: their parameters against Crocoddyl's builders, their solutions against Crocoddyl's solver."""

from __future__ import annotations

import dataclasses
import functools
import pickle
import re
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.gait_robots import CROCODDYL, FEET, SOLES, crocoddyl_of, robot_of, schedule_of, stance_of
from trajopt import DuplicateNameError, InvalidArgumentError, UnknownNameError, gaits
from trajopt.solvers import FDDPOptions, SolverFDDP

EXACT = 1e-15


@functools.cache
def models_of(name: str) -> gaits.GaitModels:
    """The models of a robot, built once."""
    return gaits.GaitModels(robot_of(name), stance_of(name))


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
    problem = models_of(robot).problem(schedule, reference["x0"])
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
def test_what_is_the_same_at_all_knots_is_crocoddyl_s(robot: str) -> None:
    models, contact, impulse = models_of(robot), *crocoddyl_of(robot)["terms"].values()
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


def solved(
    name: str, schedule: gaits.ContactSchedule, x: Any = None, *, tolerance: float = 1e-9, first: float = 1e-9
) -> trajopt.Solution:
    """The solution from the standing guess, as Crocoddyl's FDDP finds it."""
    problem = models_of(name).problem(schedule, x)
    options = dataclasses.replace(FDDPOptions.crocoddyl(initial_regularization=first), tolerance=tolerance)
    return SolverFDDP(problem, options).solve(*gaits.gait_guess(problem, schedule))


def test_anymal_walks_trots_paces_bounds_and_jumps_as_with_crocoddyl() -> None:
    """Each gait from the state in which the last one ends, as in the example quadrupedal_gaits_fwddyn."""
    robot, feet, x = robot_of("anymal"), FEET["anymal"], None
    expected: list[tuple[str, dict[str, Any], int, float]] = [
        ("walk", {}, 12, 588.6368067889),
        ("trot", {"first_step": "full"}, 9, 427.3296136241),
        ("pace", {"first_step": "full"}, 13, 801.8345491404),
        ("bound", {}, 15, 2068.3911995837),
        ("jump", {"ground": 0.0}, 17, 3058.7404777357),
    ]
    for gait, options, iterations, cost in expected:
        schedule = getattr(gaits, f"quadruped_{gait}")(gaits.Stance.of(robot, feet, x), **options)
        solution = solved("anymal", schedule, x)
        assert solution.converged
        assert (solution.iterations, solution.cost) == (iterations, pytest.approx(cost, rel=1e-9)), gait
        x = solution.xs[-1]


def test_talos_walks_and_jumps_as_with_crocoddyl() -> None:
    """As in the example bipedal_gaits_fwddyn: soles turn back to the world's axes with each gait."""
    robot, feet, x = robot_of("talos_legs"), FEET["talos_legs"], None
    expected: list[tuple[str, dict[str, Any], int, float]] = [
        ("walk", {}, 15, 5111.9644791342),
        ("jump", {"ground": 0.0}, 36, 22599.2405479250),
        ("walk", {"first_step": "full", "support_knots": 2}, 17, 13200.0717700455),
    ]
    for gait, options, iterations, cost in expected:
        stance = gaits.Stance.of(robot, feet, x, soles=True, heading=0.0)
        solution = solved("talos_legs", getattr(gaits, f"biped_{gait}")(stance, **options), x, tolerance=1e-7)
        assert solution.converged
        assert (solution.iterations, solution.cost) == (iterations, pytest.approx(cost, rel=1e-9)), gait
        x = solution.xs[-1]


GOLDENS: dict[str, tuple[str, gaits.ContactSchedule, float, int, float]] = {
    "hyq walk": ("hyq", gaits.quadruped_walk(stance_of("hyq"), step_height=0.25), 0.1, 13, 1596.818335603),
    "hyq trot": ("hyq", gaits.quadruped_trot(stance_of("hyq"), step_height=0.2), 0.1, 8, 864.1027376813),
    "anymal com": ("anymal", gaits.quadruped_com_shift(stance_of("anymal")), 1e-9, 10, 109.1547328662),
    "talos benchmark": (
        "talos_legs",
        gaits.biped_walk(stance_of("talos_legs"), dt=0.0375, step_knots=25, support_knots=1),
        0.1,
        12,
        5195.698697658,
    ),
}


@pytest.mark.parametrize("name", GOLDENS)
def test_the_cost_that_crocoddyl_finds(name: str) -> None:
    robot, schedule, regularization, iterations, cost = GOLDENS[name]
    solution = solved(robot, schedule, first=regularization)
    assert solution.converged
    assert (solution.iterations, solution.cost) == (iterations, pytest.approx(cost, rel=1e-9))


def test_forces_are_zero_in_the_air_and_carry_the_robot() -> None:
    schedule = gaits.quadruped_trot(stance_of("anymal"))
    solution = solved("anymal", schedule)
    forces, continuous = solution.contact_forces(), ~schedule.touchdowns[:-1]
    weight = 9.81 * sum(inertia.mass for inertia in robot_of("anymal").model.inertias)
    total = np.zeros(schedule.T)
    for i, foot in enumerate(FEET["anymal"]):
        standing = schedule.active[:-1, i]
        assert np.all(forces[foot][~standing & continuous] == 0.0)
        assert np.all(forces[foot][standing & continuous, 2] > 0.0)
        total += np.where(continuous, np.nan_to_num(forces[foot][:, 2]), 0.0)
    assert total[continuous].mean() == pytest.approx(weight, rel=0.05)


@pytest.mark.parametrize("impulse", [True, False])
def test_gaits_in_a_row_are_one_problem_and_feet_land_on_their_footholds(impulse: bool) -> None:
    trot = gaits.quadruped_trot(stance_of("anymal"), profile="smooth", impulse=impulse)
    whole = trot + gaits.quadruped_walk(trot.end, profile="smooth", impulse=impulse, first_step="full")
    assert whole.touchdowns.any() == impulse
    problem = gaits.gait_problem(robot_of("anymal"), whole)
    solution = SolverFDDP(problem).solve(*gaits.gait_guess(problem, whole))
    assert solution.converged
    assert solution.iterations <= 20
    reached = gaits.Stance.of(robot_of("anymal"), FEET["anymal"], solution.xs[-1])
    for foot, place in whole.end.feet.items():
        np.testing.assert_allclose(reached.feet[foot].position, place.position, atol=1e-3)


def test_feet_that_land_without_an_impulse_are_asked_to_be_there_and_at_rest() -> None:
    schedule = gaits.quadruped_trot(stance_of("anymal"), impulse=False, final_knots=2)
    landings = np.argwhere(schedule.references.landing)
    first, second = 2 + 25, 2 + 25 + 2 + 25
    assert landings.tolist() == [[first, 1], [first, 2], [second, 0], [second, 3]]
    values = Values(gaits.gait_problem(robot_of("anymal"), schedule))
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
    evaluator = problem.evaluator
    models.set_schedule(problem, other)
    fresh = models.problem(other)
    for name, values in fresh.parameter_values().items():
        np.testing.assert_array_equal(problem.parameter_values()[name], values)
    assert problem.evaluator is evaluator
    np.testing.assert_allclose(problem.times, other.times)
    with pytest.raises(InvalidArgumentError, match="expected touch-downs at the same 108 knots as the problem's"):
        models.set_schedule(problem, gaits.quadruped_trot(stance))
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


def test_the_standing_guess_holds_the_robot_on_the_feet_that_stand() -> None:
    robot, schedule = robot_of("anymal"), gaits.quadruped_jump(stance_of("anymal"))
    problem = models_of("anymal").problem(schedule)
    xs, us = gaits.gait_guess(problem, schedule)
    assert np.all(xs == problem.x0)
    model, data = robot.model, robot.model.createData()
    q = problem.x0[: robot.nq]
    gravity = pin.rnea(model, data, q, np.zeros(robot.nv), np.zeros(robot.nv))
    for t in np.flatnonzero(~schedule.touchdowns[:-1]):
        feet = [robot.frame_id(foot) for foot, on in zip(FEET["anymal"], schedule.active[t]) if on]
        jacobians = [pin.computeFrameJacobian(model, data, q, i, pin.LOCAL_WORLD_ALIGNED)[:3].T for i in feet]
        columns = np.hstack([np.eye(robot.nv)[:, 6:], *jacobians])
        np.testing.assert_allclose(us[t], (np.linalg.pinv(columns) @ gravity)[:12], atol=1e-9)


@pytest.mark.parametrize("kind", ["references", "pendulum"])
@pytest.mark.parametrize("robot", ["anymal", "talos_legs"])
def test_moving_guesses_put_feet_and_centre_of_mass_where_they_are_to_be(robot: str, kind: str) -> None:
    walk = gaits.biped_walk if robot in SOLES else gaits.quadruped_walk
    schedule = walk(stance_of(robot), step_length=0.15, step_height=0.05)
    problem = models_of(robot).problem(schedule)
    xs, us = gaits.gait_guess(problem, schedule, kind)
    model, data = robot_of(robot).model, robot_of(robot).model.createData()
    plan = gaits.pendulum_plan(schedule, pin.centerOfMass(model, data, xs[0, : model.nq])).com
    np.testing.assert_array_equal(xs[0], problem.x0)
    for t in range(3, schedule.T + 1):
        reached = gaits.Stance.of(robot_of(robot), FEET[robot], xs[t], soles=robot in SOLES)
        for i, foot in enumerate(FEET[robot]):
            reference = schedule.foot_references[t, i, :, 3]
            if np.isnan(reference[0]):
                reference = schedule.stances[schedule.phase_of_knot[t]].feet[foot].position
            np.testing.assert_allclose(reached.feet[foot].position, reference, atol=2e-3)
        com = plan[t] if kind == "pendulum" else schedule.com_references[t]
        if not np.isnan(com[0]):
            np.testing.assert_allclose(reached.com, com, atol=2e-3)
    q, v = xs[5, : model.nq], xs[6, model.nq :]
    np.testing.assert_allclose(pin.integrate(model, q, v * schedule.dt), xs[6, : model.nq], atol=1e-12)
    assert np.all(np.isfinite(us))


def test_guesses_that_cannot_be_are_refused() -> None:
    schedule = gaits.quadruped_jump(stance_of("anymal"))
    problem = models_of("anymal").problem(schedule)
    for kind in ("references", "pendulum"):
        with pytest.raises(InvalidArgumentError, match="all feet leave the ground|in 'up' all are in the air"):
            gaits.gait_guess(problem, schedule, kind)
    with pytest.raises(UnknownNameError, match="kind: 'lip' not found"):
        gaits.gait_guess(problem, schedule, "lip")
    with pytest.raises(InvalidArgumentError, match="the problem's T = 60, got T = 108"):
        gaits.gait_guess(problem, gaits.quadruped_walk(stance_of("anymal")))


def test_what_cannot_be_a_problem_is_refused_before_anything_is_compiled() -> None:
    schedule = gaits.quadruped_walk(stance_of("anymal"))
    with pytest.raises(InvalidArgumentError, match="floating base, 'talos_arm' is fixed"):
        gaits.gait_problem(trajopt.load_robot("talos_arm"), schedule)
    with pytest.raises(UnknownNameError, match="hyq: foot 'LF_FOOT' not found.*look like feet: lf_foot"):
        gaits.gait_problem(robot_of("hyq"), schedule)
    with pytest.raises(InvalidArgumentError, match="options: expected GaitOptions"):
        gaits.gait_problem(robot_of("anymal"), schedule, options={"mu": 0.5})  # type: ignore[arg-type]
    for values, message in (
        ({"com": -1.0}, "com: expected a number >= 0"),
        ({"mu": 0.0}, "mu: expected a number > 0"),
        ({"facets": 5}, "facets: expected an even number >= 4, got 5"),
        ({"sole": (0.1, 0.0)}, "sole: expected two numbers > 0"),
        ({"gains": (0.0, -1.0)}, "gains: expected two numbers >= 0"),
        ({"restitution": 1.5}, "restitution: expected a number from 0 to 1"),
        ({"state_weights": 3.0}, "state_weights: expected StateWeights"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            gaits.GaitOptions(**values)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="integrator 'rk2' not found.*euler, rk4"):
        gaits.GaitOptions(integrator="rk2")
    with pytest.raises(InvalidArgumentError, match="joints: expected a number >= 0"):
        dataclasses.replace(gaits.GaitOptions().state_weights, joints=-1.0)


def test_names_of_feet_become_identifiers() -> None:
    from trajopt.gaits.models import identifiers

    assert identifiers(("left-foot", "1st", "ok")) == {"left-foot": "left_foot", "1st": "foot_1st", "ok": "ok"}
    with pytest.raises(DuplicateNameError, match="differ in special characters only"):
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


def test_options_of_a_stance() -> None:
    assert gaits.GaitOptions.of(stance_of("anymal")) == gaits.GaitOptions()
    assert gaits.GaitOptions.of(stance_of("talos_legs")) == gaits.GaitOptions.soles()
    assert gaits.GaitOptions.soles(mu=0.5).mu == 0.5
    assert pickle.loads(pickle.dumps(gaits.GaitOptions.soles())) == gaits.GaitOptions.soles()


def test_the_example_in_the_docstring() -> None:
    """A trot for a robot that nobody tuned anything for, in fewer than 15 lines; then another gait, in two ways."""
    first, together, separate = re.findall(r"```python\n(.*?)```", gaits.__doc__, re.DOTALL)
    assert len([line for line in first.splitlines() if line.strip()]) < 15
    names: dict[str, Any] = {}
    exec(first, names)
    solution = names["solution"]
    assert solution.converged
    assert np.ptp(solution.xs[:, 0]) > 0.05  # it moves ahead
    exec(together, names)
    assert names["problem"].T == names["trot"].T + names["walk"].T + 1
    exec(separate, names)
    np.testing.assert_array_equal(names["problem"].x0, solution.xs[-1])
