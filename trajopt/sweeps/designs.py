"""Designs of experiments as blocks of rows: grids, random numbers, arrays and generators."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.checks import as_numbers, check_array, check_count, check_mapping, check_texts
from trajopt.errors import InvalidArgumentError, shown, unknown_name
from trajopt.types import Reals

Block = dict[str, Reals]
"""Values of some rows by name, (n, ...) each."""


class Design(ABC):
    """Interface of a design: rows of values that are accessed by number."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows [-]."""

    @abstractmethod
    def block(self, start: int, stop: int) -> Block:
        """Returns the values of rows start to stop - 1."""


@dataclass(frozen=True)
class Arrays(Design):
    """Design from arrays.

    Attributes:
        values: Values by name, (n, ...).
    """

    values: Block

    @property
    def n(self) -> int:
        return len(next(iter(self.values.values())))

    def block(self, start: int, stop: int) -> Block:
        return {name: values[start:stop] for name, values in self.values.items()}


@dataclass(frozen=True)
class Grid(Design):
    """Design of all combinations of values; the last axis changes fastest.

    Attributes:
        axes: Values of each axis by name, (m, ...).
    """

    axes: Block

    @property
    def n(self) -> int:
        return math.prod(len(axis) for axis in self.axes.values())

    def block(self, start: int, stop: int) -> Block:
        places = np.unravel_index(np.arange(start, stop), [len(axis) for axis in self.axes.values()])
        return {name: axis[place] for (name, axis), place in zip(self.axes.items(), places)}


@dataclass(frozen=True)
class Random(Design):
    """Design of uniform random numbers; a row depends only on the seed and its number.

    Attributes:
        ranges: Lower and upper bounds by name, (2, ...).
        rows: Number of rows [-].
        seed: Seed [-].
        log: Names of values whose logarithm is uniform.
    """

    ranges: Block
    rows: int
    seed: int
    log: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        return self.rows

    def block(self, start: int, stop: int) -> Block:
        sizes = [ends[0].size for ends in self.ranges.values()]
        drawn = np.array([np.random.default_rng((self.seed, i)).random(sum(sizes)) for i in range(start, stop)])
        parts = np.split(drawn.reshape(stop - start, sum(sizes)), np.cumsum(sizes)[:-1], axis=1)
        return {name: self._between(name, part) for name, part in zip(self.ranges, parts)}

    def _between(self, name: str, part: Reals) -> Reals:
        low, high = self.ranges[name]
        part = part.reshape(-1, *low.shape)
        return low * (high / low) ** part if name in self.log else low + (high - low) * part


def grid(axes: Mapping[str, Any] | None = None, /, **more: Any) -> Grid:
    """Returns all combinations of values, such as `grid({"goal.weight": [1, 10, 100]}, x0=states)`.

    Args:
        axes: Values by name, one per row, (m, ...).
        **more: Further values, for names that are Python identifiers.

    Raises:
        InvalidArgumentError: There is no axis, or an axis has no values.
    """
    return Grid(_arrays("axes", _together("axes", axes, more)))


def random(ranges: Mapping[str, Any], n: int, *, seed: int = 0, log: Iterable[str] = ()) -> Random:
    """Returns uniform random values; a longer design with the same seed begins with the same rows.

    Args:
        ranges: Bounds (lower, upper) by name, each of the parameter's shape.
        n: Number of rows [-].
        seed: Seed [-].
        log: Names of values whose logarithm is uniform, such as weights over several decades; their bounds are > 0.

    Raises:
        InvalidArgumentError: A range is not a pair (lower, upper), or a bound is not valid.
        UnknownNameError: `log` has a name that is not in `ranges`.
    """
    ends = _arrays("ranges", _together("ranges", ranges, {}))
    names = check_texts("log", log)
    for name, pair in ends.items():
        if len(pair) != 2 or np.any(pair[0] > pair[1]):
            raise InvalidArgumentError(f"ranges: expected (lower, upper) for {name}, got {shown(ranges[name])}")
    for name in names:
        if name not in ends:
            raise unknown_name("log: range", name, ends)
        if np.any(ends[name] <= 0):
            raise InvalidArgumentError(f"log: expected bounds > 0 for {name}, got {shown(ranges[name])}")
    return Random(ends, check_count("n", n, least=1, most=10**12), check_count("seed", seed, most=2**63), names)


