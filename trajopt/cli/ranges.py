"""Ranges of parameters in texts: `goal=0.3,-0.4,0.5:0.6,0.4,0.5` at random, `goal[0]=0.3:0.6:20` as a grid."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.checks import check_count
from trajopt.errors import InvalidArgumentError, shown, unknown_name
from trajopt.shooting import ShootingProblem
from trajopt.sweeps import random
from trajopt.types import Reals

FORMS = "NAME=LOW:HIGH, drawn at random, or NAME=LOW:HIGH:COUNT, a grid"
EXAMPLE = "such as goal=0.3,-0.4,0.5:0.6,0.4,0.5 or goal[0]=0.3:0.6:20"
ROWS = 100  # random rows where --n is not given
GUESSES = ("seed", "spread")  # numbers that make a random guess


@dataclass(frozen=True, kw_only=True)
class Range:
    """Lower and upper ends of a parameter, or of one of its components.

    Attributes:
        name: Name of the parameter.
        place: Indices of the component; None for all.
        low: Lower ends, one number or one a component.
        high: Upper ends.
        count: Values of a grid along each component whose ends differ [-]; None for random numbers.
    """

    name: str
    place: tuple[int, ...] | None
    low: Reals
    high: Reals
    count: int | None


def parameters_of(
    texts: Sequence[str] | None, problem: ShootingProblem, n: int | None, seed: int
) -> Mapping[str, Reals] | Any:
    """Values of a sweep, as `trajopt.sweep` takes them, of texts such as "goal[0]=0.3:0.6:20".

    Args:
        texts: The texts.
        problem: The problem, for sizes, and for the components that no text names.
        n: Number of random rows [-]; None for 100, or for a grid.
        seed: Seed of random rows.

    Raises:
        InvalidArgumentError: A text is no range, or they don't fit together.
        UnknownNameError: The problem has no such parameter.
    """
    ranges = [_range(text, problem) for text in texts or ()]
    if not ranges:
        raise InvalidArgumentError(f"--vary: expected {FORMS}, got none; {EXAMPLE}")
    grids = [each.count is not None for each in ranges]
    if any(grids) and not all(grids):
        raise InvalidArgumentError(
            f"--vary: expected COUNT in all ranges, a grid, or in none, got both: {', '.join(texts or ())}"
        )
    if all(grids) and n is not None:
        raise InvalidArgumentError(
            f"--n: expected no number beside a grid, got {n}; leave it out, or leave COUNT out of --vary"
        )
    ends, counts = _merged(ranges, problem)
    if all(grids):
        return _grid(ends, counts)
    if "seed" in ends:
        raise InvalidArgumentError("--vary: expected seed=LOW:HIGH:COUNT, whole numbers; such as seed=0:99:100")
    return random(ends, check_count("--n", ROWS if n is None else n, least=1), seed=check_count("--seed", seed))


def _range(text: str, problem: ShootingProblem) -> Range:
    """The range of a text."""
    name, _, rest = (part.strip() for part in text.partition("="))
    parts = rest.split(":")
    ends = [_numbers(part) for part in parts[:2]]
    if not name or len(parts) not in (2, 3) or any(end is None for end in ends):
        raise InvalidArgumentError(f"--vary: expected {FORMS}, got {text!r}; {EXAMPLE}")
    count = None
    if len(parts) == 3:
        if not re.fullmatch(r"\s*[1-9]\d*\s*", parts[2]):
            raise InvalidArgumentError(f"--vary: expected COUNT >= 1 in {text!r}, got {parts[2]!r}; {EXAMPLE}")
        count = int(parts[2])
    found = re.fullmatch(r"(.*?)\[([\d,\s]+)\]", name)
    place = tuple(int(part) for part in found[2].split(",")) if found else None
    low, high = (np.array(end) for end in ends)
    return Range(name=_known(found[1] if found else name, problem), place=place, low=low, high=high, count=count)


def _numbers(text: str) -> list[float] | None:
    """Finite numbers with commas between; None for another text."""
    try:
        numbers = [float(part) for part in text.strip("()[] ").split(",")]
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None


def _known(name: str, problem: ShootingProblem) -> str:
    """Full name of a parameter: "goal" stands for "goal.reference"."""
    plain, at, knots = name.partition("@")
    known = [*problem.parameters, "x0", "us", *GUESSES]
    if plain not in known and f"{plain}.reference" in known:
        plain = f"{plain}.reference"
    if plain not in known:
        raise unknown_name("--vary: parameter", plain, known)
    return f"{plain}{at}{knots}"


def _usual(name: str, problem: ShootingProblem) -> Reals:
    """Value of a parameter without a sweep."""
    plain, _, knots = name.partition("@")
    if plain in ("x0", "us", *GUESSES):
        return {"x0": problem.x0, "us": np.zeros((problem.T, problem.nu))}.get(plain, np.zeros(()))
    shape = problem.parameters[plain].shape
    value = np.asarray(problem.get_parameter(plain, knots or None))
    return value if shape is None or value.ndim == len(shape) else value[-1]


def _merged(ranges: Sequence[Range], problem: ShootingProblem) -> tuple[dict[str, Reals], dict[str, Any]]:
    """Ends (2, ...) of each parameter, and how many values each component takes on a grid."""
    ends: dict[str, Reals] = {}
    counts: dict[str, Any] = {}
    for each in ranges:
        if each.name not in ends:
            usual = _usual(each.name, problem)
            ends[each.name], counts[each.name] = np.array([usual, usual], dtype=float), np.ones(usual.shape, dtype=int)
        both, shape = ends[each.name], counts[each.name].shape
        place: Any = (...,) if each.place is None else each.place
        if each.place is not None and (len(each.place) != len(shape) or any(i >= m for i, m in zip(each.place, shape))):
            raise InvalidArgumentError(
                f"--vary: expected a component of {each.name}, of shape {shape}, got {list(each.place)}"
            )
        wanted = both[(0, *place)].shape
        for side, given in enumerate((each.low, each.high)):
            if given.size not in (1, math.prod(wanted)):
                raise InvalidArgumentError(
                    f"--vary: expected 1 or {math.prod(wanted)} numbers for each end of {each.name}, got {given.size}: "
                    f"{shown(given.tolist())}"
                )
            both[(side, *place)] = given.reshape(wanted) if given.size > 1 else given[0]
        if np.any(both[0] > both[1]):
            raise InvalidArgumentError(f"--vary: expected LOW <= HIGH of {each.name}, got {shown(both.tolist())}")
        if each.count is not None:
            counts[each.name][place] = np.where(both[(0, *place)] < both[(1, *place)], each.count, 1)
    return ends, counts


def _grid(ends: Mapping[str, Reals], counts: Mapping[str, Any]) -> dict[str, Reals]:
    """All combinations of components, the last one changes fastest."""
    sizes = [int(m) for count in counts.values() for m in np.ravel(count)]
    check_count("--vary: rows of the grid", math.prod(sizes), most=10**8)
    steps = iter(np.unravel_index(np.arange(math.prod(sizes)), sizes))
    values = {}
    for name, (low, high) in ends.items():
        flat = [
            np.linspace(least, most, m)[next(steps)]
            for least, most, m in zip(low.ravel(), high.ravel(), np.ravel(counts[name]))
        ]
        values[name] = np.stack(flat, axis=1).reshape(-1, *low.shape)
    return values
