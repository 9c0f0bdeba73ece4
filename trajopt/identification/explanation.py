"""Text about an identification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from trajopt.identification.result import Identification

_POOR = 0.5  # standard deviation of a combination, relative to its value, above which it is poorly known [-]


def explained(result: Identification) -> str:
    """The text of `Identification.explain`."""
    lines = [_fit(result)]
    together = [c for c in result.combinations if len(c.coefficients) > 1]
    if together:
        lines.append(f"The log tells these only together ({len(together)}):")
        lines += [f"  {c.name}" for c in together]
    if result.without_effect:
        lines.append(f"No effect on the log: {_by_owner(result.without_effect)}.")
    poor = [c for c in result.combinations if c.deviation > _POOR * abs(c.value)]
    if result.converged and not (poor or result.null_space.shape[1]):
        lines.append("The log tells each parameter.")
    if poor:
        lines.append(f"Uncertain, with a standard deviation above {_POOR:.0%} of the value:")
        lines += [f"  {c}" for c in poor]
        lines.append("  Excite these joints more, or measure longer.")
    pairs = _correlated(result)
    if pairs:
        lines.append("Strongly correlated: " + "; ".join(pairs) + ".")
    if result.robot is None and result.of_robot:
        lines.append("A mass, damping, friction or armature is negative, so no robot has these values.")
    return "\n".join(lines)


def _fit(result: Identification) -> str:
    ratio, spread = result.chi2 / max(result.dof, 1), np.sqrt(2.0 / max(result.dof, 1))
    state = f"converged after {result.iterations} iterations" if result.converged else "did not converge"
    if not result.converged:
        state += "; check signs, units and noise, and if joints have friction, its width: SmoothFriction(0.1)"
    if result.dof <= 0:
        return f"The estimate {state}. {result.dof} degrees of freedom: the log has no more numbers than unknowns."
    text = f"The estimate {state}. chi²/dof = {ratio:.3f} with {result.dof} degrees of freedom"
    if ratio > 1.0 + 5.0 * spread:
        return text + ": larger than noise explains. The model lacks something, or the noise is larger than you said."
    if ratio < 1.0 - 5.0 * spread:
        return text + ": the noise is smaller than you said."
    return text + ", as noise explains."


def _by_owner(names: Sequence[str]) -> str:
    """Names such as "link1 m", "link1 I_xx", with each owner once."""
    owners: dict[str, list[str]] = {}
    for name in names:
        owner, _, rest = name.partition(" ")
        owners.setdefault(owner, []).append(rest)
    return "; ".join(f"{owner} {', '.join(rests)}".strip() for owner, rests in owners.items())


def _correlated(result: Identification) -> list[str]:
    upper = np.triu(np.abs(result.correlation), 1)
    pairs = np.argwhere(upper > 0.99)
    names = [c.name for c in result.combinations]
    return [f"{names[i]} with {names[j]} ({result.correlation[i, j]:.3f})" for i, j in pairs[:5]]
