"""The simulator's methods: one step or many, run-time parameters, controllers, backward steps, errors."""

from __future__ import annotations

import pickle

import numpy as np
import pinocchio as pin
import pytest

from tests.simulator.bodies import CORNERS, MODES, block, corners, simulator, state, whole_input
from trajopt.errors import (
    DuplicateNameError,
    ImmutableError,
    InvalidArgumentError,
    ModelEvaluationError,
    UnknownAttributeError,
    UnknownNameError,
)
from trajopt.simulator import ExternalWrench, MDPContact, Plane, Simulator
from trajopt.simulator.batch import StateBatch

DT = 2e-3


@pytest.mark.parametrize("mode", ["FORWARD_RK1F", "BACKWARD_RK1F", "FORWARD_LF"])
def test_batches_have_the_bits_of_single_steps(mode: str) -> None:
    sim = simulator(mode)
    inputs = np.array([whole_input(sim, depth, seed) for seed, depth in enumerate([-0.2, 0.0, 1e-3, 0.01, 0.1] * 2)])
    taus = np.random.default_rng(0).standard_normal((10, 7))
    many = sim.simulate_batched(DT, inputs, taus, Dqdqs=True, Dtaus=True)
    values = sim.simulate_batched(DT, list(inputs), list(taus))
    assert values[1:] == (None, None)
    assert np.array_equal(values[0], many[0])
    for i in (0, 3, 9):
        for one, all_of_them in zip(sim.simulate(DT, inputs[i], taus[i], Dqdq=True, Dtau=True), many):
            assert np.array_equal(one, all_of_them[i])


def test_threads_of_a_simulator_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are asked for, and those of the process stay."""
    asked: list[int | None] = []
    run = StateBatch.run
    monkeypatch.setattr(StateBatch, "run", lambda batch, most=None: (asked.append(most), run(batch, most)))
    monkeypatch.setattr("trajopt.kernels.threads.set_num_threads", lambda n: pytest.fail("the process's threads"))
    sim, inputs = simulator(), [state(0.01), state(0.02, 1)]
    sim.simulate_batched(DT, inputs)
    sim.set_threads(1)
    sim.simulate_batched(DT, inputs)
    assert asked == [None, 1]


def test_results_are_the_callers() -> None:
    """Memory is used again only when nobody holds it, or a view of it, and whatever was written into it."""
    sim, x, y = simulator(), state(0.01), state(0.02, 1)
    first = sim.simulate(DT, x, Dqdq=True)[1]
    kept, row = first.copy(), sim.simulate_batched(DT, [x, y], Dqdqs=True)[1][1]
    held = row.copy()
    for z in (y, x, y):
        sim.simulate(DT, z, Dqdq=True)[1][:] = np.nan
        sim.simulate_batched(DT, [z, z], Dqdqs=True)[1][:] = np.nan
    assert np.array_equal(first, kept)
    assert np.array_equal(row, held)
    assert np.array_equal(sim.simulate(DT, x, Dqdq=True)[1], kept)


def test_steps_whose_results_are_kept_share_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new batch for each step would take five times as long as the step."""
    sim = simulator("FORWARD_RK1F")
    results = [sim.simulate(DT, whole_input(sim, 0.0, 0), np.zeros(7), Dqdq=True, Dtau=True)]
    monkeypatch.setattr(StateBatch, "__init__", lambda *a, **k: pytest.fail("another batch"))
    for _ in range(3):
        results.append(sim.simulate(DT, results[-1][0], np.zeros(7), Dqdq=True, Dtau=True))
    assert len({step[0].tobytes() for step in results}) == 4  # each is its own


def test_positions_follow_the_new_velocity() -> None:
    """v̂ is in the axes of q: the block's linear velocity is turned from there into the axes of q₊."""
    sim, x = simulator(), state(0.01)
    after, _, _ = sim.simulate(DT, x)
    before, then = (pin.Quaternion(y[3:7]).matrix() for y in (x, after))
    turning = np.r_[np.zeros(3), DT * after[11:]]
    assert np.allclose(after[3:8], pin.integrate(block(), x[:8], turning)[3:], atol=1e-14)
    assert np.allclose(after[:3], x[:3] + DT * then @ after[8:11], atol=1e-14)
    assert np.allclose(sim.velocity_after(DT, x), np.r_[before.T @ then @ after[8:11], after[11:]])


