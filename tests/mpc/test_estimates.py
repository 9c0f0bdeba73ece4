"""Controllers that learn masses, damping and constant disturbances from what they measure."""

from __future__ import annotations

import dataclasses
import functools
import re
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.mpc import slider
from tests.support.noisy_pole import NOISY, own_pole
from trajopt import mpc
from trajopt.errors import InvalidArgumentError
from trajopt.mpc.estimator import DECLARE
from trajopt.mpc.promises import biased, missed_goals, steady_differences
from trajopt.mpc.report import OWN_MODEL
from trajopt.problems import mpc as loops
from trajopt.problems.mpc import arm
from trajopt.problems.mpc.cart_pole import ERRORS, NEAR
from trajopt.types import Reals

HARD = [
    *(("model", 0.2, 0.5, (0.5, 0.005)), ("model", 0.3, 1.5, (0.5, 0.005)), ("model", 0.1, 1.0, (0.5, 0.005))),
    *(("mujoco", 0.3, 0.5, (0.5, 0.005)), ("mujoco", 0.2, 0.5, (0.0, 0.0)), ("mujoco", 0.2, 1.5, (0.5, 0.005))),
]


@pytest.mark.slow
@pytest.mark.parametrize(("plant", "pole", "cart", "damping"), HARD)
def test_a_pole_of_unknown_mass_swings_up(plant: str, pole: float, cart: float, damping: Any) -> None:
    """Within 6 s and balanced until 8 s, within the motor's 8 N: hard ones of 36 plants, of which two take 6.4 s."""
    if plant == "mujoco":
        pytest.importorskip("mujoco")
    case = loops.load("cart-pole-balance", plant=plant, pole_mass=pole, cart_mass=cart, damping=damping, pushes=())
    log = case.simulate(8.0)
    away = np.abs(log.xs[:, 1] % (2 * np.pi) - np.pi)
    assert away[log.times >= 6.0].max() < NEAR
    assert np.abs(log.us).max() <= 8.0 + 1e-9
    found = [float(case.controller.problem.table.at(0)[name]) for name in ERRORS[:2]]
    np.testing.assert_allclose(found, [pole, cart], rtol=0.1)


def arm_case(offset_free: bool, **changes: Any) -> loops.MPCCase:
    case = loops.load("arm-tracking", jump=100.0, **changes)
    options = dataclasses.replace(case.controller.options, offset_free=offset_free)
    controller = mpc.MPCController(case.controller.problem, options=options)
    controller.schedule(functools.partial(arm.references, case.follows))
    return dataclasses.replace(case, controller=controller)


def distance(case: loops.MPCCase, log: mpc.ClosedLoop) -> Reals:
    """Distance of the hand from its target after the first half second [m]."""
    hand = arm.arm().placement(log.xs[:, :7], arm.FRAME)[:, :3, 3]
    return np.asarray(np.linalg.norm(hand - case.follows(log.times), axis=1)[log.times > 0.5])


@pytest.mark.slow
def test_a_payload_that_nobody_told_is_carried_without_an_offset() -> None:
    """2 kg in a Panda's hand: 7.6 mm beside its target without estimates, less than 1 mm with, within its torques."""
    far, near = (arm_case(offset, payload=2.0) for offset in (False, True))
    logs = [case.simulate(2.0) for case in (far, near)]
    away = [distance(case, log).max() for case, log in zip((far, near), logs)]
    assert away[0] > 5e-3
    assert away[1] < 1e-3
    assert np.all(np.abs(logs[1].us) <= arm.arm().model.effortLimit + 1e-9)
    assert logs[1].counts["solved"] == len(logs[1])


@pytest.mark.slow
def test_motors_with_inertia_and_damping_fail_no_step() -> None:
    """A Panda in MuJoCo with 0.1 kg m² and 1 N m s/rad at each joint, of which the controller knows nothing."""
    pytest.importorskip("mujoco")
    case = arm_case(True)
    plant = mpc.MuJoCoPlant(arm.arm(), armature=0.1, damping=1.0)
    log = case.simulate(1.5, plant=plant)
    assert log.counts["failed"] == 0
    assert distance(case, log).max() < 5e-3


