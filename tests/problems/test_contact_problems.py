"""Problems of robots in contact: forces by knot, activity by knot, knots of impulses, compiled code, solves."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.support import contact_models
from tests.support.contact_models import GAINS, actuation_of, contact_dynamics_of
from tests.support.contact_robots import Reals, random_state, robot_state
from tests.support.contact_twin import Body, contact_dynamics, impulse_dynamics
from tests.support.kernel_runner import LEVELS, kernel_at, run_kernel
from tests.support.slow_twin import assert_close
from trajopt import ContactModel1D, ContactModel3D, ContactStack, IntegratedActionModelEuler, ShootingProblem
from trajopt.errors import InvalidArgumentError
from trajopt.shooting import contact_forces, cost_terms
from trajopt.solvers import SolverFDDP

T, LANDING = 10, 4  # knots, and which of them is an impulse


@cache
def models() -> tuple[Any, Any]:
    """Continuous knots with a foot and a seat, and a touch-down of the foot."""
    state = robot_state("hopper")
    contacts = ContactStack(state).add("foot", ContactModel3D(state, "foot0", reference=np.zeros(3), gains=GAINS))
    contacts.add("seat", ContactModel1D(state, "base_frame"), active=False)
    running = IntegratedActionModelEuler(contact_dynamics_of(contacts), dt=0.01)
    return running, contact_models.impulse("hopper", "foot0")


def landing_problem() -> ShootingProblem:
    """In the air, a touch-down, then on the foot; at the end on the seat too."""
    running, impulse = models()
    state = running.state
    knots = [impulse if t == LANDING else running for t in range(T)]
    end = trajopt.CostStack(state).add("x", trajopt.ResidualModelState(state), 1.0)
    problem = ShootingProblem(random_state("hopper", 0), knots, end)
    problem.set_parameter("contacts.foot.active", 0.0, knots=range(LANDING))
    problem.set_parameter("contacts.seat.active", 1.0, knots=range(8, T))
    return problem


def trajectory() -> tuple[Reals, Reals]:
    rng = np.random.default_rng(3)
    us = rng.normal(size=(T, 2))
    us[LANDING] = 0.0
    return np.array([random_state("hopper", t) for t in range(T + 1)]), us


ACTIVE = {t: [n for n, on in (("foot", t > LANDING), ("seat", t >= 8)) if on] for t in range(T) if t != LANDING}


# Forces


def test_forces_by_knot() -> None:
    """As Pinocchio's matrices give them; exactly zero where not active; NaN where there is no contact of this name."""
    problem, (xs, us) = landing_problem(), trajectory()
    running, impulse = models()
    forces = contact_forces(problem, xs, us)
    assert {name: f.shape for name, f in forces.items()} == {"foot": (T, 3), "seat": (T, 1), "off": (T, 6)}
    for t, active in ACTIVE.items():
        _, expected = contact_dynamics(running.differential, xs[t], us[t], active)
        for name in ("foot", "seat"):
            assert_close(forces[name][t], expected[name], 1e-9, f"{name} at knot {t}")
            assert bool(np.any(forces[name][t] != 0.0)) == (name in active)
    assert_close(forces["foot"][LANDING], impulse_dynamics(impulse, xs[LANDING])[1]["foot"], 1e-9)
    np.testing.assert_array_equal(forces["off"][LANDING], np.zeros(6))
    assert np.isnan(forces["seat"][LANDING]).all()
    assert np.isnan(np.delete(forces["off"], LANDING, axis=0)).all()
    assert not np.isnan(np.delete(forces["seat"], LANDING, axis=0)).any()


def test_names_of_different_sizes_are_refused() -> None:
    state = robot_state("hopper")
    impulses = trajopt.ImpulseStack(state).add("foot", trajopt.ImpulseModel6D(state, "foot0"))
    landing = trajopt.ActionModelImpulseFwdDynamics(state, impulses, trajopt.CostStack(state))
    problem = ShootingProblem(state.zero(), [models()[0], landing], trajopt.CostStack(state))
    with pytest.raises(InvalidArgumentError, match="foot: 6 elements at knot 1, 3 at others; give .* different names"):
        contact_forces(problem, [state.zero()] * 3, np.zeros((2, 2)))


