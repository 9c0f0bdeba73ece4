"""Models with constraint rows at the stages of their integrators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import trajopt

One, Parabola = trajopt.ControlParametrizationPolyOne, trajopt.ControlParametrizationPolyTwoRK


def stage_actions(differentials: Mapping[str, Callable[[], Any]]) -> dict[str, Callable[[], Any]]:
    """Action models by name, from continuous-time models by name."""

    def rk(name: str, tableau: str, control: Any = None) -> Callable[[], Any]:
        def make() -> trajopt.IntegratedActionModelRK:
            d, method = differentials[name](), getattr(trajopt.Tableau, tableau)
            of_step = None if control is None else control(d.nu)
            return trajopt.IntegratedActionModelRK(d, 0.05, tableau=method, control=of_step, rows="stages")

        return make

    def implicit(name: str, method: str) -> Callable[[], Any]:
        return lambda: trajopt.IntegratedActionModelImplicit(differentials[name](), 0.05, method=method, rows="stages")

    return {
        "rk4-stages-constrained-pendulum": rk("constrained-pendulum", "CLASSICAL"),
        "rk4-stages-constrained-planar-2r": rk("constrained-planar-2r", "CLASSICAL"),
        "rk4-stages-constrained-drone": rk("constrained-drone", "CLASSICAL"),
        "rk4-stages-contact-constrained": rk("contact-constrained", "CLASSICAL"),
        "rk4-stages-linear-constrained-pendulum": rk("constrained-pendulum", "CLASSICAL", One),
        "rk4-stages-linear-contact-constrained-forces": rk("contact-constrained-forces", "CLASSICAL", One),
        "rk4-stages-parabola-constrained-drone": rk("constrained-drone", "CLASSICAL", Parabola),
        "rk-kutta-stages-constrained-planar-2r": rk("constrained-planar-2r", "KUTTA"),
        "rk-heun-stages-constrained-pendulum": rk("constrained-pendulum", "HEUN", One),
        "rk-midpoint-stages-contact-constrained-forces": rk("contact-constrained-forces", "MIDPOINT"),
        "implicit-midpoint-stages-constrained-pendulum": implicit("constrained-pendulum", "midpoint"),
        "implicit-midpoint-stages-contact-constrained": implicit("contact-constrained", "midpoint"),
        "implicit-midpoint-stages-constrained-planar-2r": implicit("constrained-planar-2r", "midpoint"),
        "implicit-euler-stages-constrained-drone": implicit("constrained-drone", "euler"),
    }
