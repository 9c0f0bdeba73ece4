"""Pairs of bodies that are left out of collision rows, by reason, which print the names of their links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Pairs = tuple[tuple[int, int], ...]

WHY = {
    "neighbours": "one joint moves the other",
    "disabled": "by the SRDF",
    "always": "shapes always touch, or nearly",
    "reference": "shapes touch in a reference configuration",
    "never": "never near",
    "coarse": "shapes near mostly where the links are not",
}
"""What each reason means, in words."""
CANNOT_TOUCH = ("neighbours", "never")
FEW = 3  # pairs of links of a reason that are named in one line [-]


class LeftOut(dict[str, Pairs]):
    """Indices (i, j) of bodies that are left out, by reason; it prints the names of their links.

    Args:
        pairs: The indices by reason.
        frames: Name of the frame of each body.
    """

    def __init__(self, pairs: Mapping[str, Pairs], frames: Sequence[str]) -> None:
        super().__init__(pairs)
        self._frames = tuple(frames)

    def __reduce__(self) -> tuple[type[LeftOut], tuple[dict[str, Pairs], tuple[str, ...]]]:
        return LeftOut, (dict(self), self._frames)

    @property
    def links(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Names of the two links by reason, once for each two of them, of which some or all bodies are left out."""
        names = {reason: [(self._frames[i], self._frames[j]) for i, j in pairs] for reason, pairs in self.items()}
        return {reason: tuple({frozenset(pair): pair for pair in each}.values()) for reason, each in names.items()}

    @property
    def unchecked(self) -> str:
        """Text that names links which might touch although they are left out, with the reason; "" without any."""
        parts = []
        for reason, pairs in self.links.items():
            if pairs and reason not in CANNOT_TOUCH:
                named = [f"{first} and {second}" for first, second in pairs[:FEW]]
                named += [f"{len(pairs) - FEW} more"] if len(pairs) > FEW else []
                parts.append(f"{', '.join(named)} ({WHY.get(reason, reason)})")
        return "; ".join(parts)

    def __repr__(self) -> str:
        lines = []
        for reason, pairs in self.links.items():
            if pairs:
                lines.append(f"{reason} ({WHY[reason]})" if reason in WHY else reason)
                lines += [f"  {first} and {second}" for first, second in pairs]
        return "\n".join(lines) or "none"
