"""Every mode of whole robots against the simulator's own program in 200 bits: 60 digits.

The same expressions run in other arithmetic, so values tell the rounding of compiled doubles, and central differences
with steps of 1e-20 tell the derivatives, to 1e-9 relative to max(1, |J|), along a random direction in each state:
a wrong element of J shows in all of them. That the program is the right one is what `test_modes_exact` and `test_twin`
say.
"""

from __future__ import annotations

import functools
from typing import Any

import gmpy2
import numpy as np
import pytest

from tests.simulator.cases import Case, two_legs
from tests.simulator.test_modes_exact import WAYS
from tests.simulator.twin import STEPS
from trajopt.kernels.precision import HighPrecision, to_float64
from trajopt.simulator import Simulator
from trajopt.simulator.programs import values_program

BOUND = 1e-9
DT = 2e-3  # [s]
HIGH = HighPrecision(200)
TOLERANCE = (
    1e-27  # relative step at which the iteration ends: its square is what is left, and differences divide by 1e-20
)


def states() -> dict[str, Case]:
    """A robot that stands, lands, or slides with two feet off the ground."""
    case, rng = two_legs(), np.random.default_rng(4)
    nv = case.mechanism.nv
    landing = 0.3 * rng.normal(size=nv)
    landing[2] = -1.0
    sliding = 0.5 * rng.normal(size=nv)
    sliding[0] = 6.0
    tilted = case.q.copy()
    tilted[2] -= 0.005
    tilted[3:7] = [0.0, np.sin(0.03), 0.0, np.cos(0.03)]
    return {"standing": case, "landing": case.at(case.q, landing), "sliding": case.at(tilted, sliding)}


@functools.lru_cache(maxsize=1)
def simulator_of(mode: str, options: tuple[tuple[str, str], ...]) -> Simulator:
    """The robot's simulator, which all states of a mode share: its program is read once."""
    return two_legs().simulator(mode, **dict(options))


def evaluated(simulator: Simulator, x: Any, tau: Any) -> Any:
    """The result of the mode in 200 bits."""
    m = simulator.model
    parameters = m.layout.column({"dt": DT, "tolerance": TOLERANCE})
    result, *_, status = values_program(m, controlled=False).evaluate(x, tau, parameters, numbers=HIGH)
    assert status[0, 0] == 0
    return result[:, 0]


def moved(x: Any, direction: Any, h: Any) -> Any:
    """(q, v, ...) along a direction of the tangent space, from a free flyer's q, to second order in h."""
    d = [h * float(c) for c in direction]
    px, py, pz, w = x[3:7]
    u, (a, b, c) = np.array(d[:3]), d[3:6]
    r = np.array([px, py, pz])
    t = 2 * np.cross(r, u)
    new = x.copy()
    new[:3] = x[:3] + u + w * t + np.cross(r, t)
    turn = [w * a + py * c - pz * b, w * b + pz * a - px * c, w * c + px * b - py * a, -px * a - py * b - pz * c]
    new[3:7] = x[3:7] + np.array(turn) / 2
    new[7:] = x[7:] + np.array(d[6:])
    return new


STATES = ("standing", "landing", "sliding")
CASES = [
    pytest.param(mode, options, state, id="-".join([mode, *options.values(), state]))
    for way, (mode, options) in enumerate(WAYS)
    for state in (STATES if mode == "FORWARD_RK1F" else STATES[way % 3 : way % 3 + 1])
]
"""The modes share the contacts' code, so one of them is in each state, and the others in one of the states in turn."""


@pytest.mark.parametrize(("mode", "options", "state"), CASES)
def test_a_free_base_with_legs(mode: str, options: dict[str, str], state: str) -> None:
    case, rng = states()[state], np.random.default_rng(6)
    nq, nv = case.mechanism.nq, case.mechanism.nv
    tau, more = 3 * rng.normal(size=(2, nv))
    x = np.concatenate([case.x, more]) if mode.startswith(("INVERSE", "BACKWARD")) else case.x
    takes_torque = mode not in ("INVERSE_I", "INVERSE_LF")
    tau = tau if takes_torque else 0 * tau
    simulator = simulator_of(mode, tuple(options.items()))
    value, Dqdq, Dtau = simulator.simulate(DT, x, tau if takes_torque else None, Dqdq=True, Dtau=takes_torque)
    exact_x, exact_tau = (HIGH.array(a, a.shape) for a in (x, tau))
    right = to_float64(evaluated(simulator, exact_x, exact_tau))
    assert np.abs(value - right).max() <= BOUND * max(1, np.abs(right).max())
    first = nv if mode in STEPS else 0  # position rows follow from velocity rows: test_energy_and_momentum
    skipped = nq if mode in STEPS else 0
    J = np.hstack([Dqdq, Dtau]) if takes_torque else Dqdq
    d = rng.choice([-1.0, 1.0], size=J.shape[1])
    by_tau = d[Dqdq.shape[1] :] if takes_torque else np.zeros(nv)
    with HIGH.context():
        h = gmpy2.mpfr("1e-20")
        ends = []
        for side in (h, -h):
            torque = exact_tau + np.array([side * float(t) for t in by_tau])
            ends.append(evaluated(simulator, moved(exact_x, d[: Dqdq.shape[1]], side), torque))
        wanted = to_float64((ends[0] - ends[1]) / (2 * h))[skipped:]
    error = np.abs(J[first:] @ d - wanted).max() / max(1, np.abs(J).max())
    assert error <= BOUND, f"off by {error:.1e}"
