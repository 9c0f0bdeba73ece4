"""Report of a legged motion: targets, balance, slip, forces, margins against sliding and tipping, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.balance import balance_words
from trajopt.analysis.basics import time_words
from trajopt.analysis.feet import STEEP
from trajopt.analysis.flight import flight_words
from trajopt.analysis.gaps import no_motion
from trajopt.analysis.legs import LeggedMotion, floats_with_contacts, is_free_body, legged_motion
from trajopt.analysis.limits import limits_report
from trajopt.analysis.moved import moved_words, speed_words
from trajopt.analysis.reached import friction_words, reached, reached_words
from trajopt.checks import check_positive

if TYPE_CHECKING:
    from trajopt.solution import Solution


FLAT = 1e-5
"""Tolerance of the centre of pressure beyond the edge of a sole, for a load of the whole weight [m]."""
ROUNDING = 1e-9
"""Distance of a force from its cone, as a fraction of the weight, up to which it is on the cone [-]."""


def motion_report(solution: Solution, mu: float | None = None) -> dict[str, str]:
    """Summarises a legged motion in text by keyword.

    Args:
        solution: A solution of a problem with contacts.
        mu: Friction coefficient for the margin against sliding [-]; None for those in the problem's costs and
            constraints. Without any there is no margin.
    """
    motion, mu = legged_motion(solution), None if mu is None else check_positive("mu", mu)
    floats, height = floats_with_contacts(solution), solution.xs[:, 2]
    nothing = no_motion(solution)
    words = {"motion": nothing} if nothing else {}
    words |= {"moved": moved_words(solution, motion)} if floats else {}
    words |= speed_words(solution, motion) if floats else {}
    words |= reached_words(reached(solution, motion))
    words |= {} if nothing else flight_words(solution, motion)
    words |= {"base": f"{height.min():.3f} to {height.max():.3f} m high"} if floats else {}
    support = "contact" if is_free_body(solution) else "foot"
    words |= balance_words(solution, motion) if floats else {}
    words["slip"] = slip_words(solution, motion)
    loads = {foot.name: float(np.max(foot.normal_forces, initial=0.0, where=foot.stands)) for foot in motion.feet}
    peak = max(loads, key=loads.__getitem__)
    words["force"] = (
        f"at most {loads[peak]:.0f} N on one {support} ({peak}), {loads[peak] / motion.weight:.2f} of the weight"
    )
    words["friction"] = _friction_words(motion, mu)
    words |= _side_words(solution, motion)
    words |= tipping_words(solution, motion)
    return words | limits_report(solution)


def slip_words(solution: Solution, motion: LeggedMotion) -> str:
    """Largest slip of a foot in text, such as "at most 0.12 mm during a stance (FL_foot)"."""
    worst = max(motion.feet, key=motion.slip)
    stance, far = "contact" if is_free_body(solution) else "stance", 1e3 * motion.slip(worst)
    return f"at most {far:{'.2g' if far < 100.0 else '.0f'}} mm during a {stance} ({worst.name})"


def _side_words(solution: Solution, motion: LeggedMotion) -> dict[str, str]:
    """Reports the hardest hit of a foot against a steep side, such as that of a step, under the key "side"."""
    hits = []
    for foot in motion.feet:
        steep = foot.stands & (foot.normals[:, 2] <= STEEP)
        loads = np.where(steep, np.nan_to_num(foot.normal_forces), 0.0)
        if foot.on_floor and loads.any():
            hits.append((float(loads.max()), int(loads.argmax()), foot.name))
    if not hits:
        return {}
    load, knot, name = max(hits)
    return {
        "side": f"{name} hits a steep side with {load:.3g} N (knot {knot}{time_words(solution, knot, ', {:.3g} {}')})"
    }


def _friction_words(motion: LeggedMotion, mu: float | None) -> str:
    """Margin against sliding if mu is available, and the largest use of friction, as text."""
    margin, use = cone_margin(motion, mu), friction_words(motion)
    if not np.isfinite(margin):
        return use
    margin = 0.0 if abs(margin) < ROUNDING * motion.weight else margin
    coefficients = np.concatenate([foot.mu[np.isfinite(foot.mu)] for foot in motion.feet])
    shown = mu if mu is not None else float(coefficients.min())
    return f"{abs(margin):.3g} N {'inside' if margin >= 0 else 'outside'} the cone at worst (mu = {shown:g}); {use}"


def tipping_words(solution: Solution, motion: LeggedMotion) -> dict[str, str]:
    """Reports tipping of soles in text, under the key "tipping": which foot, when and by how much.

    The result is empty if no sole size is known. The soles are those of the problem's costs and constraints, which may
    be smaller than the robot's.

    Args:
        solution: The solution.
        motion: Its motion, from `legged_motion`.
    """
    worst = tipping(motion)
    if worst is None:
        return {}
    foot, knot, margin, pressure, half = worst
    whose = "plan's" if motion.measured else "problem's"
    where = f"{foot}, knot {knot}{time_words(solution, knot, ', {:.3g} {}')}"
    if margin < -FLAT * motion.weight:
        return {
            "tipping": f"the centre of pressure leaves the {whose} sole ({where}): {1e3 * pressure:.1f} mm from its "
            f"middle, half its side is {1e3 * half:.1f} mm; {-margin:.3g} N m beyond the limit"
        }
    left = "one is at its edge" if margin < FLAT * motion.weight else f"at least {margin:.3g} N m from tipping"
    return {"tipping": f"none, forces are within the soles; {left} ({where})"}


def tips(motion: LeggedMotion) -> bool:
    """Whether a sole tips by more than the tolerance `FLAT`."""
    return tipping_margin(motion) < -FLAT * motion.weight


def cone_margin(motion: LeggedMotion, mu: float | None = None) -> float:
    """Returns the smallest μ f_n - |f_t| over all feet in contact [N]; negative if a foot would slide.

    μ is the argument, or without it that of the feet; the margin is inf without any μ.
    """
    margins = [np.zeros(0)]
    for foot in motion.feet:
        rough = foot.mu if mu is None else np.full(foot.mu.shape, mu)
        rated = foot.stands & np.isfinite(rough)
        margins.append((rough * foot.normal_forces - foot.tangential_forces)[rated])
    return float(np.min(np.concatenate(margins), initial=np.inf))


def tipping_margin(motion: LeggedMotion) -> float:
    """Returns the smallest min(X f_n - |τ_y|, Y f_n - |τ_x|) over all soles in contact, with half sides X, Y [N m].

    It is negative if a sole would tip, and inf if no sole has a known size.
    """
    worst = tipping(motion)
    return np.inf if worst is None else worst[2]


def tipping(motion: LeggedMotion) -> tuple[str, int, float, float, float] | None:
    """Returns the foot and knot closest to tipping, or tipping most; None if no sole has a known size.

    Returns:
        Name of the foot; knot; min(X f_n - |τ_y|, Y f_n - |τ_x|) there [N m]; distance of the centre of pressure from
        the middle of the sole along that side [m]; half the side [m].
    """
    candidates = []
    for foot in motion.feet:
        if foot.outline.shape[1] != 4 or not foot.stands.any():
            continue
        corners = foot.outline[:-1]
        for along, other in ((1, 3), (3, 1)):  # corner 0 to 1 is along x, to 3 along y
            half = np.linalg.norm(corners[:, 0] - corners[:, along], axis=1) / 2
            side = corners[:, 0] - corners[:, other]
            torque = np.abs(np.sum(foot.torques * side, axis=1)) / np.linalg.norm(side, axis=1)
            margin = np.where(foot.stands, half * foot.normal_forces - torque, np.inf)
            t = int(np.argmin(margin))
            load = float(foot.normal_forces[t])
            ratio = float(torque[t]) / load if load > 0 else np.inf
            candidates.append((foot.name, t, float(margin[t]), ratio, half[t]))
    return min(candidates, key=lambda item: item[2], default=None)