def blocks(parameters: Any, size: int) -> tuple[Iterator[Block], int | None]:
    """Returns an iterator over blocks of `size` rows, and the number of rows; the last block may be shorter.

    The number of rows is None for a generator.

    Args:
        parameters: A design, a mapping from names to arrays (n, ...), or an iterable of mappings, one per row, which
            is consumed during the sweep.
        size: Rows of a block [-].

    Raises:
        InvalidArgumentError: The argument is of another type, or names, lengths or shapes do not fit.
    """
    if isinstance(parameters, Mapping):
        parameters = Arrays(_arrays("parameters", parameters))
        first, n = next(iter(parameters.values)), parameters.n
        for name, values in parameters.values.items():
            if len(values) != n:
                raise InvalidArgumentError(
                    f"parameters: expected {n} rows for {name}, as for {first}, got {len(values)}; for all "
                    "combinations use trajopt.sweeps.grid(...)"
                )
    if isinstance(parameters, Design):
        design = parameters
        return (design.block(i, min(i + size, design.n)) for i in range(0, design.n, size)), design.n
    try:
        rows: Iterator[Any] | None = iter(() if isinstance(parameters, str) else parameters)
    except TypeError:
        rows = None
    if rows is None or isinstance(parameters, str):
        raise InvalidArgumentError(
            "parameters: expected a dictionary of arrays, grid(...), random(...) or a generator of dictionaries, got "
            f"{shown(parameters)}; such as {{'x0': states}} with states of shape (n, nx)"
        )
    return _of_rows(rows, size), None


def _of_rows(rows: Iterable[Any], size: int) -> Iterator[Block]:
    """Groups the rows of a generator into blocks."""
    shapes: dict[str, tuple[int, ...]] | None = None
    numbered = enumerate(rows)
    while some := list(itertools.islice(numbered, size)):
        read = []
        for i, row in some:
            values = check_mapping(f"parameters: row {i}", row, "a generator yields one dictionary per row")
            read.append({name: as_numbers(f"parameters: row {i}: {name}", value) for name, value in values.items()})
            now = {name: value.shape for name, value in read[-1].items()}
            shapes = now if shapes is None else shapes
            if now != shapes or not now:
                raise InvalidArgumentError(
                    f"parameters: expected the names and shapes of the first row, {shapes}, got {now} in row {i}; set "
                    "the same names in every row"
                )
        assert shapes is not None
        yield {name: np.array([row[name] for row in read]) for name in shapes}


def _together(argument: str, values: Any, more: Mapping[str, Any]) -> dict[str, Any]:
    return {**check_mapping(argument, {} if values is None else values, "names and values"), **more}


def _arrays(argument: str, columns: Mapping[Any, Any]) -> Block:
    """Converts values to arrays (m, ...) of finite numbers, m > 0."""
    if not columns:
        raise InvalidArgumentError(f"{argument}: expected at least one name with values, got none")
    arrays = {}
    for name, values in columns.items():
        if not isinstance(name, str):
            raise InvalidArgumentError(f"{argument}: expected names, got {shown(name)}")
        cure = "one value a row; a placement T is T.homogeneous[:3]"
        array = as_numbers(f"{argument}: {name}", values, "rows of numbers", cure=cure)
        if array.ndim == 0 or not len(array):
            raise InvalidArgumentError(f"{argument}: expected rows of values for {name}, got {shown(values)}")
        arrays[name] = check_array(f"{argument}: {name}", array, array.shape)
    return arrays
