"""Interface of state manifolds: ⊕, ⊖, their Jacobians, bounds and names, as numbers and as expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals

Which = Literal["both", "first", "second"]


class StateAbstract(ABC):
    """A manifold of states x (nx,) with tangent vectors dx (ndx,); immutable after construction.

    Numeric methods take and return arrays. Methods named `sx_*` take and return CasADi SX columns, for expressions that
    are compiled: structural zeros and ones are kept, and derivatives are finite everywhere.

    Attributes:
        nx: Number of coordinates.
        ndx: Dimension of the tangent space.
        lower: Lower bounds of x ⊖ zero(), shape (ndx,), -inf where there is none.
        upper: Upper bounds of x ⊖ zero(), shape (ndx,), inf where there is none.
    """

    nx: int
    ndx: int
    lower: Reals
    upper: Reals

    def _finish(self, lower: npt.ArrayLike, upper: npt.ArrayLike) -> None:
        """Last call in the `__init__` of a subclass: checks and sets the bounds, then makes the state immutable."""
        self.lower = _check_bound("lower", lower, self.ndx)
        self.upper = _check_bound("upper", upper, self.ndx)
        crossed = np.flatnonzero(self.lower > self.upper)
        if crossed.size:
            i = int(crossed[0])
            raise InvalidArgumentError(
                f"lower: expected lower <= upper, got {self.lower[i]} > {self.upper[i]} "
                f"for {self.tangent_names[i]!r} (index {i}); exchange the two"
            )
        object.__setattr__(self, "_finished", True)

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_finished", False):
            raise AttributeError(
                f"{type(self).__name__} is immutable after construction: cannot set {name!r}; build another one"
            )
        object.__setattr__(self, name, value)

    # --- numbers -------------------------------------------------------------------------------------------------

    @abstractmethod
    def zero(self) -> Reals:
        """Neutral state, shape (nx,); a new array."""

    @abstractmethod
    def rand(self, rng: np.random.Generator | int) -> Reals:
        """A random state, shape (nx,).

        Rotations are uniform. Other coordinates are uniform within their bounds, or in [-1, 1] without bounds.
        Velocities are uniform in [-1, 1], clipped to their bounds.

        Args:
            rng: Random generator, or the seed of a new one.
        """

    def integrate(self, x: npt.ArrayLike, dx: npt.ArrayLike) -> Reals:
        """x ⊕ dx, shape (nx,)."""
        return self._integrate(_vector("x", x, self.nx), _vector("dx", dx, self.ndx))

    def difference(self, x0: npt.ArrayLike, x1: npt.ArrayLike) -> Reals:
        """x1 ⊖ x0, shape (ndx,): x0 ⊕ (x1 ⊖ x0) = x1."""
        return self._difference(_vector("x0", x0, self.nx), _vector("x1", x1, self.nx))

    def jintegrate(self, x: npt.ArrayLike, dx: npt.ArrayLike, which: Which = "both") -> Reals | tuple[Reals, Reals]:
        """Derivatives of x ⊕ dx in x ("first") and in dx ("second"), shape (ndx, ndx) each, in tangent coordinates.

        (x ⊕ a) ⊕ dx = (x ⊕ dx) ⊕ J₁ a and x ⊕ (dx + b) = (x ⊕ dx) ⊕ J₂ b, to first order in a and b.
        """
        _check_which(which)
        return _select(self._jintegrate(_vector("x", x, self.nx), _vector("dx", dx, self.ndx)), which)

    def jdifference(self, x0: npt.ArrayLike, x1: npt.ArrayLike, which: Which = "both") -> Reals | tuple[Reals, Reals]:
        """Derivatives of x1 ⊖ x0 in x0 ("first") and in x1 ("second"), shape (ndx, ndx) each.

        x1 ⊖ (x0 ⊕ a) = x1 ⊖ x0 + J₁ a and (x1 ⊕ b) ⊖ x0 = x1 ⊖ x0 + J₂ b, to first order in a and b.
        """
        _check_which(which)
        return _select(self._jdifference(_vector("x0", x0, self.nx), _vector("x1", x1, self.nx)), which)

    def at_rest(self, x: Reals) -> Reals:
        """The state with zero velocity, shape (nx,); a copy of the state if its manifold has no velocities."""
        return np.array(x, dtype=np.float64)

    @abstractmethod
    def normalize(self, x: npt.ArrayLike) -> Reals:
        """The state with its rotations scaled to norm 1, shape (nx,); a new array.

        Raises:
            InvalidArgumentError: A rotation has norm zero, or the size is wrong.
        """

    def check(self, x: npt.ArrayLike, argument: str = "x") -> Reals:
        """A copy of x, shape (nx,), after checking that it is a state.

        Raises:
            InvalidArgumentError: The size is wrong, a value is not finite, or a rotation is not normalised.
        """
        checked = check_array(argument, x, (self.nx,), cure=self._shape_hint())
        self._check_rotations(checked, argument)
        return checked

    def are_states(self, xs: Reals) -> bool:
        """Whether all rows of xs (n, nx) pass `check`."""
        return bool(np.all(np.isfinite(xs)))

    # --- expressions ---------------------------------------------------------------------------------------------

    @abstractmethod
    def sx_integrate(self, x: SX, dx: SX) -> SX:
        """x ⊕ dx, shape (nx, 1)."""

    @abstractmethod
    def sx_difference(self, x0: SX, x1: SX) -> SX:
        """x1 ⊖ x0, shape (ndx, 1)."""

    @abstractmethod
    def sx_jintegrate(self, x: SX, dx: SX) -> tuple[SX, SX]:
        """Derivatives of x ⊕ dx in x and in dx, sparse, shape (ndx, ndx) each."""

    @abstractmethod
    def sx_jdifference(self, x0: SX, x1: SX) -> tuple[SX, SX]:
        """Derivatives of x1 ⊖ x0 in x0 and in x1, sparse, shape (ndx, ndx) each."""

    @abstractmethod
    def sx_tangent_basis(self, x: SX) -> SX:
        """d(x ⊕ dx)/d dx at dx = 0, sparse, shape (nx, ndx)."""

    @abstractmethod
    def sx_tangent_projection(self, x: SX) -> SX:
        """d(x' ⊖ x)/dx' at x' = x, sparse, shape (ndx, nx); the left inverse of `sx_tangent_basis`.

        In tangent coordinates a map f between states has the derivative projection(f(x)) · df/dx · basis(x).
        """

    # --- names ---------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def coordinate_names(self) -> list[str]:
        """Name of each coordinate of x."""

    @property
    @abstractmethod
    def tangent_names(self) -> list[str]:
        """Name of each coordinate of dx."""

    @property
    @abstractmethod
    def tangent_units(self) -> list[str]:
        """Unit of each coordinate of dx: "rad", "m", "rad/s", "m/s", or "-"."""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, StateAbstract)
            and type(self) is type(other)
            and self.tangent_names == other.tangent_names
            and np.array_equal(self.lower, other.lower)
            and np.array_equal(self.upper, other.upper)
            and self._same_content(other)
        )

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.tangent_names), self.lower.tobytes(), self.upper.tobytes()))

    # --- implemented by subclasses -------------------------------------------------------------------------------

    @abstractmethod
    def _integrate(self, x: Reals, dx: Reals) -> Reals: ...

    @abstractmethod
    def _difference(self, x0: Reals, x1: Reals) -> Reals: ...

    @abstractmethod
    def _jintegrate(self, x: Reals, dx: Reals) -> tuple[Reals, Reals]: ...

    @abstractmethod
    def _jdifference(self, x0: Reals, x1: Reals) -> tuple[Reals, Reals]: ...

    @abstractmethod
    def _check_rotations(self, x: Reals, argument: str) -> None:
        """Raises InvalidArgumentError if a rotation in x is not normalised."""

    @abstractmethod
    def _shape_hint(self) -> str:
        """Description of a state, for the message about a wrong size."""

    @abstractmethod
    def _same_content(self, other: Any) -> bool:
        """Whether another state of the same class, with equal names and bounds, is equal to this one."""


def random_generator(rng: np.random.Generator | int) -> np.random.Generator:
    """The generator itself, or a new one from a seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, (int, np.integer)) and rng >= 0:
        return np.random.default_rng(int(rng))
    raise InvalidArgumentError(
        f"rng: expected a numpy.random.Generator or a seed >= 0, got {rng!r}; use numpy.random.default_rng(seed)"
    )