def test_parameters_are_those_of_a_new_simulator() -> None:
    x, sim = state(0.01), simulator()
    before = sim.simulate(DT, x)[0]
    for name, value in (("friction", 0.2), ("strength", 3e5)):
        for i in range(4):
            sim.set_parameter(f"contacts.corner{i}.{name}", value)
    sim.set_parameter("barrier_weight", 0.01)
    other = Simulator(block(), corners(friction=0.2, strength=3e5), barrier_weight=0.01)
    assert np.array_equal(sim.simulate(DT, x)[0], other.simulate(DT, x)[0])
    assert not np.array_equal(sim.simulate(DT, x)[0], before)
    again = pickle.loads(pickle.dumps(sim))
    assert np.array_equal(again.simulate(DT, x)[0], other.simulate(DT, x)[0])


def test_a_body_at_rest_sinks_one_millimetre_by_default() -> None:
    """One sphere below the centre of mass carries m g at the depth 1 mm; the budget is used up to n / (n + 1).

    The depth settles at creep speeds, here of v_tol = 1 cm/s.
    """
    body = pin.Model()
    joint = body.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), "base")
    body.appendBodyToJoint(joint, pin.Inertia(3.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    body.addFrame(pin.Frame("foot", joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    motion = Simulator(body, [MDPContact("foot")], v_tol=1e-2).rollout(np.zeros(6), steps=3000, dt=1e-3)
    assert motion.xs[-1][2] == pytest.approx(-1e-3, rel=0.05)
    levels = [Simulator(body, [MDPContact("foot")], mode).model.parameters() for mode in ("FORWARD_LF", "FORWARD_I")]
    force, impulse = (float(level["contacts.foot.strength"].default) for level in levels)
    assert impulse == pytest.approx(1e-3 * force)


def test_a_floor_replaces_contacts() -> None:
    x, sim = state(0.01), Simulator(block())
    assert sim.contact_forces(DT, x) == {}
    sim.set_floor([0, 0, 2, 0], [MDPContact("box", c, name=f"corner{i}") for i, c in enumerate(CORNERS)], strength=1e6)
    assert np.array_equal(sim.simulate(DT, x)[0], simulator().simulate(DT, x)[0])
    forces = sim.contact_forces(DT, x)
    assert sorted(forces) == [f"corner{i}" for i in range(4)]
    sim.set_floor([0, 0, 1, 2], ["tip"])
    assert sim.contact_forces(DT, x)["tip"][2] < 1e-3


def test_pd_torques_are_felt_in_the_derivative() -> None:
    x, sim = state(0.005), simulator()
    sim.set_PD_controller(30.0, 2.0, np.concatenate([state(0.0)[:7], [0.4]]))
    _, D, Dtau = sim.simulate(DT, x, Dqdq=True, Dtau=True)
    tau = np.concatenate([np.zeros(6), [30.0 * (0.4 - x[7]) - 2.0 * x[14]]])
    given, plain, _ = sim.simulate(DT, x, tau, Dqdq=True)
    assert np.allclose(sim.simulate(DT, x)[0], given, atol=1e-14)
    gains = np.zeros((7, 14))
    gains[6, 6], gains[6, 13] = -30.0, -2.0
    assert np.allclose(D, plain + Dtau @ gains, atol=1e-12)
    sim.set_PD_controller(30.0, 2.0, np.concatenate([state(0.0)[:7], [0.4]]), derivative=False)
    assert np.allclose(sim.simulate(DT, x, Dqdq=True)[1], plain, atol=1e-14)


def test_a_ring_of_rays_by_hand_is_the_contact() -> None:
    """`ExternalWrench` with the columns of a sphere on a plane gives what `MDPContact` gives."""
    import casadi as ca

    def columns(R: ca.SX, p: ca.SX, strength: ca.SX) -> ca.SX:
        arm = R @ ca.SX(CORNERS[0])
        depth = ca.fmax(-(p + arm)[2], 0)
        rays = [ca.vertcat(0.7 * np.cos(a), 0.7 * np.sin(a), 1) for a in 2 * np.pi * np.arange(6) / 6]
        return ca.horzcat(*[strength * depth**3 * ca.vertcat(ray, ca.cross(arm, ray)) for ray in rays])

    x = state(0.01)
    own = Simulator(block(), [ExternalWrench("box", columns, 6, parameters={"strength": 1e6}, name="own")])
    built_in = Simulator(block(), [MDPContact("box", CORNERS[0], name="own")])
    for sim in (own, built_in):
        sim.set_parameter("contacts.own.strength", 2e6)
    for one, other in zip(own.simulate(DT, x, Dqdq=True), built_in.simulate(DT, x, Dqdq=True)):
        assert one is None or np.allclose(one, other, atol=1e-9)
    assert np.allclose(own.contact_forces(DT, x)["own"][:3], built_in.contact_forces(DT, x)["own"], atol=1e-9)


def test_opposite_forces_between_two_bodies() -> None:
    """A ball on the pendulum touches a plane on the block: momentum changes by gravity alone."""
    inside = MDPContact("tip", radius=0.02, surface=Plane((-1, 0, 0, 0.0), body="box"), strength=1e5, name="stop")
    sim, model, x = Simulator(block(), [inside]), block(), state(-1.0)
    x[7], x[14] = 0.1, 2.0  # the arm turns into the block
    data = model.createData()
    assert np.abs(sim.contact_forces(DT, x)["stop"]).max() > 0.1
    free, after = (each.velocity_after(DT, x) for each in (Simulator(block()), sim))
    assert np.abs(after - free).max() > 1e-5
    momenta = [pin.computeCentroidalMomentum(model, data, x[:8], v).vector.copy() for v in (free, after)]
    assert np.allclose(*momenta, atol=1e-12)


@pytest.mark.parametrize("mode", ["BACKWARD_RK1F", "INVERSE_BACKWARD_RK1F", "BACKWARD_RK1I"])
def test_backward_steps_solve_their_equation(mode: str) -> None:
    sim, x = simulator(mode), state(0.01, speed=0.3)
    after, forces = sim.step(DT, x)
    residual = sim.simulate(DT, np.concatenate([after, x[8:]]))[0]
    assert np.abs(residual).max() < (1e-5 if mode.startswith("INVERSE") else 1e-8)
    assert np.allclose(after[:8], pin.integrate(block(), x[:8], DT * after[8:]), atol=1e-9)
    assert sum(force[2] for force in forces.values()) > 0


@pytest.mark.parametrize("mode", MODES)
def test_repr_and_errors_name_the_mode_and_its_sizes(mode: str) -> None:
    sim = simulator(mode)
    assert mode in repr(sim)
    with pytest.raises(InvalidArgumentError, match=f"qdq: expected shape .*{mode} takes"):
        sim.simulate(DT, np.zeros(3))


def test_wrong_arguments_are_refused() -> None:
    sim, x = simulator(), state(0.01)
    wrong = [
        (lambda: sim.simulate(0.0, x), "dt: expected"),
        (lambda: sim.simulate(DT, np.full(15, np.nan)), "qdq: expected finite"),
        (lambda: sim.simulate(DT, np.zeros(15)), "quaternion"),
        (lambda: sim.simulate(DT, x, np.zeros(3)), "tau: expected shape"),
        (lambda: sim.simulate(DT, x, Dqdq="yes"), "Dqdq"),
        (
            lambda: sim.simulate_batched(DT, [x, x], [np.zeros(7)]),
            r"taus: expected 2 torque vectors \(nv,\), one for each row of qdqs, got 1",
        ),
        (lambda: sim.simulate_batched(DT, [x, x[:-1]]), r"qdqs\[1\]: expected shape"),
        (lambda: sim.simulate_batched(DT, []), "qdqs: expected at least one state"),
        (lambda: sim.simulate_batched(DT, np.array(1.0)), "qdqs: expected a list of states"),
        (lambda: sim.set_PD_controller(-1.0, 1.0), "kp: expected"),
        (lambda: sim.set_floor([0, 0, 0, 1], ["tip"]), "normal"),
        (lambda: sim.set_floor([0, 0, 1, 0], [3]), "end_effectors: expected names of frames"),
        (lambda: sim.set_parameter("barrier_weight", 0.0), "barrier_weight: expected"),
        (lambda: Simulator(block(), mode="RK5"), "mode: expected one of"),
        (lambda: Simulator(block(), mode="RK2I"), r"got 'RK2I'; did you mean FORWARD_RK2I\?"),
        (lambda: Simulator(block(), mode="RK1F"), r"got 'RK1F'; did you mean FORWARD_RK1F\?"),
        (lambda: sim.controller_torque([0.0]), "x: expected shape"),
        (lambda: sim.rollout(x, steps=10**9), "steps: expected an integer <= 1000000"),
        (lambda: sim.simulate_batched(DT, [x], Dqdqs=np.ones(2)), "Dqdqs: expected True or False"),
        (lambda: sim.simulate_batched(DT, [x], np.ma.masked_array(np.zeros((1, 6)), True)), "taus"),
        (lambda: Simulator(block(), barrier_weight=1.0, v_tol=-1.0), "v_tol: expected"),
        (lambda: Simulator(block(), variant="other"), "variant: expected one of"),
        (lambda: Simulator(block(), [3]), "contacts: expected MDPContact"),
        (lambda: Simulator(block(), [MDPContact("universe")]), "fixed to the world"),
        (lambda: simulator("INVERSE_I").simulate(DT, whole_input(simulator("INVERSE_I"), 0.0), np.zeros(7)), "tau:"),
        (lambda: simulator("FORWARD_I").step(DT, x), "mode: expected one that steps a state"),
    ]
    for call, message in wrong:
        with pytest.raises(InvalidArgumentError, match=message):
            call()
    with pytest.raises(UnknownNameError, match="parameter"):
        sim.set_parameter("contacts.corner9.friction", 0.1)
    with pytest.raises(UnknownNameError, match=r"parameter 'friction' not found; did you mean 'contacts\."):
        sim.set_parameter("friction", 0.1)
    with pytest.raises(UnknownNameError, match="parameter"):
        sim.set_parameter({}, 0.1)
    with pytest.raises(ImmutableError, match="no such attribute"):
        sim.friction = 0.1
    with pytest.raises(UnknownAttributeError, match=r"did you mean set_PD_controller"):
        sim.set_pd_controller(1.0, 1.0)
    with pytest.raises(UnknownNameError, match="frame"):
        Simulator(block(), [MDPContact("nose")])
    with pytest.raises(DuplicateNameError, match="two contacts have the name 'box'"):
        Simulator(block(), [MDPContact("box"), MDPContact("box")])


@pytest.mark.parametrize("mode", ["FORWARD_RK1F", "INVERSE_I"])
def test_rows_of_an_array_are_checked_as_single_ones(mode: str) -> None:
    """In one pass over the array; then the row that is wrong is named."""
    sim = simulator(mode)
    good = np.array([whole_input(sim, 0.01, seed) for seed in range(5)])
    places = [(2, np.nan, "expected finite numbers"), (5, 3.0, "expected the quaternion"), (14, np.inf, "finite")]
    for place, value, message in [*places, (good.shape[1] - 1, np.nan, "expected finite numbers")]:
        rows = good.copy()
        rows[3, place] = value
        with pytest.raises(InvalidArgumentError, match=rf"qdqs\[3\]: .*{message}"):
            sim.simulate_batched(DT, rows)
    taus = np.zeros((5, 7))
    taus[4, 6] = np.nan
    with pytest.raises(InvalidArgumentError, match=r"taus\[4\]: expected finite|taus\[0\]: expected None"):
        sim.simulate_batched(DT, good, taus)
    turned = good.copy()
    turned[:, 3:7] *= 1 + 5e-7
    assert np.isfinite(sim.simulate_batched(DT, turned)[0]).all()


def test_a_failure_names_residual_and_state() -> None:
    sim, x = simulator(), state(0.01)
    sim.set_parameter("tolerance", 1e-300)
    with pytest.raises(ModelEvaluationError, match=r"state 0: .* did not converge \(residual .*\) at qdq = "):
        sim.simulate(DT, x)


def test_a_diverging_motion_is_reported_with_the_cure() -> None:
    sim, x = simulator(), state(0.01)
    x[-6:] = 1e200
    with pytest.raises(ModelEvaluationError, match="the motion diverges: use a smaller dt, or smaller gains"):
        sim.simulate(DT, x)


def test_more_bits_agree_with_doubles() -> None:
    x = state(0.01)
    found = [simulator(accuracy=bits).simulate(DT, x, Dqdq=True) for bits in (64, 128, 200)]
    assert np.abs(found[0][1] - found[2][1]).max() < 1e-11 * max(1.0, np.abs(found[2][1]).max())
    assert np.array_equal(found[1][1], found[2][1])
