"""Backward modes: residuals whose root is the implicit step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from tests.simulator.cases import EXACT_CASES, Case, chain, two_legs
from tests.simulator.twin import Sphere, plane
from tests.simulator.twin_mechanisms import PlanarChain

DT = 1e-3


@pytest.mark.parametrize("name", [*EXACT_CASES, "two-legs"])
def test_force_residual_is_the_velocity_residual_times_mass(name: str, rng: np.random.Generator) -> None:
    """C_I = -H(q₊) C_F/dt exactly: to rounding of H and of the division by dt."""
    case = {**EXACT_CASES, "two-legs": two_legs}[name]()
    model = case.mechanism.model()
    H = np.array(pin.crba(model, model.createData(), case.q))
    H = np.triu(H) + np.triu(H, 1).T
    v, before, tau = rng.normal(size=(3, model.nv))
    x = np.concatenate([case.q, v, before])
    C_F, _, _ = case.simulator("BACKWARD_RK1F").simulate(DT, x, tau)
    C_I, _, _ = case.simulator("INVERSE_BACKWARD_RK1F").simulate(DT, x, tau)
    wanted = -H @ C_F / DT
    np.testing.assert_allclose(C_I, wanted, rtol=0, atol=1e-10 * max(1.0, np.abs(wanted).max()))


def implicit_step(simulator: Any, model: pin.Model, dt: float, x: np.ndarray) -> np.ndarray:
    """The root v₊ of C_F(q ⊕ dt v₊, v₊, v), by Newton's method with the mode's own derivatives."""
    q, v = x[: model.nq], x[model.nq :]
    after = v.copy()
    for _ in range(50):
        q_after = pin.integrate(model, q, dt * after)
        C, D, _ = simulator.simulate(dt, np.concatenate([q_after, after, v]), Dqdq=True)
        by_step = pin.dIntegrate(model, q, dt * after, pin.ArgumentPosition.ARG1)
        n = model.nv
        step = np.linalg.solve(dt * D[:, :n] @ by_step + D[:, n : 2 * n], -C)
        after = after + step
        if np.abs(step).max() < 1e-12:
            return np.concatenate([pin.integrate(model, q, dt * after), after])
    raise AssertionError(f"no root: the last step was {step}")


def pendulum() -> tuple[Case, pin.Model]:
    """Two rods that swing onto a floor, 0.6 m below the joint."""
    sphere = Sphere(frame="tool", radius=0.02, ground=plane(0, 0, 1, 0.6), strength=1e6)
    mechanism = PlanarChain((0.5, 0.4), (1.0, 0.8))
    case = Case(mechanism=mechanism, spheres=(sphere,), q=np.array([-0.2, -0.3]), v=np.zeros(2))
    return case, mechanism.model()


def test_implicit_steps_lose_energy() -> None:
    """A pendulum lands. What a step gains, as its local error may, is of order dt² or better."""
    case, model = pendulum()
    data, simulator, gains = model.createData(), case.simulator("BACKWARD_RK1F"), []
    for dt in (2e-3, 1e-3):
        x, energies = case.x, []
        for _ in range(round(0.6 / dt)):
            energies.append(pin.computeMechanicalEnergy(model, data, x[:2], x[2:]))
            x = implicit_step(simulator, model, dt, x)
        assert energies[-1] < energies[0] - 1.0  # [J]: the fall was stopped
        gains.append(max(np.diff(energies)))
    assert gains[1] < gains[0] / 3


def test_implicit_and_explicit_trajectories_meet() -> None:
    """Their difference is of order 1 in dt, in the air and while a tool slides: slope of regression within 0.2."""
    case, model = pendulum()
    backward, forward = case.simulator("BACKWARD_RK1F"), case.simulator("FORWARD_RK1F")
    differences, steps = [], [2e-3, 1e-3, 5e-4]
    for dt in steps:
        x = y = case.x
        for _ in range(round(0.2 / dt)):
            x, y = implicit_step(backward, model, dt, x), forward.simulate(dt, y)[0]
        differences.append(np.abs(x - y).max())
    assert np.polyfit(np.log(steps), np.log(differences), 1)[0] == pytest.approx(1, abs=0.2)


def test_the_root_is_the_forward_step_where_nothing_changes() -> None:
    """On a box at rest both give no motion; a chain's root satisfies the printed equation: C_F = 0 to 1e-11."""
    case = chain()
    model = case.mechanism.model()
    simulator = case.simulator("BACKWARD_RK1F")
    after = implicit_step(simulator, model, DT, case.x)
    residual, _, _ = simulator.simulate(DT, np.concatenate([after, case.v]))
    assert np.abs(residual).max() < 1e-11
    twin = case.twin().step("BACKWARD_RK1F", DT, np.concatenate([after, case.v]))
    assert np.abs(twin).max() < 1e-9
