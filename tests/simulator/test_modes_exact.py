"""Every mode's value and derivatives against 60-digit arithmetic.

Bound 1e-9, of derivatives along random directions relative to max(1, |J|); values are held to 1e-9 relative to
max(1, |value|), since residuals of the backward modes are forces of a thousand newtons. The twin's own errors are
below 1e-25.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt
import pytest

from tests.simulator.cases import EXACT_CASES, Case
from tests.simulator.twin import MODES
from tests.simulator.twin_numbers import doubles, exact
from tests.support.slow_twin import directions

Reals = npt.NDArray[np.float64]

BOUND = 1e-9
DT, V_TOL = 2e-3, 2e-3  # [s], [m/s]; rounding of the limit level grows with 1 / β
VARIANTS = {mode: ("projected", "readme", "source") for mode in MODES if mode.endswith(("RK1I", "RK2I", "RK4I"))}
WAYS = [
    *((mode, {}) for mode in MODES if mode not in VARIANTS or mode.startswith("BACKWARD")),
    *((mode, {"variant": v}) for mode, all_of in VARIANTS.items() if mode.startswith("FORWARD") for v in all_of),
]
SLOW = {("FORWARD_RK4I", "readme"), ("FORWARD_RK4I", "source"), ("FORWARD_RK2I", "readme")}
"""Ways that take the twin many programs of 60 digits: on the box a minute, so that it goes without."""

MECHANISMS = ("hilly", "folded", "box")
"""A mass on a curved surface, an arm that touches itself, and a free body; modes see nothing of other contacts."""

ALL = [(n, m, o) for n in MECHANISMS for m, o in WAYS if n != "box" or (m, o.get("variant")) not in SLOW]
STATES = {"touching": 1.0, "sliding": 10.0, "slow": 0.01}
"""Factors of a case's velocity; `test_many_states_modes` has all kinds of contact in every mode."""

EVERY_STATE = "folded"
"""Case whose contacts touch, slide and creep in every mode: friction is the same code in all cases."""


def arguments(case: Case, mode: str) -> tuple[Reals, Reals]:
    """[q, v, ...] as a mode takes it, and torques."""
    rng = np.random.default_rng(3)
    tau, more = rng.normal(size=(2, case.mechanism.nv))
    longer = mode.startswith(("INVERSE", "BACKWARD"))
    return (np.concatenate([case.x, more]) if longer else case.x), tau


def with_speed(name: str, state: str) -> Case:
    """A case with another velocity."""
    case = EXACT_CASES[name]()
    return case.at(case.q, STATES[state] * case.v)


def along(case: Case, mode: str) -> Reals:
    """Columns (n, k) of ±1, or all axes of a few, along which derivatives by state and torque are compared."""
    n = (3 if mode.startswith(("INVERSE", "BACKWARD")) else 2) * case.mechanism.nv + case.mechanism.nv
    columns = directions(n)
    return columns / np.abs(columns).max()


@functools.cache
def reference(name: str, state: str, mode: str, options: tuple[tuple[str, str], ...]) -> tuple[Reals, Reals]:
    """Value of the twin, and its derivatives times the columns of `along`, rounded."""
    case = with_speed(name, state)
    x, tau = map(exact, arguments(case, mode))
    twin = case.twin(v_tol=V_TOL)
    value = twin.step(mode, DT, x, tau, **dict(options))
    return doubles(value), doubles(twin.jacobian(mode, DT, x, tau, along(case, mode), **dict(options)))


@pytest.mark.parametrize(("name", "mode", "options"), ALL, ids=["-".join([n, m, *o.values()]) for n, m, o in ALL])
def test_values_and_derivatives(name: str, mode: str, options: dict[str, str]) -> None:
    slow = name != EVERY_STATE or (mode, options.get("variant")) in SLOW
    states = ("touching",) if slow else tuple(STATES)
    for state in states:
        case = with_speed(name, state)
        x, tau = arguments(case, mode)
        takes_torque = mode not in ("INVERSE_I", "INVERSE_LF")
        simulator = case.simulator(mode, v_tol=V_TOL, **options)
        value, Dqdq, Dtau = simulator.simulate(DT, x, tau if takes_torque else None, Dqdq=True, Dtau=takes_torque)
        J = np.hstack([Dqdq, Dtau if takes_torque else np.zeros((len(Dqdq), len(tau)))])
        wanted, products = reference(name, state, mode, tuple(options.items()))
        size = np.abs(J).max()
        for what, found, right, largest in (
            ("value", value, wanted, np.abs(wanted).max()),
            ("derivatives", J @ along(case, mode), products, size),
        ):
            assert found.shape == right.shape, what
            error = np.abs(found - right).max() / max(1, largest)
            assert error <= BOUND, f"{state}, {what}: off by {error:.1e}"