def test_a_constant_force_on_a_slider_is_subtracted() -> None:
    """The plant feels u + 0.7; the disturbance is found to 1e-3, and the slider rests at its goal."""
    options = mpc.MPCOptions(offset_free=True)
    controller = mpc.MPCController(slider.controller().problem, options=options)
    log = mpc.simulate(controller, lambda x, u, dt: slider.moved(x, u + 0.7, dt), [0.0, 0.2], 8.0)
    assert log.us[-1, 0] == pytest.approx(-0.7, abs=1e-3)
    np.testing.assert_allclose(log.xs[-1], [1.0, 0.0], atol=1e-3)
    plain = mpc.simulate(slider.controller(), lambda x, u, dt: slider.moved(x, u + 0.7, dt), [0.0, 0.2], 8.0)
    assert abs(plain.xs[-1, 0] - 1.0) > 1e-2


def test_the_log_has_what_the_controller_estimates(tmp_path: Path) -> None:
    """A mass of 1.5 kg that the model believes to be 1 kg, and a force of 0.7 N; files keep both."""
    options = mpc.MPCOptions(estimate={"mass": 0.5}, offset_free=True)
    controller = mpc.MPCController(slider.controller().problem, options=options)
    log = mpc.simulate(controller, lambda x, u, dt: slider.moved(x, u + 0.7, dt, 1.5), [0.0, 0.2], 8.0)
    assert list(log.estimated) == ["mass", "disturbance of f"]
    mass, force = log.estimated.values()
    assert mass.shape == force.shape == (len(log), 2)
    np.testing.assert_allclose(mass[0], [1.0, 0.5])
    assert mass[-1, 0] == float(controller.problem.table.at(0)["mass"])
    assert abs(mass[-1, 0] - 1.5) < 3.0 * mass[-1, 1]
    assert abs(force[-1, 0] - 0.7) < 3.0 * force[-1, 1]
    words = log.report()["estimates"]
    late = "mass {:.4g} ± {:.2g} in the last quarter, 1 at first".format(*mpc.estimates.late_estimate(mass))
    assert words.startswith(f"{late}; disturbance of f 0.7")
    loaded = mpc.ClosedLoop.load(log.save(tmp_path / "log.npz"))
    assert loaded.report()["estimates"] == words
    np.testing.assert_array_equal(loaded.estimated["mass"], mass)
    assert "estimates" not in mpc.simulate(slider.controller(), None, [0.0, 0.0], 0.5).report()


def test_a_reset_returns_to_the_first_values() -> None:
    case = loops.load("cart-pole-balance", pole_mass=0.3, pushes=())
    first = case.simulate(1.0)
    again = case.simulate(1.0)
    np.testing.assert_array_equal(first.xs, again.xs)
    case.controller.reset()
    assert float(case.controller.problem.table.at(0)["pole_mass"]) == 0.2


def test_what_does_not_fit_is_refused() -> None:
    problem = slider.controller().problem
    with pytest.raises(
        InvalidArgumentError, match=r"estimate: expected names of parameters of the dynamics, got 'weight'; known: mass"
    ):
        mpc.MPCController(problem, options=mpc.MPCOptions(estimate={"weight": 1.0}))
    with pytest.raises(InvalidArgumentError, match=r"got 'goal\.reference'; known: mass, damping$"):
        mpc.MPCController(problem, options=mpc.MPCOptions(estimate={"goal.reference": 1.0}))
    with pytest.raises(InvalidArgumentError, match=r"estimate\['mass'\]: expected a number > 0, got -1"):
        mpc.MPCOptions(estimate={"mass": -1.0})
    with pytest.raises(InvalidArgumentError, match="offset_free: expected"):
        mpc.MPCOptions(offset_free="yes")


