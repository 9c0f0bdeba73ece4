"""The knots of a problem: their kinds, and the ways to select some of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.expression import ActionModelExpression
from trajopt.checks import check_items, check_known, is_integer
from trajopt.errors import InvalidArgumentError, shown
from trajopt.shooting.black_box import BlackBoxKind
from trajopt.shooting.compiled import CompiledKind
from trajopt.shooting.kinds import Kind
from trajopt.types import Ints

Knots = int | slice | range | Iterable[int] | str | None
KnotPhases = Knots | Sequence[Knots]
"""Knots, or a list of several parts of the knots."""
Index = slice | Ints
"""Index of rows of an array."""


def kinds_of(running: Sequence[ActionModelAbstract], terminal: ActionModelAbstract) -> list[Kind]:
    """Kinds of knots 0..T in order of first occurrence; the terminal kind comes last."""
    where: dict[int, list[int]] = {}
    models: dict[int, ActionModelAbstract] = {}
    for t, model in enumerate(running):
        where.setdefault(id(model), []).append(t)
        models[id(model)] = model
    kinds = [_kind(models[i], knots, terminal=False) for i, knots in where.items()]
    return [*kinds, _kind(terminal, [len(running)], terminal=True)]


def _kind(model: ActionModelAbstract, knots: list[int], *, terminal: bool) -> Kind:
    if isinstance(model, ActionModelExpression):
        return CompiledKind(model, knots, terminal=terminal)
    return BlackBoxKind(model, knots, terminal=terminal)


def knot_numbers(knots: Knots, T: int) -> list[int]:
    """Knot numbers in 0..T of a selection: a number, range, slice, list, "running", "terminal" or "all"."""
    words = {"running": range(T), "terminal": range(T, T + 1), "all": range(T + 1)}
    if isinstance(knots, str):
        return list(words[check_known("knots:", knots, words)])
    if isinstance(knots, slice):
        return list(range(T + 1))[knots]
    numbers: Sequence[Any] = check_items("knots", knots, "knots") if isinstance(knots, Iterable) else [knots]
    resolved = []
    for t in numbers:
        if not is_integer(t) or not -T - 1 <= t <= T:
            raise InvalidArgumentError(
                f"knots: expected numbers from 0 to {T} (the terminal, also -1), 'running', 'terminal' or 'all', "
                f"got {shown(t)}"
            )
        resolved.append(int(t) % (T + 1))
    if len(set(resolved)) < len(resolved):
        twice = next(t for i, t in enumerate(resolved) if t in resolved[:i])
        raise InvalidArgumentError(f"knots: expected each knot once, got {twice} twice; remove one")
    return resolved


def index_of(knots: Sequence[int] | Ints) -> Index:
    """Index for an array of knots; a slice if the numbers are consecutive, which takes a tenth of the time."""
    numbers = np.array(knots, dtype=np.int64)
    if len(numbers) and np.all(np.diff(numbers) == 1):
        return slice(int(numbers[0]), int(numbers[-1]) + 1)
    return numbers


def describe(knots: Sequence[int]) -> str:
    """Returns a text for messages: "knot 3", "knots 2..5", or the first twelve numbers, as in "knots 1, 4, 9"."""
    if len(knots) > 1 and list(knots) == list(range(knots[0], knots[-1] + 1)):
        return f"knots {knots[0]}..{knots[-1]}"
    shown = ", ".join(str(t) for t in knots[:12])
    return f"knot{'s' if len(knots) > 1 else ''} {shown}{', ...' if len(knots) > 12 else ''}"
