"""Friction of a mass against closed forms: creep, acceleration on inclines, sliding to a stop, dilation, symmetry."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.simulator.cases import Case, box, incline, point
from tests.simulator.stepping import bisect, trajectory
from tests.simulator.twin import Sphere, plane
from tests.simulator.twin_mechanisms import GRAVITY, FreeBox, PointMass
from trajopt.articulations import ArticulationBuilder
from trajopt.simulator import MDPContact, Plane, Simulator
from trajopt.types import Reals

DT = 1e-3
ANGLES = 2 * np.pi * np.arange(6) / 6


def creep(slope: float, friction: float) -> tuple[float, float]:
    """Steady creep down a slope along a ray: σ = k dt μ_F s/μ with the speed s, and Σ w.

    With no normal velocity w_j = 1/(σ cos θ_j + ν), ν = 1/(1 - Σ w); friction balances gravity where
    tan(slope) Σ w = -μ_F Σ w_j cos θ_j.
    """

    def weights(sigma: float) -> np.ndarray:
        cosines = sigma * np.cos(ANGLES)
        low = max(1.0, -cosines.min())

        def excess(nu: float) -> float:
            return 1 - 1 / nu - float(np.sum(1 / (cosines + nu)))

        return 1 / (cosines + bisect(excess, low * (1 + 1e-15) + 1e-15, low + 100.0))

    def surplus(sigma: float) -> float:
        w = weights(sigma)
        return float(-friction * w @ np.cos(ANGLES) - np.tan(slope) * w.sum())

    sigma = bisect(surplus, 0.0, 1e4)
    return sigma, float(weights(sigma).sum())


@dataclass(frozen=True)
class Slider:
    """A body that slides without turning: a mass on prismatic joints, or a box on a free flyer.

    The box has four spheres in a plane through its centre of mass, so that friction has no torque.

    Attributes:
        case: The body on its plane.
        count: Number of its contacts.
        down: Direction along which the plane falls (3,).
        normal: Normal of the plane (3,).
    """

    case: Case
    count: int
    down: np.ndarray
    normal: np.ndarray

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        return float(self.case.mechanism.mass)

    def depth(self, k: float) -> float:
        """Depth of all contacts where together they have the strength k [N]."""
        sphere = self.case.spheres[0]
        return float((k / self.count / sphere.strength) ** (1 / sphere.exponent))

    def state(self, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """(q, v) of a position and a velocity."""
        turn, spin = ([0, 0, 0, 1], [0, 0, 0]) if self.count == 4 else ([], [])
        return np.array([*position, *turn, *velocity, *spin], dtype=float)

    def velocities(self, xs: np.ndarray) -> np.ndarray:
        """Velocity (..., 3) of states; the box's axes are the world's, which is checked."""
        nq = self.case.mechanism.nq
        assert np.abs(xs[..., 3:6]).max() < 1e-9 or self.count == 1
        return np.asarray(xs[..., nq : nq + 3])


def slider(body: str, slope: float, **options: Any) -> Slider:
    """A "point" or a "box" on a plane that falls along x by an angle [rad]."""
    down, normal = np.array([np.cos(slope), 0, -np.sin(slope)]), np.array(incline(slope)[:3])
    ground = plane(*incline(slope))
    if body == "point":
        return Slider(point(strength=1e6, ground=ground, **options), 1, down, normal)
    corners = [a * 0.1 * down + b * 0.1 * np.array([0, 1, 0]) for a in (-1, 1) for b in (-1, 1)]
    spheres = tuple(Sphere(frame="body", offset=tuple(c), strength=1e6, ground=ground, **options) for c in corners)
    return Slider(Case(mechanism=FreeBox(), spheres=spheres, q=np.zeros(7), v=np.zeros(6)), 4, down, normal)


BODIES = pytest.mark.parametrize("body", ["point", "box"])


@BODIES
@pytest.mark.parametrize("part", [1e-2, 1e-3, 1e-4])
def test_creep_on_an_incline(part: float, body: str) -> None:
    """A mass that sticks creeps with s = σ β/(k μ_F), k Σ w = m g cos: proportional to β, 20 degrees, μ_F = 0.7.

    The state with that speed and depth repeats itself but for its place along the plane. Rounding, and the tolerance of
    the program: 1e-8 relative. Of n contacts each has its n-th of k, and so creeps n times as fast for the same β.
    """
    slope, friction = np.radians(20), 0.7
    s = slider(body, slope, friction=friction)
    sigma, total = creep(slope, friction)
    k, barrier = s.mass * GRAVITY * np.cos(slope) / total, s.mass * GRAVITY * part
    speed = sigma * s.count * barrier / (k * friction)
    assert 11 < speed / part / s.count < 13  # the constant that the formulation gives for this slope
    x = s.state(-s.depth(k) * s.normal, speed * s.down)
    after, _, _ = s.case.simulator(barrier_weight=barrier).simulate(DT, x)
    np.testing.assert_allclose(s.velocities(after), speed * s.down, rtol=0, atol=1e-8 * speed)
    np.testing.assert_allclose(after[:3], x[:3] + DT * s.velocities(after), rtol=0, atol=1e-15)


@BODIES
@pytest.mark.parametrize("part", [1e-2, 3e-3])
def test_creep_is_reached_from_rest(part: float, body: str) -> None:
    """β = m g v, and depth settles with τ = d/(p v n (n+1)) or so; after 3 s, 60 τ and more, creep is steady."""
    slope, friction = np.radians(20), 0.7
    s = slider(body, slope, friction=friction)
    sigma, total = creep(slope, friction)
    k = s.mass * GRAVITY * np.cos(slope) / total
    simulator = s.case.simulator(barrier_weight=s.mass * GRAVITY * part / s.count)
    xs = trajectory(simulator, DT, s.state(np.zeros(3), np.zeros(3)), 3000)
    wanted = sigma * s.mass * GRAVITY * part / (k * friction)
    assert np.linalg.norm(s.velocities(xs)[-1]) == pytest.approx(wanted, rel=1e-6)


@BODIES
def test_sliding_down_an_incline(body: str) -> None:
    """45 degrees, μ_F = 0.3: g (sin - μ_F cos), to 0.2 %; the tangential is μ_F times the normal impulse, to 1e-6.

    Rays away from the slip keep k w_j = β/(b_jᵀv̂), where b_jᵀv̂ is μ_F s (1 + cos θ_j) with the speed s: all five take
    less than 4 β/(μ_F s) from the normal force of a contact, and twice μ_F of that from friction. Mean acceleration
    also has μ_F Δv_n/t, with a normal velocity of millimetres per second.
    """
    slope, friction, part = np.radians(45), 0.3, 1e-8
    s = slider(body, slope, friction=friction)
    xs = trajectory(
        s.case.simulator(barrier_weight=s.mass * GRAVITY * part), DT, s.state(-0.01 * s.normal, 0.5 * s.down), 1500
    )
    along, across = s.velocities(xs) @ s.down, s.velocities(xs) @ s.normal
    impulse_t = GRAVITY * DT * np.sin(slope) - np.diff(along)  # for 1 kg
    impulse_n = np.diff(across) + GRAVITY * DT * np.cos(slope)
    lost = 8 * GRAVITY * part * s.count * DT / along[1:]
    assert np.all(np.abs(impulse_t - friction * impulse_n) <= lost + 1e-13)  # 1e-13: rounding of v
    assert impulse_t.sum() == pytest.approx(friction * impulse_n.sum(), rel=1e-6)
    mean = (along[-1] - along[500]) / (1000 * DT)
    assert mean == pytest.approx(GRAVITY * (np.sin(slope) - friction * np.cos(slope)), rel=2e-3)


@BODIES
@pytest.mark.parametrize(("rays", "heading"), [(6, 0.0), (6, 30.0), (24, 7.5)])
def test_sliding_to_a_stop(rays: int, heading: float, body: str) -> None:
    """v0 = 5 m/s, μ_F = 0.5: stops after v0/(μ g) and v0²/(2 μ g) within 1.2 %; between two rays μ = μ_F cos(π/n).

    The normal velocity of dilation, μ_F v_t at most while k lasts, is what the 1.2 % are for.
    """
    friction, start = 0.5, 5.0
    s = slider(body, 0.0, friction=friction, rays=rays)
    effective = friction * (np.cos(np.pi / rays) if heading else 1.0)
    ahead = np.array([np.cos(np.radians(heading)), np.sin(np.radians(heading)), 0.0])
    x = s.state(np.array([0, 0, -s.depth((rays + 1) / rays * s.mass * GRAVITY)]), start * ahead)
    time = start / (effective * GRAVITY)
    xs = trajectory(s.case.simulator(), DT, x, int(1.1 * time / DT))
    along = s.velocities(xs) @ ahead
    stopped = int(np.argmax(along < 1e-3)) * DT
    assert stopped == pytest.approx(time, rel=0.012)
    assert xs[-1, :3] @ ahead == pytest.approx(start**2 / (2 * effective * GRAVITY), rel=0.012)
    assert np.abs(np.cross(s.velocities(xs), ahead)[:, 2]).max() < 1e-6  # straight ahead: the rays lie evenly


def test_dilation() -> None:
    """With all the budget that it wants, a sliding mass is lifted: impulse p = m (g dt + μ_F v)/(1 + μ_F²) in one step.

    v_t⁺ = v - μ_F p/m, v_n⁺ = μ_F v_t⁺. What the barrier adds is μ/p at the ray, and the other five μ/(k dt b_jᵀv̂).
    """
    friction, speed, mu = 0.5, 2.0, 1e-12
    case = point(strength=1e8, friction=friction)
    after, _, _ = case.simulator(barrier_weight=mu / DT).simulate(DT, np.array([0, 0, -0.05, speed, 0, 0]))
    push = case.mechanism.mass * (GRAVITY * DT + friction * speed) / (1 + friction**2)
    wanted = speed - friction * push / case.mechanism.mass
    np.testing.assert_allclose(after[3:], [wanted, 0, friction * wanted], rtol=0, atol=1e-9)


@pytest.mark.parametrize("rays", [3, 4, 6])
def test_a_turn_by_the_angle_between_rays(rays: int) -> None:
    """Turns every velocity: to the program's tolerance, 1e-9 of the speed."""
    angle = 2 * np.pi / rays
    R = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    simulator = point(rays=rays).simulator()
    for v in ([0.5, 0.2, -0.3], [2.0, -1.0, 0.1], [1e-4, 2e-4, 0.0]):
        first, _, _ = simulator.simulate(DT, np.array([0, 0, -0.01, *v]))
        turned, _, _ = simulator.simulate(DT, np.array([0, 0, -0.01, *(R @ v)]))
        np.testing.assert_allclose(turned[3:], R @ first[3:], rtol=0, atol=1e-9)


