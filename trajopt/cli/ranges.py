"""Parser of parameter ranges: `goal=0.3,-0.4,0.5:0.6,0.4,0.5` is random, `goal[0]=0.3:0.6:20` is a grid."""

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
ROWS = 100  # default number of random rows
GUESSES = ("seed", "spread")  # options of a random guess


@dataclass(frozen=True, kw_only=True)
class Range:
    """Lower and upper bounds of a parameter, or of one of its components.

    Attributes:
        name: Name of the parameter.
        place: Indices of the component; None for all components.
        low: Lower bounds, one number or one per component.
        high: Upper bounds, likewise.
        count: Number of grid values along each component with different bounds [-]; None for random numbers.
    """

    name: str
    place: tuple[int, ...] | None
    low: Reals
    high: Reals
    count: int | None


def parameters_of(
    texts: Sequence[str] | None, problem: ShootingProblem, n: int | None, seed: int
) -> Mapping[str, Reals] | Any:
    """Parses ranges such as "goal[0]=0.3:0.6:20" into the parameters of `trajopt.sweep`.

    Args:
        texts: The ranges.
        problem: The problem, for sizes and for values of components without a range.
        n: Number of random rows [-]; None for 100, or for a grid.
        seed: Seed of random rows.

    Raises:
        InvalidArgumentError: A text is not a range, or the ranges do not fit together.
        UnknownNameError: The problem has no parameter of this name.
    """
    ranges = [_range(text, problem) for text in texts or ()]
    if not ranges:
        raise InvalidArgumentError(f"--vary: expected {FORMS}, got none; {EXAMPLE}")
    grids = [each.count is not None for each in ranges]
    if any(grids) and not all(grids):
        raise InvalidArgumentError(
            f"--vary: expected COUNT in all ranges for a grid, or in none, got both: {', '.join(texts or ())}"
        )
    if all(grids) and n is not None:
        raise InvalidArgumentError(
            f"--n: expected none for a grid, got {n}; leave it out, or leave COUNT out of --vary"
        )
    ends, counts = _merged(ranges, problem)
    if all(grids):
        return _grid(ends, counts)
    if "seed" in ends:
        raise InvalidArgumentError("--vary: expected seed=LOW:HIGH:COUNT with integers, such as seed=0:99:100")
    return random(ends, check_count("--n", ROWS if n is None else n, least=1), seed=check_count("--seed", seed))


def _range(text: str, problem: ShootingProblem) -> Range:
    """Parses one range."""
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
    match = re.fullmatch(r"(.*?)\[([\d,\s]+)\]", name)
    place = tuple(int(part) for part in match[2].split(",")) if match else None
    low, high = (np.array(end) for end in ends)
    return Range(name=_full_name(match[1] if match else name, problem), place=place, low=low, high=high, count=count)


def _numbers(text: str) -> list[float] | None:
    """Parses finite numbers separated by commas; None for other text."""
    try:
        numbers = [float(part) for part in text.strip("()[] ").split(",")]
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None


def _full_name(name: str, problem: ShootingProblem) -> str:
    """Returns the full name of a parameter: "goal" is short for "goal.reference"."""
    plain, at, knots = name.partition("@")
    names = [*problem.parameters, "x0", "us", *GUESSES]
    if plain not in names and f"{plain}.reference" in names:
        plain = f"{plain}.reference"
    if plain not in names:
        raise unknown_name("--vary: parameter", plain, names)
    return f"{plain}{at}{knots}"


def _usual(name: str, problem: ShootingProblem) -> Reals:
    """Returns the value of a parameter without a sweep."""
    plain, _, knots = name.partition("@")
    if plain in ("x0", "us", *GUESSES):
        return {"x0": problem.x0, "us": np.zeros((problem.T, problem.nu))}.get(plain, np.zeros(()))
    shape = problem.parameters[plain].shape
    value = np.asarray(problem.get_parameter(plain, knots or None))
    return value if shape is None or value.ndim == len(shape) else value[-1]


def _merged(ranges: Sequence[Range], problem: ShootingProblem) -> tuple[dict[str, Reals], dict[str, Any]]:
    """Merges ranges to bounds (2, ...) of each parameter, and numbers of grid values of each component."""
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
        for side, numbers in enumerate((each.low, each.high)):
            if numbers.size not in (1, math.prod(wanted)):
                raise InvalidArgumentError(
                    f"--vary: expected 1 or {math.prod(wanted)} numbers for each bound of {each.name}, got "
                    f"{numbers.size}: {shown(numbers.tolist())}"
                )
            both[(side, *place)] = numbers.reshape(wanted) if numbers.size > 1 else numbers[0]
        if np.any(both[0] > both[1]):
            raise InvalidArgumentError(f"--vary: expected LOW <= HIGH for {each.name}, got {shown(both.tolist())}")
        if each.count is not None:
            counts[each.name][place] = np.where(both[(0, *place)] < both[(1, *place)], each.count, 1)
    return ends, counts


def _grid(ends: Mapping[str, Reals], counts: Mapping[str, Any]) -> dict[str, Reals]:
    """Returns all combinations of components; the last one changes fastest."""
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