# The condition that ends a loop


def test_a_condition_ends_the_loop() -> None:
    log = mpc.simulate(slider.controller(), None, [0.0, 0.0], 5.0, until=lambda t, x: x[0] > 0.5)
    assert log.xs[-1, 0] > 0.5
    assert np.all(log.xs[:-1, 0] <= 0.5)
    assert log.stopped == f"the condition `until` held at {log.times[-1]:.4g} s"
    assert len(log) < 50


def test_conditions_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"until: expected a function of time \[s\] and state \(nx,\); "):
        mpc.simulate(slider.controller(), None, [0.0, 0.0], 1.0, until=lambda x: True)
    with pytest.raises(mpc.ClosedLoopError, match="at 0.1 s: until: the function raised KeyError"):
        mpc.simulate(slider.controller(), None, [0.0, 0.0], 1.0, until=lambda t, x: {}["fallen"])


# Goals that are not reached


@pytest.mark.slow
def test_explain_tells_that_a_pole_never_comes_up_although_steps_are_solved(tmp_path: Path) -> None:
    log = loops.load("cart-pole-balance", pole_mass=0.31, estimate=False, pushes=()).simulate(9.0)
    assert log.counts["solved"] > 0.95 * len(log)
    words = "-> the plant does not come where plans end, it misses theta by"
    assert words in log.explain()
    assert words in mpc.ClosedLoop.load(log.save(tmp_path / "log.npz")).explain()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cart-pole-balance", "drive-obstacles", "quadrotor-gates"])
def test_explain_is_silent_about_goals_that_are_reached(name: str) -> None:
    assert "does not come" not in loops.load(name).simulate().explain()


def test_plans_that_end_short_of_their_goal_promise_nothing() -> None:
    """A horizon of 4 periods ends a little ahead of a mass that moves on; its plans end elsewhere each time."""
    state = slider.STATE
    xs = np.stack([0.1 * np.arange(7.0), np.ones(7)], axis=1)
    ends = xs[:6] + np.array([0.1, 0.0])
    assert missed_goals(state, xs, ends, 4) == ""
    assert missed_goals(state, xs, np.full_like(ends, 2.5), 4).startswith("q by ")


def test_plans_of_the_middle_of_a_run_that_arrives_miss_nothing() -> None:
    """The first half of the plans, with a wrong model, end 19 m away; the mass comes to where the last ones end."""
    xs, ends = np.zeros((41, 2)), np.zeros((40, 2))
    xs[:, 0], ends[:10, 0] = np.append(np.linspace(0.3, 0.0, 21), np.zeros(20)), 19.0
    assert missed_goals(slider.STATE, xs, ends, 30) == ""
    ends[:, 0] = 19.0
    assert missed_goals(slider.STATE, xs, ends, 30) == "q by 19 m"


def test_plans_after_a_compensated_delay_end_later() -> None:
    """They begin at the end of the delay, so that their common end has not come a plan after the measurement."""
    xs, ends = np.zeros((26, 2)), np.zeros((25, 2))
    xs[21:, 0] = ends[:23, 0] = 1.0  # the last ones go back
    assert missed_goals(slider.STATE, xs, ends, 2, late=16) == ""
    assert missed_goals(slider.STATE, xs, ends, 2) == "q by 1 m"


