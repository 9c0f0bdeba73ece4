"""Contact models and impulses as numbers: values for any parameters, and derivatives for their first ones."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from tests.support.contact_robots import Reals
from tests.support.slow_twin import assert_close, central_differences


class Motion:
    """Acceleration (nv,) of a contact model, or velocity (nv,) after an impulse, and forces by name."""

    def __init__(self, model: Any) -> None:
        self.model = model
        instant = model.instant()
        forces = model.forces(instant)
        self._names = list(forces)
        node = model.node(instant)
        motion = node.insert({"motion": node.motion})["motion"]
        symbols = [instant.x, instant.u, model.layout.symbols]
        self._function = ca.Function("motion", symbols, [motion, *forces.values()])

    def __call__(self, x: Reals, u: Reals | None = None, **given: Any) -> tuple[Reals, dict[str, Reals]]:
        """Parameters by name, with "__" in place of dots."""
        named = {name.replace("__", "."): value for name, value in given.items()}
        control = np.zeros(self.model.nu) if u is None else u
        results = self._function.call([x, control, self.model.layout.column(named)])
        motion, *forces = (np.array(r.full()).ravel() for r in results)
        return motion, dict(zip(self._names, forces))


def assert_same_motion(
    got: tuple[Reals, dict[str, Reals]], expected: tuple[Reals, dict[str, Reals]], tolerance: float = 1e-10
) -> None:
    """Motions and the forces that both have, within a tolerance relative to the largest."""
    assert_close(got[0], expected[0], tolerance, "motion")
    for name in got[1].keys() & expected[1].keys():
        assert_close(got[1][name], expected[1][name], tolerance, name)


def assert_derivatives(model: Any, x: Reals, u: Reals) -> None:
    """F and the gradient of the cost by central differences, of a differential model or an impulse."""
    state, n = model.state, model.state.ndx
    data, probe = model.create_data(), model.create_data()
    model.calc(data, x, u)
    model.calc_diff(data, x, u)
    origin = data.xnext.copy()

    def moved(z: Reals) -> Reals:
        model.calc(probe, state.integrate(x, z[:n]), u + z[n:])
        same = len(origin) == n
        change = probe.xnext - origin if same else state.difference(origin, probe.xnext)
        return np.append(change, probe.cost)

    J = central_differences(moved, n + model.nu)
    assert_close(np.hstack([data.Fx, data.Fu]), J[:-1], what="F")
    assert_close(np.concatenate([data.Lx, data.Lu]), J[-1], what="gradient")