def test_problems_without_contacts_have_no_forces() -> None:
    model = trajopt.ActionModelLQR([[1.0]], [[1.0]], [[1.0]], [[1.0]])
    assert contact_forces(ShootingProblem([1.0], [model] * 2, model), np.zeros((3, 1)), np.zeros((2, 1))) == {}


def test_cost_terms_with_forces() -> None:
    """Their sum is the cost, and the term of a force is what the force says."""
    problem, (xs, us) = landing_problem(), trajectory()
    terms, forces = cost_terms(problem, xs, us), contact_forces(problem, xs, us)
    costs = problem.calc(xs, us).costs
    assert_close(np.nansum(list(terms.values()), axis=0), costs, 1e-12)
    reference = np.arange(3) * 0.3
    away = forces["foot"] - reference
    expected = 0.01 * 0.05 * 0.5 * np.sum(away**2, axis=1)
    expected[LANDING] = np.nan
    np.testing.assert_allclose(terms["force_0"][:T], expected, rtol=1e-11)
    push = 0.1 * np.sum((forces["foot"][LANDING] - [0.1, -0.2, 3.0]) ** 2)
    assert terms["push"][LANDING] == pytest.approx(push, rel=1e-11)
    assert np.isnan(np.delete(terms["push"], LANDING)).all()


# Compiled code


def test_compiled_knots_agree_with_casadi() -> None:
    """Every knot with its own activity; knots of impulses have no control, and their padded columns are zero."""
    problem, (xs, us) = landing_problem(), trajectory()
    found, n = problem.calc_diff(xs, us), problem.state.ndx
    for t, model in enumerate(problem.running):
        row = problem.table.values[t, : model.layout.size]
        outputs = model.program("calc_diff").evaluate(xs[t], us[t, : model.nu], row)
        xnext, cost, F, gradient, hessian = outputs
        assert_close(found.xnext[t], xnext.ravel(), 1e-11)
        assert found.costs[t] == pytest.approx(float(cost.item()), rel=1e-11)
        assert_close(np.hstack([found.Fx[t], found.Fu[t, :, : model.nu]]), F, 1e-11, f"F of knot {t}")
        assert_close(np.concatenate([found.Lx[t], found.Lu[t, : model.nu]]), gradient.ravel(), 1e-11)
        assert_close(found.Lxx[t], hessian[:n, :n], 1e-11)
        assert not found.Fu[t, :, model.nu :].any()
    assert np.abs(found.Fu[LANDING]).max() == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("make", [contact_models.slider, lambda: models()[1]], ids=["slider", "impulse"])
def test_both_tiers_and_widths_agree_with_casadi(make: Any) -> None:
    """Nine knots: a block of eight and one that is not full; some with contacts switched the other way."""
    built = make()
    model = built if built.nu == 0 else IntegratedActionModelEuler(built, dt=0.02)
    kind, rng = ("impulses" if model.nu == 0 else "contacts"), np.random.default_rng(0)
    xs = np.array([random_state(model.state.robot.name, t) for t in range(9)])
    us = rng.normal(size=(9, model.nu))
    ps = np.array([model.layout.column({f"{kind}.off.active": float(t % 2)}) for t in range(9)])
    for name in ("calc", "calc_diff"):
        program = model.program(name)
        expected = [program.evaluate(x, u, p) for x, u, p in zip(xs, us, ps)]
        bits = []
        for width in (1, 8):
            for level in LEVELS.values():
                got = run_kernel(kernel_at(program, width, level), [xs, us, ps])
                bits.append(np.concatenate([v.ravel() for v in got]))
                for i, output in enumerate(got):
                    for t in range(9):
                        assert_close(output[t], expected[t][i].ravel(), 1e-11, f"{name}, output {i}, knot {t}")
        assert np.array_equal(bits[0], bits[1])  # one width, two tiers: the same bits
        assert np.array_equal(bits[2], bits[3])


