"""The simulator once more, mode by mode, in plain numpy: doubles, or numbers of 60 digits.

    H(q) dv/dt + C(q, v) = τ + Σ J_fᵀ k_f B_f w_f          k = strength depthᵖ,  B = (b_1 … b_n),  b_j = n + μ_F t_j
    v̂ = MDP(q, v) = v + H⁻¹ D w,  D = scale Σ J_fᵀ k_f B_f,  w from `twin_barrier`

Free joints are stepped in world axes. Each mode is written as the list of modes has it (`MODES`); nothing is shared
with the simulator.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.simulator import twin_barrier
from tests.simulator.twin_mechanisms import GRAVITY, UP, Mechanism
from tests.simulator.twin_numbers import (
    HALF_DIGITS,
    Numbers,
    cos,
    cross,
    in_60_digits,
    is_exact,
    like,
    scalar,
    sin,
    skew,
    solve,
    sqrt,
    turn,
)
from tests.simulator.twin_runge_kutta import IMPULSE_STEPS, runge_kutta

REFERENCE_TIME = 1e-3  # [s] of the impulse level's barrier weight


@dataclass(frozen=True)
class Ground:
    """Free space as a distance and its gradient.

    Attributes:
        distance: φ(p), of p (3,) [m].
        gradient: ∇φ(p) (3,), of any length > 0; only its direction matters.
        given: The same as the simulator gets it.
    """

    distance: Callable[[Numbers], Any]
    gradient: Callable[[Numbers], Numbers]
    given: Any = None


def plane(a: float, b: float, c: float, d: float) -> Ground:
    """The half space a x + b y + c z + d ≥ 0."""

    def unit(p: Numbers) -> tuple[Numbers, Any]:
        n = like([a, b, c], p)
        size = sqrt(n @ n)
        return n / size, like(d, p)[()] / size

    return Ground(lambda p: unit(p)[0] @ p + unit(p)[1], lambda p: unit(p)[0], (a, b, c, d))


FLOOR = plane(0, 0, 1, 0)


@dataclass(frozen=True, kw_only=True)
class Sphere:
    """A sphere on a frame, against a ground that stands in the world or on another frame.

    Attributes: as those of `MDPContact`.
    """

    frame: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0
    ground: Ground = FLOOR
    friction: float = 0.7
    rays: int = 6
    strength: float = 1e6
    exponent: int = 3
    carrier: str | None = None


class Twin:
    """A mechanism with spheres.

    Args:
        mechanism: Its kinematics and dynamics.
        spheres: The contacts.
        barrier_weight: β [W]: μ = β dt, 1 ms β at the impulse level, and β for the LP. By default m g v_tol, times
            min(friction cos(π / rays) / rays) / spheres but at the impulse level.
        v_tol: Of that default [m/s].
    """

    def __init__(
        self,
        mechanism: Mechanism,
        spheres: Sequence[Sphere],
        *,
        barrier_weight: float | None = None,
        v_tol: float = 1e-4,
    ) -> None:
        self.mechanism, self.spheres, self.barrier_weight, self.v_tol = mechanism, list(spheres), barrier_weight, v_tol
        ends = np.cumsum([0] + [s.rays for s in spheres])
        self.groups = [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]

    # contact geometry

    def rays(self, sphere: Sphere, normal: Numbers) -> Numbers:
        """B (3, rays): the rays b_j around a normal."""
        up = like(UP, normal)
        axis, along = cross(up, normal), up @ normal
        A = skew(axis)
        R = like(np.eye(3), normal) + A + A @ A / (1 + along)
        angles = [turn(j, sphere.rays, normal) for j in range(sphere.rays)]
        friction = scalar(sphere.friction, normal)
        return np.array([normal + friction * (R[:, 0] * cos(a) + R[:, 1] * sin(a)) for a in angles]).T

    def contact(self, q: Numbers, sphere: Sphere) -> tuple[Numbers, Numbers, Any]:
        """J (3, nv) of the contact point, B (3, rays), and the strength k [N]."""
        R, p = self.mechanism.place(q, sphere.frame)
        centre = p + R @ like(sphere.offset, q)
        if sphere.carrier is None:
            gap, gradient = sphere.ground.distance(centre), sphere.ground.gradient(centre)
        else:
            turned, origin = self.mechanism.place(q, sphere.carrier)
            seen = turned.T @ (centre - origin)
            gap, gradient = sphere.ground.distance(seen), turned @ sphere.ground.gradient(seen)
        normal = gradient / sqrt(gradient @ gradient)
        point = centre - scalar(sphere.radius, q) * normal
        J = self.mechanism.jacobian(q, sphere.frame, point)
        if sphere.carrier is not None:
            J = J - self.mechanism.jacobian(q, sphere.carrier, point)
        depth = max(scalar(sphere.radius, q) - gap, 0 * gap)
        return J, self.rays(sphere, normal), scalar(sphere.strength, q) * depth**sphere.exponent

    def basis(self, q: Numbers) -> Numbers:
        """Σ J_fᵀ k_f B_f side by side, (nv, all rays)."""
        parts = [J.T @ B * k for J, B, k in (self.contact(q, s) for s in self.spheres)]
        return np.concatenate(parts, axis=1)

    def forces(self, q: Numbers, w: Numbers) -> list[Numbers]:
        """k B w of each contact (3,), world axes."""
        contacts = [self.contact(q, s) for s in self.spheres]
        return [B @ w[g] * k for (_, B, k), g in zip(contacts, self.groups)]

    # programs

    def weight(self, level: str, dt: Any, other: Numbers) -> Any:
        """The barrier weight μ of a level: "force" or "impulse" [J], or "limit" [W]."""
        power = self.barrier_weight
        if power is None:  # in doubles, as a simulator's parameter
            shares = [s.friction * np.cos(np.pi / s.rays) / s.rays / len(self.spheres) for s in self.spheres]
            power = self.mechanism.mass * GRAVITY * self.v_tol * (1.0 if level == "impulse" else min(shares))
        factors = [power, {"force": dt, "impulse": REFERENCE_TIME, "limit": 1}[level]]
        return np.prod([scalar(f, other) for f in factors])

    def maximal_dissipation(self, q: Numbers, v: Numbers, level: str, dt: Any = None) -> tuple[Numbers, Numbers]:
        """v̂ (nv,) and the weights w of the QP."""
        D = self.basis(q) * (scalar(dt, q) if level == "force" else 1)
        HD = solve(self.mechanism.mass_matrix(q), D)
        w = twin_barrier.minimise(D.T @ v, D.T @ HD, self.groups, self.weight(level, dt, q))
        return v + HD @ w, w

    def limiting(self, q: Numbers, v: Numbers) -> tuple[Numbers, Numbers]:
        """The generalised contact force D w (nv,) of the LP, and w."""
        D = self.basis(q)
        w = twin_barrier.limiting(D.T @ v, self.groups, self.weight("limit", None, q))
        return D @ w, w

    # dynamics

    def acceleration(self, q: Numbers, v: Numbers, force: Numbers) -> Numbers:
        """H⁻¹(force - C(q, v))."""
        return solve(self.mechanism.mass_matrix(q), force - self.mechanism.bias(q, v))

    def free_velocity(self, q: Numbers, v: Numbers, tau: Numbers, dt: Any, start: Numbers | None = None) -> Numbers:
        """start + dt (H⁻¹(τ - C(q, v)) + ω × v), in the axes of q; start is v by default."""
        a = self.acceleration(q, v, tau) + self.mechanism.drift(v)
        return (v if start is None else start) + scalar(dt, q) * a

    def moved(self, q: Numbers, v: Numbers, dt: Any, carried: Numbers | None = None) -> tuple[Numbers, Numbers]:
        """q after a time dt at v, in the axes of q, and the velocity `carried` (v by default) in the new axes."""
        after = self.mechanism.moved(q, scalar(dt, q) * (self.mechanism.axes(q) @ v))
        return after, self.turned(v if carried is None else carried, q, after)

    def earlier(self, q: Numbers, v: Numbers, old: Numbers, dt: Any) -> Numbers:
        """A velocity in the axes of the configuration that reaches q with the velocity v, in the axes of q."""
        before = self.mechanism.moved(q, -scalar(dt, q) * (self.mechanism.axes(q) @ v))
        return self.turned(old, before, q)

    def turned(self, v: Numbers, old: Numbers, new: Numbers) -> Numbers:
        """A velocity in the axes of a configuration, in those of another one."""
        return self.mechanism.axes(new).T @ self.mechanism.axes(old) @ v

    def kinetic_energy(self, q: Numbers, v: Numbers) -> Any:
        """½ vᵀ H v [J]."""
        return v @ self.mechanism.mass_matrix(q) @ v / 2

    # modes

    @in_60_digits()
    def step(self, mode: str, dt: float, qdq: Numbers, tau: Numbers | None = None, **options: str) -> Numbers:
        """What `Simulator.simulate` returns first, for [q, v, ...] of the mode."""
        nq, nv = self.mechanism.nq, self.mechanism.nv
        q, v, rest = qdq[:nq], qdq[nq : nq + nv], qdq[nq + nv :]
        tau = like(np.zeros(nv), qdq) if tau is None else tau
        return MODES[mode](self, dt, q, v, *([rest] if len(rest) else []), tau=tau, **options)

    @in_60_digits()
    def jacobian(
        self, mode: str, dt: float, qdq: Numbers, tau: Numbers, along: npt.NDArray[np.float64], **options: str
    ) -> Numbers:
        """(Dqdq, Dtau) times the columns of `along`, by central differences in tangent spaces."""
        nq, nv = self.mechanism.nq, self.mechanism.nv
        h = HALF_DIGITS if is_exact(qdq) else 6e-6
        base = self.step(mode, dt, qdq, tau, **options)

        def change(dx: Numbers, dtau: Numbers) -> Numbers:
            moved = np.concatenate([self.mechanism.integrate(qdq[:nq], dx[:nv]), qdq[nq:] + dx[nv:]])
            out = self.step(mode, dt, moved, tau + dtau, **options)
            if mode not in STEPS:
                return out - base
            return np.concatenate([self.mechanism.difference(base[:nq], out[:nq]), out[nq:] - base[nq:]])

        size = len(qdq) - nq + nv
        columns = []
        for e in like(along.T, qdq) * h:
            columns.append((change(e[:size], e[size:]) - change(-e[:size], -e[size:])) / (2 * h))
        return np.array(columns).T


def _forward_i(twin: Twin, dt: float, q: Numbers, v: Numbers, *, tau: Numbers) -> Numbers:
    stopped, _ = twin.maximal_dissipation(q, v, "impulse")
    return np.concatenate([v, twin.acceleration(q, stopped, tau)])


def _inverse_i(twin: Twin, dt: float, q: Numbers, v: Numbers, a: Numbers, *, tau: Numbers) -> Numbers:
    stopped, _ = twin.maximal_dissipation(q, v, "impulse")
    return twin.mechanism.mass_matrix(q) @ a + twin.mechanism.bias(q, stopped)


def _forward_lf(twin: Twin, dt: float, q: Numbers, v: Numbers, *, tau: Numbers) -> Numbers:
    return np.concatenate([v, twin.acceleration(q, v, tau + twin.limiting(q, v)[0])])


def _inverse_lf(twin: Twin, dt: float, q: Numbers, v: Numbers, a: Numbers, *, tau: Numbers) -> Numbers:
    return twin.mechanism.mass_matrix(q) @ a + twin.mechanism.bias(q, v) - twin.limiting(q, v)[0]


def _backward_rk1f(twin: Twin, dt: float, q: Numbers, v: Numbers, old: Numbers, *, tau: Numbers) -> Numbers:
    free = twin.free_velocity(q, v, tau, dt, start=twin.earlier(q, v, old, dt))
    return twin.maximal_dissipation(q, free, "force", dt)[0] - v


def _backward_rk1i(twin: Twin, dt: float, q: Numbers, v: Numbers, old: Numbers, *, tau: Numbers) -> Numbers:
    free = twin.free_velocity(q, v, tau, dt, start=twin.earlier(q, v, old, dt))
    return twin.maximal_dissipation(q, free, "impulse")[0] - v


def _inverse_backward(twin: Twin, dt: float, q: Numbers, v: Numbers, old: Numbers, *, tau: Numbers) -> Numbers:
    """H ((v - old)/dt - ω × v) + C(q, v) - τ - D w: as printed but in world axes, not by way of C_F."""
    free = twin.free_velocity(q, v, tau, dt, start=twin.earlier(q, v, old, dt))
    _, w = twin.maximal_dissipation(q, free, "force", dt)
    change = (v - twin.earlier(q, v, old, dt)) / scalar(dt, q) - twin.mechanism.drift(v)
    push = twin.mechanism.mass_matrix(q) @ change
    return push + twin.mechanism.bias(q, v) - tau - twin.basis(q) @ w


def _forward_rk1f(twin: Twin, dt: float, q: Numbers, v: Numbers, *, tau: Numbers) -> Numbers:
    after, _ = twin.maximal_dissipation(q, twin.free_velocity(q, v, tau, dt), "force", dt)
    return np.concatenate(twin.moved(q, after, dt))


MODES: dict[str, Callable[..., Numbers]] = {
    "FORWARD_I": _forward_i,
    "INVERSE_I": _inverse_i,
    "FORWARD_LF": _forward_lf,
    "INVERSE_LF": _inverse_lf,
    "BACKWARD_RK1F": _backward_rk1f,
    "BACKWARD_RK1I": _backward_rk1i,
    "INVERSE_BACKWARD_RK1F": _inverse_backward,
    "FORWARD_RK1F": _forward_rk1f,
    **{mode: runge_kutta(mode) for mode in IMPULSE_STEPS},
}
STEPS = ("FORWARD_RK1F", *IMPULSE_STEPS)
"""Modes that return [q, v] of the next instant."""