def test_a_turned_box_slides_alike() -> None:
    """A free flyer with spheres of 4 rays on a floor, turned by 90 degrees: the same twist in its own axes."""
    case = box()
    spheres = tuple(type(s)(frame="body", offset=s.offset, radius=s.radius, rays=4, strength=1e5) for s in case.spheres)
    simulator = type(case)(mechanism=case.mechanism, spheres=spheres, q=case.q, v=case.v).simulator()
    half = np.sqrt(0.5)
    ahead = np.array([0.0, 0.0, 0.04, 0.02, 0.05, 0.0, 0.0])
    ahead[6] = np.sqrt(1 - ahead[3:6] @ ahead[3:6])
    x, y, z, w = ahead[3:]
    turned = np.array([0, 0, 0.04, half * (x - y), half * (y + x), half * (z + w), half * (w - z)])  # (0, 0, h, h) q
    first, _, _ = simulator.simulate(DT, np.concatenate([ahead, case.v]))
    second, _, _ = simulator.simulate(DT, np.concatenate([turned, case.v]))
    assert np.abs(first[7:] - case.v).max() > 1e-2  # contacts push
    np.testing.assert_allclose(second[7:], first[7:], rtol=0, atol=1e-9)


@cache
def creeping(rays: int, contacts: int, heading: float, v_tol: float) -> tuple[Simulator, Reals, Reals]:
    """A simulator of a point on a slope of 15 degrees, the normal, and a state."""
    slope = np.radians(15)
    normal = np.array([np.cos(heading) * np.sin(slope), np.sin(heading) * np.sin(slope), np.cos(slope)])
    sphere = Sphere(frame="body", ground=plane(*normal, 0), friction=0.5, rays=rays, strength=1e9)
    case = Case(mechanism=PointMass(1.0), spheres=(sphere,) * contacts, q=np.zeros(3), v=np.zeros(3))
    load = GRAVITY * np.cos(slope) * (1 + 0.55 / rays) / contacts  # near the budget of a contact that creeps
    return case.simulator(v_tol=v_tol), normal, np.r_[-np.cbrt(load / 1e9) * normal, np.zeros(3)]


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize(("rays", "contacts"), [(4, 1), (6, 1), (6, 4), (5, 8), (16, 2), (32, 3)])
def test_v_tol_is_the_creep_speed(rays: int, contacts: int, dt: float) -> None:
    """15 degrees at μ_F = 0.5 are ρ = 54 % of the cone: 2 v_tol ρ / (1 - ρ²) = 1.50 v_tol, at most 2 at any heading.

    On many rays it is that speed; along a ray of few rays less, between them more.
    """
    v_tol = 1e-4
    for heading in (0.0, np.pi / rays):
        simulator, normal, x = creeping(rays, contacts, heading, v_tol)
        xs = trajectory(simulator, dt, x, 400)
        speeds = np.linalg.norm(xs[1:, 3:] - np.outer(xs[1:, 3:] @ normal, normal), axis=1)
        assert 0.8 * v_tol < speeds[-1]
        assert speeds.max() < 2 * v_tol
        if rays >= 16:
            assert speeds[-1] == pytest.approx(1.504 * v_tol, rel=0.05)


