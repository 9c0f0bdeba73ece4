"""Integrators ask for the control at each stage: a parametrization is one class."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from casadi import SX

import trajopt
from tests.support.model_list import ACTIONS, DIFFERENTIALS
from tests.support.slow_twin import assert_close, central_differences
from trajopt.actions.control import ControlParametrizationAbstract, ControlParametrizationPolyZero
from trajopt.actions.expansion import StageExpansion
from trajopt.actions.integrated import base
from trajopt.kernels import Program
from trajopt.kernels.steps import Array

Reals = npt.NDArray[np.float64]


class Ramp(ControlParametrizationAbstract):
    """u = (1 - c) w0 + c w1, with w = (w0, w1)."""

    def __init__(self, nu: int) -> None:
        super().__init__(2 * nu, nu)

    def bounds(self, bounds: Reals) -> Reals:
        return np.tile(bounds, 2)

    def names(self, names: list[str]) -> list[str]:
        return [f"{name} at the {place}" for place in ("start", "end") for name in names]

    def units(self, units: list[str]) -> list[str]:
        return 2 * units

    def expression(self, w: SX, c: float) -> SX:
        return self.derivative(c) @ w

    def derivative(self, c: float | SX) -> SX:
        return ca.horzcat((1 - c) * SX.eye(self.nu), c * SX.eye(self.nu))

    def value(self, program: Program, w: Array, c: float) -> Array:
        symbol = SX.sym("w", self.nw)
        return program.call(ca.Function("ramp", [symbol], [self.expression(symbol, c)]), w)[0]

    def chain(self, program: Program, e: StageExpansion, c: float) -> StageExpansion:
        n = e.H.shape[0] - self.nu
        (Z,) = program.call(ca.Function("by_w", [], [ca.diagcat(SX.eye(n), self.derivative(c))]))
        H = program.matmul(Z, program.matmul(e.H, Z), transpose_a=True)
        g = program.matmul(Z, e.g, transpose_a=True)
        return StageExpansion(f=e.f, Df=program.matmul(e.Df, Z), cost=e.cost, g=g, H=H)


@pytest.mark.parametrize("kind", [trajopt.IntegratedActionModelEuler, trajopt.IntegratedActionModelRK4])
@pytest.mark.parametrize("name", ["pendulum", "ball"])
def test_a_control_that_changes_within_a_step(kind: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "ControlParametrizationPolyZero", Ramp)
    model = kind(DIFFERENTIALS[name](), dt=0.1)
    state, n, half = model.state, model.state.ndx, model.nu // 2
    assert half == model.differential.nu
    data, probe, rng = model.create_data(), model.create_data(), np.random.default_rng(0)
    x, w = state.rand(1), rng.normal(size=model.nu)
    model.calc(data, x, w)
    model.calc_diff(data, x, w)

    def moved(z: Any) -> Any:
        model.calc(probe, state.integrate(x, z[:n]), w + z[n:])
        return np.append(state.difference(data.xnext, probe.xnext), probe.cost)

    J = central_differences(moved, n + model.nu)
    assert_close(np.hstack([data.Fx, data.Fu]), J[:-1])
    assert_close(np.concatenate([data.Lx, data.Lu]), J[-1])
    assert np.abs(data.Fu[:, half:]).max() > 0.01 or kind is trajopt.IntegratedActionModelEuler


def test_a_ramp_without_slope_is_a_constant_control(monkeypatch: pytest.MonkeyPatch) -> None:
    constant: Any = ACTIONS["rk4-ball"]()
    assert isinstance(constant.control, ControlParametrizationPolyZero)
    monkeypatch.setattr(base, "ControlParametrizationPolyZero", Ramp)
    ramp: Any = ACTIONS["rk4-ball"]()
    x, u = constant.state.rand(1), np.array([0.3, -0.2, 0.5])
    one, two = constant.create_data(), ramp.create_data()
    constant.calc(one, x, u)
    ramp.calc(two, x, np.tile(u, 2))
    assert_close(two.xnext, one.xnext, 1e-14)
    assert two.cost == pytest.approx(one.cost, rel=1e-14)