def uniform_within(rng: np.random.Generator, lower: Reals, upper: Reals) -> Reals:
    """Uniform random numbers within bounds; a missing bound counts as ∓1, or as 2 beyond the other bound."""
    low = np.where(np.isfinite(lower), lower, np.where(upper < -1, upper - 2, -1.0))
    high = np.where(np.isfinite(upper), upper, np.where(lower > 1, lower + 2, 1.0))
    return rng.uniform(low, high)


def check_columns(sizes: dict[str, tuple[SX, int]]) -> None:
    """Raises InvalidArgumentError unless each named expression is a column of its size."""
    for argument, (value, size) in sizes.items():
        if not isinstance(value, SX) or value.shape != (size, 1):
            got = value.shape if isinstance(value, SX) else type(value).__name__
            raise InvalidArgumentError(f"{argument}: expected a casadi.SX of shape ({size}, 1), got {got}")


def _vector(argument: str, value: npt.ArrayLike, size: int) -> Reals:
    array = np.asarray(value, dtype=np.float64)
    if array.shape != (size,):
        raise InvalidArgumentError(f"{argument}: expected shape ({size},), got {array.shape}")
    return array


def _check_bound(argument: str, value: npt.ArrayLike, size: int) -> Reals:
    array = np.array(value, dtype=np.float64)
    if array.shape != (size,):
        raise InvalidArgumentError(
            f"{argument}: expected shape ({size},), got {array.shape}; bounds are in the tangent space, "
            "±inf where there is none"
        )
    if np.isnan(array).any():
        raise InvalidArgumentError(f"{argument}: expected numbers or ±inf, got nan; use ±inf where there is no bound")
    array.flags.writeable = False
    return array


def _check_which(which: str) -> None:
    if which not in ("both", "first", "second"):
        raise InvalidArgumentError(f"which: expected 'both', 'first' or 'second', got {which!r}")


def _select(pair: tuple[Reals, Reals], which: Which) -> Reals | tuple[Reals, Reals]:
    if which == "both":
        return pair
    return pair[0] if which == "first" else pair[1]