def test_a_light_body_beside_a_heavy_one_creeps_no_faster() -> None:
    """On 15 degrees at μ_F = 0.5, v_tol = 0.1 mm/s, 54 % of the cone: 1.5 v_tol for 30 g as for 30 kg."""
    builder = ArticulationBuilder()
    for name, mass in (("heavy", 30.0), ("light", 0.03)):
        builder.add_link(name, mass=mass, com=(0.0, 0.0, 0.0), inertia=0.1 * mass * np.eye(3))
        builder.add_d6("world", name, linear=("x", "z"))
    slope = np.radians(15)
    surface = Plane((np.sin(slope), 0.0, np.cos(slope), 0.0))
    contacts = [MDPContact(name, surface=surface, friction=0.5) for name in ("heavy", "light")]
    xs = Simulator(builder.build("heavy"), contacts).rollout(np.zeros(8), steps=600, dt=5e-3).xs
    heavy, light = (xs[-1, [0, 2]] - xs[-201, [0, 2]]) / np.cos(slope)  # down the slope in 1 s [m]
    assert 0.9e-4 < light < 2e-4
    assert heavy < 2e-4


def test_creep_grows_near_the_cone() -> None:
    """2 v_tol ρ / (1 - ρ²) at 97 % of the cone is 33 v_tol, within 10 % for 32 rays."""
    slope = np.arctan(0.97 * 0.5)
    sphere = Sphere(frame="body", ground=plane(*incline(slope)), friction=0.5, rays=32, strength=1e9)
    case = Case(mechanism=PointMass(1.0), spheres=(sphere,), q=np.zeros(3), v=np.zeros(3))
    x = np.r_[-np.cbrt(GRAVITY * np.cos(slope) / 1e9) * np.array(incline(slope)[:3]), np.zeros(3)]
    xs = trajectory(case.simulator(v_tol=1e-4), DT, x, 3000)
    assert np.linalg.norm(xs[-1, 3:]) == pytest.approx(2 * 0.97 / (1 - 0.97**2) * 1e-4, rel=0.1)


@pytest.mark.parametrize("friction", [0.1, 0.2, 0.5, 1.0])
def test_a_cube_slides_by_the_friction_along_a_ray(friction: float) -> None:
    """A cube of 3 m/s on four spheres: v²/(2 μ g) long and v/(μ g) in time, within 1 %.

    The spheres lie in the plane of the centre of mass, so friction has no torque.
    """
    s, start = slider("box", 0.0, friction=friction), 3.0
    x = s.state(np.array([0, 0, -s.depth(s.mass * GRAVITY)]), start * np.array([1.0, 0, 0]))
    time = start / (friction * GRAVITY)
    xs = trajectory(s.case.simulator(), DT, x, int(1.2 * time / DT))
    along = s.velocities(xs)[:, 0]
    assert int(np.argmax(along < 0.01 * start)) * DT == pytest.approx(0.99 * time, rel=0.01)
    assert xs[-1, 0] == pytest.approx(start**2 / (2 * friction * GRAVITY), rel=0.01)
