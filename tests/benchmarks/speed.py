"""Speed of the parts of an iteration and of whole solves, alone or beside Crocoddyl in the same run."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from tests.benchmarks.cases import Case
from tests.benchmarks.ours import PARTS, Ours, Row
from tests.benchmarks.peer_process import PeerProcess
from tests.benchmarks.table import bar, number, table

COST_TOLERANCE = 1e-8  # relative
HEADER = ["problem", "part", "ours", "Crocoddyl", "ratio", "of rounds", "of fastest", "required", "aim"]
TITLE = """Times in µs per knot, one thread each. A ratio [-] says how many times faster we are: that of the medians,
the range of the rounds, and that of each side's fastest round, which other work on the machine disturbs
least and which bars are about. Our calc_diff holds values, derivatives and packing, theirs derivatives alone.
An iteration is the wall time of solve() by the number of iterations."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One problem, measured in turns.

    Attributes:
        case: The problem.
        ours: Our measurement of each round.
        theirs: Crocoddyl's, or nothing.
    """

    case: Case
    ours: list[Row]
    theirs: list[Row]

    def micros(self, side: str, part: str) -> float:
        """Median over the rounds of "ours" or "theirs" [µs per knot]."""
        return median(row.micros[part] for row in getattr(self, side))

    def ratio(self, part: str) -> tuple[float, float, float]:
        """Ratio of the medians, the smallest and the largest of a round [-]."""
        rounds = [theirs.micros[part] / ours.micros[part] for ours, theirs in zip(self.ours, self.theirs)]
        return self.micros("theirs", part) / self.micros("ours", part), min(rounds), max(rounds)

    def fastest(self, part: str) -> float:
        """Ratio of each side's fastest round [-]: what a machine that does nothing else would show."""
        return min(row.micros[part] for row in self.theirs) / min(row.micros[part] for row in self.ours)

    def disagreement(self) -> str:
        """Why the two sides did not solve the same problem in the same way; empty if they did."""
        if not self.theirs:
            return ""
        ours, theirs = self.ours[0], self.theirs[0]
        if (ours.knots, ours.iterations) != (theirs.knots, theirs.iterations):
            return (
                f"ours has T = {ours.knots} and took {ours.iterations} iterations (cost {ours.cost:.12g}), "
                f"theirs has T = {theirs.knots} and took {theirs.iterations} (cost {theirs.cost:.12g})"
            )
        if abs(ours.cost - theirs.cost) > COST_TOLERANCE * abs(theirs.cost):
            return f"ours costs {ours.cost:.12g}, theirs {theirs.cost:.12g}"
        return ""

    def figures(self) -> dict[str, object]:
        """What `--json` writes: medians and ratios, and every round."""
        parts: dict[str, dict[str, object]] = {}
        for part in PARTS:
            parts[part] = {
                "ours_us_per_knot": self.micros("ours", part),
                "ours_rounds": [row.micros[part] for row in self.ours],
            }
            if self.theirs:
                ratio, low, high = self.ratio(part)
                parts[part] |= {
                    "crocoddyl_us_per_knot": self.micros("theirs", part),
                    "crocoddyl_rounds": [row.micros[part] for row in self.theirs],
                    "ratio": ratio,
                    "ratio_range": [low, high],
                    "ratio_of_fastest": self.fastest(part),
                }
        first = self.ours[0]
        facts = {"T": first.knots, "iterations": first.iterations, "cost": first.cost}
        return {**facts, "disagreement": self.disagreement(), "parts": parts}


def compare(case: Case, peer: PeerProcess | None, *, rounds: int, seconds: float) -> Comparison:
    """Measures a problem in turns: ours, theirs, ours, theirs, ..., since the machine's speed drifts."""
    ours = Ours(case)
    if peer is not None:
        peer.measure(case.peer)  # builds the problem, and warms up
    rows: tuple[list[Row], list[Row]] = ([], [])
    for _ in range(rounds):
        rows[0].append(ours.measure(seconds))
        if peer is not None:
            rows[1].append(peer.measure(case.peer))
    return Comparison(case=case, ours=rows[0], theirs=rows[1])


def report(comparisons: dict[str, Comparison]) -> str:
    """The table of all problems, and below it whether both sides solved the same one."""
    rows = [row for name, comparison in comparisons.items() for row in _rows(name, comparison)]
    notes = [f"{name}: {_note(comparison)}" for name, comparison in comparisons.items()]
    return table(TITLE, HEADER, rows[:-1]) + "\n" + "\n".join(notes) + "\n"


def _rows(name: str, comparison: Comparison) -> list[list[str]]:
    rows = []
    for part in PARTS:
        cells = [name, part, number(comparison.micros("ours", part))]
        if comparison.theirs:
            ratio, low, high = comparison.ratio(part)
            cells += [
                number(comparison.micros("theirs", part)),
                f"{ratio:.1f}",
                f"{low:.1f}..{high:.1f}",
                f"{comparison.fastest(part):.1f}",
            ]
            cells += [
                bar(comparison.fastest(part), limit, at_least=True) for limit in comparison.case.bars.get(part, ())
            ]
        rows.append(cells + [""] * (len(HEADER) - len(cells)))
    return [*rows, []]


def _note(comparison: Comparison) -> str:
    """What was solved, or why the times must not be compared."""
    disagreement = comparison.disagreement()
    if disagreement:
        return f"DIFFERENT SOLVES, DO NOT COMPARE: {disagreement}"
    first = comparison.ours[0]
    told = f"T = {first.knots}, {first.iterations} iterations, cost {first.cost:.10g}"
    told += " on both sides" if comparison.theirs else ""
    longest = comparison.case.longest
    if longest is not None:
        micros = comparison.micros("ours", "iteration") * first.knots
        told += f"; an iteration takes us {micros:.1f} µs, required {bar(micros, longest, at_least=False)}"
    return told