@pytest.mark.parametrize(("force", "offset_free"), [(0.7, False), (0.0, False), (0.7, True)])
def test_a_failed_step_does_not_hide_a_constant_disturbance(
    force: float, offset_free: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mass of 2 kg changes its speed by force / 2 in 1 s that the model lacks; offset_free ends the advice."""
    feedback = mpc.MPCController.feedback

    def failing(self: mpc.MPCController, x: Any, t: float | None = None) -> mpc.MPCStep:
        step = feedback(self, x, t)
        failed = dataclasses.replace(step, status=mpc.MPCStatus.FAILED, reason="no way")
        return failed if step.t == pytest.approx(1.0) else step

    monkeypatch.setattr(mpc.MPCController, "feedback", failing)
    problem = slider.controller().problem
    problem.set_parameter("mass", 2.0)
    controller = mpc.MPCController(problem, options=mpc.MPCOptions(offset_free=offset_free))
    log = mpc.simulate(controller, lambda x, u, dt: slider.moved(x, u + force, dt, 2.0), [0.0, 0.2], 4.0)
    assert log.outcome == "39 solved, 1 failed"
    advice = [line for line in log.explain().splitlines() if line.startswith("-> ") and "control period" not in line]
    said = bool(force) and not offset_free
    assert log.biased == ("v by 0.35 m/s" if said else "")
    assert advice[-1].startswith("-> steps fail: ")
    first = "-> the plant has a constant disturbance that the controller's model lacks: in each second it changes v by"
    assert any(line.startswith(first) and "offset_free=True" in line for line in advice[:-1]) == said


@pytest.mark.parametrize("constant", [True, False])
def test_differences_that_change_their_sign_are_no_constant_disturbance(constant: bool) -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    xs = np.random.default_rng(0).normal(size=(40, 4))
    expected, came = xs + 0.01, xs + 0.01
    came[:, 3] += 0.01 * np.where(np.arange(40) % 2 == 0, 1.0, 1.0 if constant else -1.0)
    words = biased(state, steady_differences(state, xs, expected, came, 0.1))
    assert words == (f"{state.tangent_names[3]} by 0.1 rad/s" if constant else "")


class Puck(trajopt.DifferentialActionModelSymbolic):
    """A mass of 2 kg on a plane under a force along x and, with `wind`, under that of the wind."""

    def __init__(self, costs: trajopt.CostStack, limits: trajopt.ConstraintStack, *, wind: bool) -> None:
        super().__init__(costs.state, nu=1, costs=costs, constraints=limits, control_names=["f"], control_units=["N"])
        self.wind = self.parameter("wind", np.zeros(2), unit="N") if wind else np.zeros(2)

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return (ca.vertcat(u, 0.0) + self.wind) / 2.0


WIND = np.array([0.4, -0.6])


def puck(wind: bool, **options: Any) -> mpc.MPCController:
    """Controller of a puck, without wind or with one of 0 N."""
    state = trajopt.StateVector(4, names=["x", "y", "vx", "vy"], units=["m", "m", "m/s", "m/s"])
    costs = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state), weight=1.0)
    costs.add("effort", trajopt.ResidualModelControl(state), weight=0.1)
    limits = trajopt.ConstraintStack(state).add("f", trajopt.ResidualModelControl(state), lower=-2.0, upper=2.0)
    knot = trajopt.IntegratedActionModelEuler(Puck(costs, limits, wind=wind), dt=0.05)
    problem = trajopt.ShootingProblem(np.zeros(4), [knot] * 10, trajopt.CostStack(state))
    return mpc.MPCController(problem, options=mpc.MPCOptions(**options))


def blown(wind: bool, **options: Any) -> mpc.ClosedLoop:
    """The log of a puck for 1 s in a wind that the model, without wind or with one of 0 N, lacks."""

    def plant(x: Reals, u: Reals, dt: float) -> Reals:
        v = x[2:] + dt * (np.array([u[0], 0.0]) + WIND) / 2.0
        return np.concatenate([x[:2] + dt * v, v])

    return mpc.simulate(puck(wind, **options), plant, np.zeros(4), 1.0)


@pytest.mark.parametrize("deviation", [1.0, (1.0, 2.0)])
def test_a_vector_is_estimated_by_its_elements(deviation: Any, tmp_path: Path) -> None:
    log = blown(True, estimate={"wind": deviation})
    assert list(log.estimated) == ["wind[0]", "wind[1]"]
    np.testing.assert_allclose([each[0] for each in log.estimated.values()], [[0.0, 1.0], [0.0, np.max(deviation)]])
    np.testing.assert_allclose([each[-1, 0] for each in log.estimated.values()], WIND, rtol=0.02)
    assert re.search(r"estimates: wind\[0\] 0\.[34]\d* ± .*; wind\[1\] -0\.[56]", log.explain())
    assert log.biased == ""
    assert mpc.ClosedLoop.load(log.save(tmp_path / "log.npz")).explain() == log.explain()
    log.plot(tmp_path / "log.png")


def test_estimates_are_drawn_over_time_with_their_deviations() -> None:
    log = blown(True, estimate={"wind": 1.0}, offset_free=False)
    axes = next(each for each in log.plot_controls().axes if each.get_ylabel() == "estimate")
    assert axes.get_title(loc="left") == "wind ± one standard deviation"
    for name, values in log.estimated.items():
        (line,) = (each for each in axes.lines if each.get_label() == name)
        np.testing.assert_array_equal(line.get_ydata()[:-1], values[:, 0])
    assert [each.get_label() for each in axes.collections] == ["_deviation"] * 2
    value, deviation = log.estimated["wind[1]"].T
    box = axes.collections[1].get_datalim(axes.transData)
    np.testing.assert_allclose([box.y0, box.y1], [np.min(value - deviation), np.max(value + deviation)])
    low, high = axes.get_ylim()
    assert low <= np.min(value)
    assert low <= value[-1] - deviation[-1]
    assert high < 1.0  # the first deviations, of 1 N, would hide the rest
    assert "estimate" not in [each.get_ylabel() for each in blown(False).plot_controls().axes]


def test_deviations_of_a_vector_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"estimate\['wind'\]: .* one for each of 2 elements, got 3"):
        blown(True, estimate={"wind": (1.0, 1.0, 1.0)})
    with pytest.raises(InvalidArgumentError, match=r"estimate\['wind'\]\[1\]: expected a number > 0, got 0"):
        mpc.MPCOptions(estimate={"wind": [1.0, 0.0]})
    with pytest.raises(InvalidArgumentError, match=r"estimate\['wind'\]: expected a number > 0, or one for each"):
        mpc.MPCOptions(estimate={"wind": np.ones((2, 2))})
    with pytest.raises(InvalidArgumentError, match=r"got 'wind'; declare one in the model, self\.parameter\("):
        blown(False, estimate={"wind": 1.0})


def test_a_constant_difference_of_the_plant_names_what_estimates_it(tmp_path: Path) -> None:
    """Wind across the only force is none of its disturbances; of a slider along its force it is one."""
    across = blown(False)
    assert across.biased == "vy by -0.3 m/s, vx by 0.2 m/s"
    words = "changes vy by -0.3 m/s, vx by 0.2 m/s more than predicted; MPCOptions(estimate={...}) estimates a param"
    assert words in across.explain()
    assert across.explain().endswith(DECLARE)
    assert mpc.ClosedLoop.load(across.save(tmp_path / "log.npz")).explain() == across.explain()
    assert "; the model has wind; if none of these does, " in blown(True).explain()
    assert blown(False, offset_free=True).biased == "vy by -0.3 m/s"
    along = mpc.simulate(slider.controller(), lambda x, u, dt: slider.moved(x, u + 0.7, dt), [0.0, 0.2], 4.0)
    assert along.counts["failed"] == 0
    assert (
        "v by 0.7 m/s more than predicted; MPCOptions(offset_free=True) estimates and subtracts it" in along.explain()
    )
    right = mpc.simulate(slider.controller(), slider.moved, [0.0, 0.2], 4.0)
    assert right.biased == ""


def test_an_estimate_that_is_on_is_not_advised_but_a_larger_deviation_is() -> None:
    """Three deviations of 0.15 N are 0.45 N, of a wind of 0.6 N."""
    text = blown(True, estimate={"wind": 0.15}).explain()
    assert "estimates of wind are held back, as they stay within three deviations of their first values" in text
    assert 'MPCOptions(estimate={"wind": ...}) with larger ones' in text
    assert "the model has wind" not in text
    assert DECLARE not in text
    assert "held back" not in blown(True, estimate={"wind": 1.0}).explain()


@pytest.mark.slow
def test_contacts_of_another_kind_are_no_disturbance_of_a_gait_that_goes_well() -> None:
    log = loops.load("quadruped-trot-mpc").simulate(0.3)
    assert log.counts["failed"] == 0
    assert log.plant != OWN_MODEL
    assert log.biased == ""


def test_explain_tells_errors_of_a_reference_that_moves_and_not_where_plans_end() -> None:
    """The end of a plan may be anywhere while the tool follows its path."""
    log = dataclasses.replace(loops.load("arm-tracking").simulate(0.3), missed="v:wrist by 0.08 rad/s")
    assert any(tracked.moves for tracked in log.tracked)
    assert "does not come" not in log.explain()
    log = dataclasses.replace(loops.load("cart-pole-balance").simulate(0.3), missed="theta by 3 rad")
    assert "does not come" in log.explain()


def test_goals_are_places_and_no_velocities() -> None:
    """A plan's end that is never reached is a goal missed if it is a place; a velocity there says nothing."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    xs, ends = np.zeros((20, 4)), np.zeros((19, 4))
    ends[:, 2] = 0.5
    assert missed_goals(state, xs, ends, 4) == ""
    ends[:, 1] = 0.7
    assert missed_goals(state, xs, ends, 4) == f"{state.tangent_names[1]} by 0.7 rad"


@pytest.mark.parametrize("error", [{"mass": mpc.Factor(1.1)}, {"mass": 0.33}], ids=["factor", "value"])
def test_the_plant_does_not_follow_estimates(error: dict[str, Any]) -> None:
    """Not in a second loop, either; its length was that of the estimate, its mass 1.1 times it."""
    window = own_pole()
    controller = mpc.MPCController(window, options=mpc.MPCOptions(dt=0.02, estimate={"mass": 0.03, "length": 0.2}))
    knot = trajopt.IntegratedActionModelRK4(window.running[0].differential, dt=0.02)
    plant = trajopt.ShootingProblem(np.zeros(4), [knot], trajopt.CostStack(window.state))
    plant.set_parameter("mass", 0.33)
    for seed in range(2):
        log = mpc.simulate(controller, None, np.zeros(4), 2.0, noise=NOISY, model_error=error, seed=seed)
        assert np.ptp(log.estimated["length"][:, 0]) > 0.01
        steps = [plant.calc([x, x], [u]).gaps[1] for x, u in zip(log.xs, log.us)]
        moves = log.xs[1:] - log.xs[:-1]
        np.testing.assert_allclose(np.array(steps), moves, atol=1e-9)
        assert "instead of 0.3" in log.report()["plant"] or "times 1.1" in log.report()["plant"]


@pytest.mark.slow
def test_estimates_of_noisy_states_have_true_deviations() -> None:
    """With errors twice their deviation a filter believes noise."""
    controller = mpc.MPCController(own_pole(), options=mpc.MPCOptions(dt=0.02, estimate={"mass": 0.03, "length": 0.05}))
    rng, scores = np.random.default_rng(0), []
    for seed in range(12):
        true = {"mass": 0.3 * rng.uniform(0.85, 1.15), "length": 0.5 * rng.uniform(0.85, 1.15)}
        log = mpc.simulate(controller, None, np.zeros(4), 3.0, noise=2.0 * NOISY, model_error=true, seed=seed)
        ends = {name: log.estimated[name][-1] for name in true}
        scores.append([(value - true[name]) / deviation for name, (value, deviation) in ends.items()])
    assert np.sqrt(np.mean(np.square(scores), axis=0)).max() < 1.3
