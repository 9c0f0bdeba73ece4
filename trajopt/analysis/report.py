"""Report of a legged motion: asked and reached, slip, largest force, margins against sliding and tipping, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.legs import LeggedMotion, legged_motion
from trajopt.analysis.limits import limits_report
from trajopt.analysis.reached import friction_use, reached, reached_words
from trajopt.checks import check_positive

if TYPE_CHECKING:
    from trajopt.solution import Solution


def motion_report(solution: Solution, mu: float) -> dict[str, str]:
    """Report of a legged motion in words, by short names.

    Args:
        solution: A solution of a problem with contacts.
        mu: Friction coefficient for the margin against sliding [-].
    """
    motion, mu = legged_motion(solution), check_positive("mu", mu)
    base, times = solution.xs[:, :3], solution.times
    step = base[-1] - base[0]
    words = {"moved": f"{step[0]:+.3f} m forward, {step[1]:+.3f} m to the left"}
    if times is not None:
        words["moved"] += f" in {times[-1]:.2f} s"
    words |= reached_words(reached(solution, motion))
    words["base"] = f"{base[:, 2].min():.3f} to {base[:, 2].max():.3f} m high"
    worst = max(motion.feet, key=motion.slip)
    words["slip"] = f"at most {1e3 * motion.slip(worst):.2g} mm during a stance ({worst.name})"
    loads = {foot.name: float(np.max(foot.normal_forces, initial=0.0, where=foot.stands)) for foot in motion.feet}
    peak = max(loads, key=loads.__getitem__)
    words["force"] = (
        f"at most {loads[peak]:.0f} N on one foot ({peak}), {loads[peak] / motion.weight:.2f} of the weight"
    )
    margin = cone_margin(motion, mu)
    words["friction"] = (
        f"{abs(margin):.3g} N {'inside' if margin >= 0 else 'outside'} the cone at worst (mu = {mu:g}); "
        f"tangential at most {friction_use(motion):.3g} of the normal force"
    )
    left = tipping_margin(motion)
    if np.isfinite(left):
        where = "inside" if left >= 0 else "outside"
        words["tipping"] = f"{abs(left):.3g} N m {where} what the soles can take at worst"
    return words | limits_report(solution)


def cone_margin(motion: LeggedMotion, mu: float) -> float:
    """Smallest μ f_n - |f_t| over all feet in contact [N]; negative if a foot would slide."""
    margins = [(mu * foot.normal_forces - foot.tangential_forces)[foot.stands] for foot in motion.feet]
    return float(np.min(np.concatenate(margins), initial=np.inf))


def tipping_margin(motion: LeggedMotion) -> float:
    """Smallest min(X f_n - |τ_y|, Y f_n - |τ_x|) over all soles in contact, with half sides X, Y [N m].

    Negative if a sole would tip; infinite if no sole has a known size.
    """
    margins = []
    for foot in motion.feet:
        if foot.outline.shape[1] == 4:
            corners = foot.outline[:-1]
            for along, other in ((1, 3), (3, 1)):  # corner 0 to 1 is along x, to 3 along y
                half = np.linalg.norm(corners[:, 0] - corners[:, along], axis=1) / 2
                side = corners[:, 0] - corners[:, other]
                torque = np.abs(np.sum(foot.torques * side, axis=1)) / np.linalg.norm(side, axis=1)
                margins.append((half * foot.normal_forces - torque)[foot.stands])
    return float(np.min(np.concatenate([np.zeros(0), *margins]), initial=np.inf))