def test_terms_of_forces_that_vanish_at_some_knots_only() -> None:
    """Within its cone a force costs nothing, and the chain rule is left out if that is so for a whole block."""
    state = robot_state("hopper")
    contacts = ContactStack(state).add("foot", ContactModel3D(state, "foot0"))
    cone = trajopt.FrictionCone(0.5)
    barrier = trajopt.ActivationModelQuadraticBarrier(cone.lower, cone.upper)
    costs = trajopt.CostStack(state).add("u_reg", trajopt.ResidualModelControl(state), 0.1)
    costs.add("cone", trajopt.ResidualModelContactFrictionCone(state, "foot", cone), 10.0, barrier)
    model = IntegratedActionModelEuler(contact_dynamics_of(contacts, costs=costs), dt=0.02)
    problem = ShootingProblem(random_state("hopper", 0), [model] * 24, trajopt.CostStack(state))
    problem.set_parameter("cone.weight", 0.0, knots=range(8, 16))
    problem.set_parameter("cone.weight", 0.0, knots=[17, 18, 20])
    xs = np.array([random_state("hopper", t) for t in range(25)])
    us = np.random.default_rng(0).normal(size=(24, 2))
    found = problem.calc_diff(xs, us)
    costly = 0
    for t in range(24):
        row = problem.table.values[t, : model.layout.size]
        _, _, _, gradient, hessian = model.program("calc_diff").evaluate(xs[t], us[t], row)
        assert_close(np.concatenate([found.Lx[t], found.Lu[t]]), gradient.ravel(), 1e-11, f"knot {t}")
        assert_close(found.Lxx[t], hessian[:16, :16], 1e-11, f"knot {t}")
        costly += bool(found.Lx[t].any())
    assert 4 < costly < 20


# Quasi-static controls


def test_quasi_static_controls_know_the_activity_of_their_knot() -> None:
    """The smallest u with B u + Jᵀ λ = g for the contacts of that knot, by least squares; none at an impulse."""
    problem, (xs, _) = landing_problem(), trajectory()
    state, B = problem.state, actuation_of(problem.state).matrix
    found = problem.quasi_static(xs[:-1])
    for t, active in ACTIVE.items():
        body = Body(state.model, xs[t, : state.nq], np.zeros(state.nv))
        rows = {"foot": body.jacobian("foot0")[:3], "seat": body.jacobian("base_frame")[2:3]}
        columns = np.hstack([B, *(rows[name].T for name in active)])
        expected = np.linalg.lstsq(columns, body.bias(), rcond=None)[0]
        assert_close(found[t], expected[:2], 1e-9, f"knot {t}")
    np.testing.assert_array_equal(found[LANDING], np.zeros(2))
    still = problem.quasi_static([xs[0]] * T)  # one state: the knots differ in their activity alone
    for t, active in ACTIVE.items():
        alike = [s for s in ACTIVE if ACTIVE[s] == active]
        assert [s for s in ACTIVE if np.array_equal(still[s], still[t])] == alike


def test_quasi_static_controls_hold_a_robot_that_stands() -> None:
    """An arm whose hand is held by a ball joint: no acceleration at the controls that bear its weight."""
    state = robot_state("arm")
    stack = ContactStack(state).add("hand", ContactModel3D(state, "2_RX_frame"))
    model = contact_dynamics_of(stack, costs=trajopt.CostStack(state))
    x = state.at_rest(random_state("arm", 0))
    u = model.quasi_static(x)
    data = model.create_data()
    model.calc(data, x, u)
    assert_close(data.xnext, np.zeros(12), 1e-10)
    free = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation_of(state), trajopt.CostStack(state))
    assert np.linalg.norm(u) < 0.9 * np.linalg.norm(free.quasi_static(x))  # the contact bears a part


