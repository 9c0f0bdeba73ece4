"""Stops of joints: where a joint comes to rest and when, energy, derivatives, and robots that fall."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import quad

from tests.simulator.cases import chain, quadruped
from tests.simulator.twin_mechanisms import PlanarChain
from tests.support.slow_twin import directions
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.robots import load_robot
from trajopt.simulator import Simulator
from trajopt.simulator.joint_stops import REACH

DT = 1e-3
LENGTH, MASS = 0.5, 1.0
INERTIA = MASS * LENGTH**2 / 3
STOP = -1.2  # angle of the pendulum's stop; it turns from x to z [rad]


@cache
def pendulum(mode: str = "FORWARD_RK1F", *, gravity: bool = True, weight: float = 0.01) -> Simulator:
    """A rod that falls on a stop 1.2 rad below the horizontal."""
    model = PlanarChain((LENGTH,), (MASS,)).model()
    if not gravity:
        model.gravity = pin.Motion.Zero()
    return Simulator(model, mode=mode, barrier_weight=weight, joint_stops={model.names[1]: (STOP, np.inf)})


def load(q: float) -> float:
    """Torque of gravity on the rod, which turns it downwards [N m]."""
    return MASS * 9.81 * LENGTH / 2 * np.cos(q)


@pytest.mark.parametrize("mode", ["FORWARD_RK1F", "BACKWARD_RK1F"])
def test_a_pendulum_falls_on_its_stop_and_rests(mode: str) -> None:
    """It arrives after ∫ dq / q̇(q), and rests where the barrier carries it: (φ / dt) (τ dt) = β dt."""
    sim, start, near = pendulum(mode), -1.0, STOP + 0.02  # [rad/s, rad]
    q, v = sim.rollout([0.0, start], steps=600, dt=DT).xs.T
    arrived = int(np.flatnonzero(q < near)[0])
    fall, _ = quad(lambda a: 1 / np.sqrt(start**2 + 2 / INERTIA * load(0.0) * np.sin(a)), 0, -near)
    assert abs(arrived * DT - fall) < 2 * DT
    assert v[arrived] < -5.0
    assert v[arrived + 12] > -0.1
    assert q.min() > STOP
    assert abs(v[-1]) < 1e-12
    assert q[-1] - STOP == pytest.approx(0.01 * DT / load(q[-1]), rel=1e-6)


def test_energy_never_rises_at_a_stop() -> None:
    """Without gravity the rod loses all but what the barrier adds, at most β [W], and leaves slowly or not at all."""
    sim = pendulum(gravity=False)
    v = sim.rollout([0.0, -8.0], steps=400, dt=DT).xs[:, 1]
    energy = INERTIA * v**2 / 2
    hit = np.flatnonzero(energy < 0.5 * energy[0])[0]
    assert energy[0] >= energy[hit - 1] > 0.99 * energy[0]
    assert energy[hit + 1] < 1e-4 * energy[0]
    assert np.diff(energy).max() <= 0.01 * DT


def test_a_joint_beyond_its_limit_may_come_back_and_is_not_thrown() -> None:
    sim = pendulum()
    assert abs(sim.simulate(DT, [STOP - 0.3, -2.0])[0][1]) < 0.05
    back = sim.simulate(DT, [STOP - 0.3, 2.0])[0][1]
    assert back == pytest.approx(2.0 - load(STOP - 0.3) / INERTIA * DT, rel=1e-2)


@cache
def legged(*, stops: bool) -> Simulator:
    case = quadruped()
    return case.simulator(joint_stops=stops)


@pytest.mark.slow
def test_energy_bound_with_contacts(rng: np.random.Generator) -> None:
    """½ v̂ᵀHv̂ ≤ ½ v_freeᵀHv_free + μ (Σ n + 1) at any state, as of contacts alone."""
    case, sim = quadruped(), legged(stops=True)
    model = case.mechanism.model()
    lower, upper = model.lowerPositionLimit[7:], model.upperPositionLimit[7:]
    rays = sum(s.rays + 1 for s in case.spheres) + 3 * len(sim.model.stops)
    bound = 2e-3 * float(sim.model.parameters()["barrier_weight"].default) * rays
    for scale in (0.1, 1.0, 20.0):
        q, v = case.q.copy(), scale * rng.normal(size=model.nv)
        q[7:] = np.where(rng.uniform(size=12) < 0.5, lower, upper) + 1e-3 * rng.normal(size=12)
        H = np.array(pin.crba(model, model.createData(), q))
        H = np.triu(H) + np.triu(H, 1).T
        free = v + 2e-3 * pin.aba(model, model.createData(), q, v, np.zeros(model.nv))
        after = sim.simulate(2e-3, np.concatenate([q, v]))[0][model.nq :]
        assert after @ H @ after <= free @ H @ free + 2 * bound


def test_legs_of_a_robot_that_falls_stay_within_their_limits() -> None:
    """On its side; without stops knees bend by radians through themselves."""
    case = quadruped()
    x0, model = case.x, case.mechanism.model()
    x0[2] += 0.2
    x0[3:7] = np.array([0.5, 0.3, 0.1, 0.8]) / np.linalg.norm([0.5, 0.3, 0.1, 0.8])
    lower, upper = model.lowerPositionLimit[7:], model.upperPositionLimit[7:]
    beyond = []
    for stops in (True, False):
        q = legged(stops=stops).rollout(x0, steps=400, dt=2e-3).xs[:, 7 : model.nq]
        beyond.append(max((lower - q).max(), (q - upper).max()))
    assert beyond[0] <= 1e-12
    assert beyond[1] > 0.5


# Derivatives


@cache
@cache
def stopped_chain(**options: object) -> Simulator:
    """Three rods with contacts, whose joints are near, at and far from a limit."""
    case = chain()
    names = list(case.mechanism.model().names)[1:]
    bounds = [(-0.302, 0.5), (-np.inf, -0.598), (-1.5, 0.8)]
    return case.simulator(joint_stops=dict(zip(names, bounds)), **options)


STATES = {
    "far": ([-0.29, -0.62, -0.5], 1.0, 5e-5),
    "switching": ([-0.29, -0.62, -0.5], 1.0, 1e-4),
    "near": ([-0.3, -0.6, -0.5], 1.0, DT),
    "fast": ([-0.3, -0.6, -0.5], 8.0, DT),
}
"""Angles, how fast they are, and dt [s]; both spheres touch."""


def state_of(name: str) -> tuple[np.ndarray, float]:
    """A state, and its dt."""
    q, speed, dt = STATES[name]
    return np.concatenate([q, speed * np.array([-0.5, 1.0, 0.7])]), dt


@pytest.mark.parametrize("mode", ["FORWARD_RK1F", "BACKWARD_RK1F", "INVERSE_BACKWARD_RK1F"])
@pytest.mark.parametrize("name", STATES)
def test_derivatives_with_contacts(name: str, mode: str) -> None:
    """Doubles against central differences of 128 bits, and against derivatives of 128 bits."""
    sim, exact = stopped_chain(mode=mode), stopped_chain(mode=mode, accuracy=128)
    x, dt = state_of(name)
    if "BACKWARD" in mode:
        x = np.append(x, x[3:] + np.array([0.2, -0.3, 0.1]))
    tau = np.array([-3.0, 2.0, 0.3])
    value, by_x, by_tau = sim.simulate(dt, x, tau, Dqdq=True, Dtau=True)
    value_128, by_x_128, by_tau_128 = exact.simulate(dt, x, tau, Dqdq=True, Dtau=True)
    step, n = 1e-7, len(x)
    along = np.sqrt(n + 3) * directions(n + 3)  # ±1
    ends = [[exact.simulate(dt, x + d[:n], tau + d[n:])[0] for d in (step * e, -step * e)] for e in along.T]
    numeric = np.array([after - before for after, before in ends]).T / (2 * step)
    scale = max(1.0, np.abs(by_x_128).max())
    assert np.abs(value - value_128).max() < 1e-11 * max(1.0, np.abs(value).max())
    assert np.abs(by_x - by_x_128).max() < 1e-10 * scale
    assert np.abs(by_tau - by_tau_128).max() < 1e-10 * scale
    assert np.abs(np.hstack([by_x, by_tau]) @ along - numeric).max() < 1e-6 * scale


def test_stops_push() -> None:
    """The states above are of use: contacts push, and stops change what comes out of all but the one that is far."""
    free = chain().simulator()
    for name in STATES:
        x, dt = state_of(name)
        change = np.abs(stopped_chain().simulate(dt, x)[0] - free.simulate(dt, x)[0]).max()
        assert (change == 0.0) == (name == "far")
        assert all(force[2] > 0.1 for force in stopped_chain().contact_forces(dt, x).values())


def test_the_switch_is_smooth() -> None:
    """Where a stop is switched on, it changes neither the step nor its derivative at once."""
    sim, free, dt, changes = stopped_chain(), chain().simulator(), 5e-5, []
    for each in (sim, free):
        each.set_parameter("barrier_weight", 2e-3)
    for distance in (1.0 + 1e-6, 1.0 - 1e-6, 0.7):
        x = np.array([-0.302 + REACH * dt * distance, -0.62, -0.5, -0.5, 1.0, 0.7])
        pairs = zip(sim.simulate(dt, x, Dqdq=True)[:2], free.simulate(dt, x, Dqdq=True)[:2])
        changes.append(max(np.abs(a - b).max() for a, b in pairs))
    assert changes[0] == 0.0
    assert changes[1] < 1e-9 < 1e-6 < changes[2]


@pytest.mark.slow
def test_batches_have_the_bits_of_single_states(rng: np.random.Generator) -> None:
    """Lanes near their stops and lanes far from them, side by side."""
    sim, free, model = legged(stops=True), legged(stops=False), quadruped().mechanism.model()
    lower = model.lowerPositionLimit[7:]
    x = np.tile(quadruped().x, (13, 1))
    x[:, model.nq :] = rng.normal(size=(13, model.nv))
    for i in (1, 4, 5, 12):
        x[i, 7 + i % 12] = lower[i % 12] + 1e-4
    got = sim.simulate_batched(DT, x, Dqdqs=True, Dtaus=True)
    plain = free.simulate_batched(DT, x, Dqdqs=True, Dtaus=True)
    for i, row in enumerate(x):
        alone = sim.simulate(DT, row, Dqdq=True, Dtau=True)
        assert all(np.array_equal(a[i], b) for a, b in zip(got, alone))
        same = [np.array_equal(a[i], b[i]) for a, b in zip(got, plain)]
        assert all(same) == (i not in (1, 4, 5, 12))


# Arguments


def test_joints_that_have_stops() -> None:
    model = quadruped().mechanism.model()
    names = [stop.name for stop in legged(stops=True).model.stops]
    assert names == list(model.names)[2:]
    some = Simulator(model, joint_stops=["lf_kfe"]).model.stops
    assert [(s.name, s.lower, s.upper) for s in some] == [("lf_kfe", -2.6, -0.3)]
    assert Simulator(model).model.stops == ()
    kept = pickle.loads(pickle.dumps(Simulator(model, joint_stops=["lf_kfe"]))).copy()
    kept.set_floor([0, 0, 1, 0], ["lf_foot"])
    assert [s.name for s in kept.model.stops] == ["lf_kfe"]


@pytest.mark.parametrize(
    ("stops", "message"),
    [
        ("lf_kfe", "joint_stops: expected True, False, names"),
        (3, "joint_stops: expected True, False, names"),
        (["lf_kfe", "lf_kfe"], "joint_stops: expected each joint once"),
        ({"lf_kfe": (1.0, -1.0)}, r"joint_stops\['lf_kfe'\]: expected lower < upper"),
        ({"lf_kfe": (-np.inf, np.inf)}, "at least one finite"),
        ({"lf_kfe": 1.0}, r"joint_stops\['lf_kfe'\]: expected 2 bounds"),
    ],
)
def test_wrong_stops(stops: object, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Simulator(quadruped().mechanism.model(), joint_stops=stops)  # type: ignore[arg-type]


def test_stops_of_unknown_joints_and_in_other_modes_are_refused() -> None:
    model = quadruped().mechanism.model()
    with pytest.raises(UnknownNameError, match="lf_kfe"):
        Simulator(model, joint_stops=["lf_kfee"])
    with pytest.raises(UnknownNameError):
        Simulator(model, joint_stops={"root_joint": (-1.0, 1.0)})
    with pytest.raises(InvalidArgumentError, match="expected None for FORWARD_RK1I, got stops"):
        Simulator(model, mode="FORWARD_RK1I", joint_stops=True)
    free = load_robot("double-pendulum")
    with pytest.raises(InvalidArgumentError, match="expected joints with limits"):
        Simulator(free, joint_stops=list(free.joint_names))
