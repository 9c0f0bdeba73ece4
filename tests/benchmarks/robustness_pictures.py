"""Draws the profiles of robustness: part of the solves that are done after so many iterations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from tests.benchmarks.robustness import Figures, Outcome

LOOKS = {
    "SQP": ("C0", "-"),
    "IPOPT": ("C1", ":"),
    "IPOPT, rolled out": ("C1", "-"),
    "fatrop": ("C2", ":"),
    "fatrop, rolled out": ("C2", "-"),
    "mim-solvers": ("C3", "-"),
}
"""Color and line of each solver."""


def draw(figures: Figures, folder: Path) -> list[Path]:
    """Writes robustness-guesses.png and robustness-samples.png, one panel a problem; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_draw(name, figures[name], folder / f"robustness-{name}.png") for name in ("guesses", "samples")]


def _draw(name: str, profile: dict[str, dict[str, list[Outcome]]], path: Path) -> Path:
    figure = Figure(figsize=(14, 4), layout="constrained")
    axes = figure.subplots(1, len(profile), sharey=True)
    for ax, (problem, solvers) in zip(axes, profile.items()):
        for solver, outcomes in solvers.items():
            color, line = LOOKS[solver]
            counts, share = curve(outcomes)
            ax.step(counts, share, where="post", color=color, linestyle=line, label=solver)
        ax.set(title=problem, xlabel="iterations [-]", xscale="log", ylim=(0, 102))
        ax.grid(alpha=0.3)
    axes[0].set_ylabel(f"solved {name} [%]")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.savefig(path, dpi=100)
    return path


def curve(outcomes: list[Outcome]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of iterations from 1 on, and part of all solves that are done by then [%]."""
    counts = np.arange(1, max(iterations for _, iterations, _ in outcomes) + 1)
    done = np.array([iterations for solved, iterations, _ in outcomes if solved])
    return counts, 100.0 * (done[:, None] <= counts).sum(axis=0) / len(outcomes)