# Black boxes, pickles, time, moving horizons


@pytest.mark.parametrize("which", [0, 1], ids=["contact", "impulse"])
def test_differences_of_values_agree_with_the_derivatives(which: int) -> None:
    model = models()[which]
    boxed, x = trajopt.ActionModelNumDiff(model), random_state("hopper", 7)
    u = np.random.default_rng(0).normal(size=model.nu)
    found = []
    for each in (model, boxed):
        data = each.create_data()
        each.calc(data, x, u)
        each.calc_diff(data, x, u)
        found.append(data)
    for field in ("xnext", "cost", "Fx", "Fu", "Lx", "Lu"):
        assert_close(getattr(found[1], field), getattr(found[0], field), 1e-6, field)
    assert boxed.time_step() == model.time_step()
    np.testing.assert_allclose(boxed.quasi_static(x), model.quasi_static(x))
    problem = ShootingProblem(x, [models()[0], boxed], trajopt.CostStack(model.state))
    forces = contact_forces(problem, [x] * 3, np.zeros((2, 2)))
    assert np.isnan(forces["foot"][1]).all()  # a black box tells no forces
    assert not np.isnan(forces["foot"][0]).any()


def test_problems_pickle_with_the_activity_of_their_knots() -> None:
    problem, (xs, us) = landing_problem(), trajectory()
    again = pickle.loads(pickle.dumps(problem))
    for name, forces in contact_forces(problem, xs, us).items():
        np.testing.assert_array_equal(contact_forces(again, xs, us)[name], forces)
    assert again.calc(xs, us).cost == problem.calc(xs, us).cost
    assert repr(again) == repr(problem)


def test_impulses_take_no_time_and_no_control() -> None:
    problem = landing_problem()
    assert problem.times is not None
    assert_close(problem.times, 0.01 * np.array([*range(LANDING + 1), *range(LANDING, T)]), 1e-12)
    problem.set_parameter("dt", 0.05, knots=range(LANDING))
    assert problem.times[LANDING] == problem.times[LANDING + 1] == pytest.approx(0.2)
    assert [model.nu for model in problem.running] == [0 if t == LANDING else 2 for t in range(T)]
    with pytest.raises(InvalidArgumentError, match=f"knots: dt does not exist at knot {LANDING}"):
        problem.set_parameter("dt", 0.05, knots=range(T))


def test_activity_moves_along_with_a_receding_horizon() -> None:
    problem = landing_problem()
    problem.circular_append()
    assert problem.running[LANDING - 1].nu == 0
    active = [float(problem.get_parameter("contacts.foot.active", t)) for t in range(T) if t != LANDING - 1]
    assert active == [0.0] * 3 + [1.0] * 6
    seat = [float(problem.get_parameter("contacts.seat.active", t)) for t in range(T) if t != LANDING - 1]
    assert seat == [0.0] * 6 + [1.0] * 3


# Solves


def test_a_landing_is_solved() -> None:
    """FDDP through a knot without control; the solution's forces are those of its problem when it was solved."""
    problem = landing_problem()
    problem.x0 = problem.state.at_rest(problem.x0)
    solution = SolverFDDP(problem).solve([problem.x0] * (T + 1), problem.quasi_static([problem.x0] * T))
    assert solution.converged, solution.status
    assert np.abs(solution.gaps()).max() < 1e-9
    forces = solution.contact_forces()
    assert forces["foot"][:LANDING].tolist() == np.zeros((LANDING, 3)).tolist()
    for name, expected in contact_forces(problem, solution.xs, solution.us).items():
        np.testing.assert_array_equal(forces[name], expected)
    problem.set_parameter("contacts.foot.active", 0.0, knots=9)
    np.testing.assert_array_equal(solution.contact_forces()["foot"], forces["foot"])
    assert not contact_forces(problem, solution.xs, solution.us)["foot"][9].any()
