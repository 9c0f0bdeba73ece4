"""Linear inverted pendulum: a walking robot's centre of mass at constant height, in closed form.

Source: Kajita et al., The 3D linear inverted pendulum mode (IROS 2001); Englsberger et al., Three-dimensional bipedal
walking control based on divergent component of motion (IEEE T-RO 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_positive
from trajopt.errors import InvalidArgumentError, shown
from trajopt.robots.robot import GRAVITY
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.gaits.schedule import ContactSchedule


@dataclass(frozen=True)
class LinearInvertedPendulum:
    """Linear inverted pendulum d²x/dt² = ω² (x - p): a mass at constant height above a support point p.

    ω² = gravity / height. All methods take numbers or arrays of any shape, for horizontal directions only.

    Attributes:
        height: Height of the mass above the support, > 0 [m].
        gravity: Gravity, > 0 [m/s²].

    Raises:
        InvalidArgumentError: A value is not positive.
    """

    height: float
    gravity: float = GRAVITY

    def __post_init__(self) -> None:
        for name in ("height", "gravity"):
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))

    @property
    def omega(self) -> float:
        """Rate ω [1/s]."""
        return float(np.sqrt(self.gravity / self.height))

    def motion(self, x: npt.ArrayLike, v: npt.ArrayLike, p: npt.ArrayLike, t: npt.ArrayLike) -> tuple[Reals, Reals]:
        """Position [m] and velocity [m/s] after a time: x(t) = p + (x - p) cosh ωt + (v / ω) sinh ωt.

        Args:
            x: Initial position [m].
            v: Initial velocity [m/s].
            p: Support point [m].
            t: Time [s].
        """
        x, v, p = (_numbers(name, a) for name, a in (("x", x), ("v", v), ("p", p)))
        angle = self.omega * _numbers("t", t)
        _check_shapes(x, v, p, angle)
        cosh, sinh = np.cosh(angle), np.sinh(angle)
        return p + (x - p) * cosh + v / self.omega * sinh, (x - p) * self.omega * sinh + v * cosh

    def capture_point(self, x: npt.ArrayLike, v: npt.ArrayLike) -> Reals:
        """Divergent component of motion ξ = x + v / ω [m]; with the support point at ξ, the mass comes to rest."""
        x, v = _numbers("x", x), _numbers("v", v)
        _check_shapes(x, v)
        return x + v / self.omega

    def divergent_motion(self, xi: npt.ArrayLike, p: npt.ArrayLike, t: npt.ArrayLike) -> Reals:
        """Divergent component ξ(t) = p + (ξ - p) exp(ωt) [m] after a time t [s], which may be negative."""
        xi, p, angle = _numbers("xi", xi), _numbers("p", p), self.omega * _numbers("t", t)
        _check_shapes(xi, p, angle)
        return p + (xi - p) * np.exp(angle)

    def support_between(self, xi: npt.ArrayLike, xi_end: npt.ArrayLike, t: float) -> Reals:
        """Support point that moves the divergent component from ξ to ξ_end in a time t > 0 [s]; result in [m]."""
        xi, xi_end = _numbers("xi", xi), _numbers("xi_end", xi_end)
        _check_shapes(xi, xi_end)
        decay = np.exp(-self.omega * check_positive("t", t, unit="s"))
        return (xi - decay * xi_end) / (1 - decay)


def _numbers(argument: str, value: npt.ArrayLike) -> Reals:
    """Returns finite numbers of any shape; raises InvalidArgumentError for others."""
    array = as_numbers(argument, value)
    return check_array(argument, array, array.shape)


def _check_shapes(*arrays: Reals) -> None:
    try:
        np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError:
        shapes = ", ".join(str(a.shape) for a in arrays)
        raise InvalidArgumentError(f"arguments: expected shapes that broadcast together, got {shapes}") from None


@dataclass(frozen=True)
class PendulumPlan:
    """Motion of the centre of mass over the n = T + 1 knots of a schedule.

    Attributes:
        com: Positions (n, 3) [m].
        velocity: Velocities (n, 3) [m/s].
        support: Support points (n, 3) [m].
    """

    com: Reals
    velocity: Reals
    support: Reals


def pendulum_plan(schedule: ContactSchedule, com: npt.ArrayLike | None = None) -> PendulumPlan:
    """Plans the motion of the centre of mass as a pendulum above the mean of the feet in contact, phase by phase.

    The divergent component is integrated backwards from the end, where it is above the feet. The position starts at
    `com` and converges to the divergent component, so the motion ends close to rest. The initial velocity follows from
    this and is not zero.

    Args:
        schedule: Gait with at least one foot in contact in every phase.
        com: Initial centre of mass (3,) [m]; by default that of the schedule's start.

    Raises:
        InvalidArgumentError: All feet are in the air in some phase, or the centre of mass is not above the feet.
    """
    if not hasattr(schedule, "phases"):  # a ContactSchedule, which this module does not import
        raise InvalidArgumentError(f"schedule: expected a ContactSchedule, got {shown(schedule)}")
    first = schedule.start.com if com is None else com
    if first is None:
        raise InvalidArgumentError(
            "com: expected a centre of mass (3,) [m], got None; the schedule's start has none either"
        )
    position = check_array("com", first, (3,))
    supports = _supports(schedule)
    pendulum = LinearInvertedPendulum(float(position[2] - supports[0, 2]), schedule.start.gravity)
    durations = [phase.knots * schedule.dt for phase in schedule.phases]
    last_knots = np.flatnonzero(schedule.phase_of_knot == len(durations) - 1)
    durations[-1] = float(schedule.times[-1] - schedule.times[last_knots[0]])
    xi = [schedule.end.centre[:2]]
    for support, duration in zip(supports[::-1], durations[::-1]):
        xi.append(pendulum.divergent_motion(xi[-1], support[:2], -duration))
    n, number = schedule.T + 1, schedule.phase_of_knot
    plan = PendulumPlan(np.empty((n, 3)), np.zeros((n, 3)), supports[number])
    x, started = position[:2], 0.0
    for i, (support, duration, divergent) in enumerate(zip(supports, durations, xi[:0:-1])):
        knots = np.flatnonzero(number == i)
        t = (schedule.times[knots] - started)[:, None]
        velocity = pendulum.omega * (divergent - x)  # from ξ in every phase, so that errors of x decay
        plan.com[knots, :2], plan.velocity[knots, :2] = pendulum.motion(x, velocity, support[:2], t)
        plan.com[knots, 2] = support[2] + pendulum.height
        x, _ = pendulum.motion(x, velocity, support[:2], duration)
        started += duration
    return plan


def _supports(schedule: ContactSchedule) -> Reals:
    """Mean position of the feet in contact in each phase (phases, 3) [m]."""
    supports = []
    for phase, stance in zip(schedule.phases, schedule.stances):
        if not phase.stance:
            raise InvalidArgumentError(
                f"schedule: expected a foot in contact in every phase, got {phase.name!r} with all feet in the air; "
                "the pendulum needs a support, so use another guess, such as gait_guess(problem, schedule, 'standing')"
            )
        supports.append(np.mean([stance.feet[foot].position for foot in phase.stance], axis=0))
    return np.array(supports)
