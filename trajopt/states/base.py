"""Interface of state manifolds: ⊕, ⊖, their Jacobians, bounds and names, as numbers and as expressions."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt import notebook
from trajopt.checks import all_finite, check_array, check_count
from trajopt.errors import ImmutableError, InvalidArgumentError, shown
from trajopt.model.parameters import Parameter
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.robots import Robot
from trajopt.robots.placements import NORM_TOLERANCE
from trajopt.states import derived
from trajopt.states.arguments import check_names, check_tangent_bounds
from trajopt.states.sampling import random_generator, uniform_within
from trajopt.types import Reals

Which = Literal["both", "first", "second"]


class StateAbstract(ExplainsAttributes, ABC):
    """A manifold of states x (nx,) with tangent vectors dx (ndx,); immutable after construction.

    To write your own, define four methods: `__init__`, which sets its own attributes and then calls this one, `zero`,
    `sx_integrate` and `sx_difference`. The base class derives the rest from them, and its constructor tests the two
    formulas. They must be smooth; `trajopt.lie` offers smooth exponentials and logarithms.

    ```python
    class StateCircle(trajopt.StateAbstract):
        def __init__(self):
            super().__init__(2, 1, names=["cos", "sin"], tangent_names=["theta"], units=["rad"])

        def zero(self):
            return np.array([1.0, 0.0])

        def sx_integrate(self, x, dx):
            c, s = ca.cos(dx), ca.sin(dx)
            return ca.vertcat(c * x[0] - s * x[1], s * x[0] + c * x[1])

        def sx_difference(self, x0, x1):
            return ca.atan2(x0[0] * x1[1] - x0[1] * x1[0], x0[0] * x1[0] + x0[1] * x1[1])
    ```

    Numeric methods take and return arrays. Methods named `sx_*` take and return CasADi SX columns, for expressions that
    are compiled. They preserve structural zeros and ones, and their derivatives are finite everywhere.

    Args:
        nx: Number of coordinates, > 0.
        ndx: Dimension of the tangent space, from 1 to nx.
        names: Name of each coordinate, for plots; by default x0, x1, ...
        tangent_names: Name of each tangent coordinate; by default `names`, or dx0, dx1, ... if ndx < nx.
        units: Unit of each tangent coordinate; by default "-".
        coordinate_units: Unit of each coordinate; by default `units`, or "-" if ndx < nx.
        lower: Lower bounds of x ⊖ zero(), shape (ndx,), -inf for no bound; by default no bounds.
        upper: Upper bounds of x ⊖ zero(), shape (ndx,), inf for no bound; by default no bounds.

    Attributes:
        nx: Number of coordinates.
        ndx: Dimension of the tangent space.
        lower: Lower bounds of x ⊖ zero(), shape (ndx,), -inf for no bound.
        upper: Upper bounds of x ⊖ zero(), shape (ndx,), inf for no bound.

    Raises:
        InvalidArgumentError: A size is wrong, a lower bound exceeds the upper one, or the formulas fail their test.
    """

    proven = False
    """True if the constructor may skip the test of the formulas, as for the tested states of this package."""

    robot: Robot | None = None
    """The robot whose state this is; None for other states."""

    nx: int
    ndx: int
    lower: Reals
    upper: Reals

    def __init__(
        self,
        nx: int,
        ndx: int,
        *,
        names: Sequence[str] | None = None,
        tangent_names: Sequence[str] | None = None,
        units: Sequence[str] | None = None,
        coordinate_units: Sequence[str] | None = None,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
    ) -> None:
        self.nx, self.ndx = check_count("nx", nx, least=1, most=10_000), check_count("ndx", ndx, least=1)
        if ndx > nx:
            raise InvalidArgumentError(f"ndx: expected at most nx = {nx} tangent coordinates, got {ndx}")
        flat = self.nx == self.ndx
        self._names = check_names("names", names, [f"x{i}" for i in range(self.nx)])
        defaults = list(self._names) if flat else [f"dx{i}" for i in range(self.ndx)]
        self._tangent_names = check_names("tangent_names", tangent_names, defaults)
        self._units = check_names("units", units, ["-"] * self.ndx)
        defaults = list(self._units) if flat else ["-"] * self.nx
        self._coordinate_units = check_names("coordinate_units", coordinate_units, defaults)
        self.lower, self.upper = check_tangent_bounds(lower, upper, self._tangent_names)
        object.__setattr__(self, "_finished", True)
        if not self.proven:
            derived.check_formulas(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_finished", False):
            raise ImmutableError(
                f"{type(self).__name__} is immutable after construction: cannot set {name!r}; construct a new one. "
                "In your own class, set attributes before super().__init__(...)"
            )
        object.__setattr__(self, name, value)

    # --- numbers -------------------------------------------------------------------------------------------------

    @abstractmethod
    def zero(self) -> Reals:
        """Neutral state, shape (nx,); a new array."""

    def rand(self, rng: np.random.Generator | int) -> Reals:
        """Returns a random state, shape (nx,).

        By default it is zero() ⊕ dx with dx uniform within the bounds, or in [-1, 1] without bounds. Rotations in the
        states of this package are uniformly distributed.

        Args:
            rng: Random generator, or the seed of a new one.
        """
        return self.integrate_unchecked(self.zero(), uniform_within(random_generator(rng), self.lower, self.upper))

    def integrate(self, x: npt.ArrayLike, dx: npt.ArrayLike) -> Reals:
        """Moves a state along a tangent vector dx (ndx,): x ⊕ dx, shape (nx,)."""
        return self.integrate_unchecked(self.check(x), self._check_tangent(dx))

    def difference(self, x0: npt.ArrayLike, x1: npt.ArrayLike) -> Reals:
        """Tangent vector from x0 to x1: x1 ⊖ x0, shape (ndx,), with x0 ⊕ (x1 ⊖ x0) = x1."""
        return self.difference_unchecked(self.check(x0, "x0"), self.check(x1, "x1"))

    def jintegrate(self, x: npt.ArrayLike, dx: npt.ArrayLike, which: Which = "both") -> Reals | tuple[Reals, Reals]:
        """Derivatives of x ⊕ dx with respect to x ("first") and dx ("second"), shape (ndx, ndx) each.

        (x ⊕ a) ⊕ dx = (x ⊕ dx) ⊕ J₁ a and x ⊕ (dx + b) = (x ⊕ dx) ⊕ J₂ b, to first order in a and b.
        """
        _check_which(which)
        return _select(self._jintegrate(self.check(x), self._check_tangent(dx)), which)

    def jdifference(self, x0: npt.ArrayLike, x1: npt.ArrayLike, which: Which = "both") -> Reals | tuple[Reals, Reals]:
        """Derivatives of x1 ⊖ x0 with respect to x0 ("first") and x1 ("second"), shape (ndx, ndx) each.

        x1 ⊖ (x0 ⊕ a) = x1 ⊖ x0 + J₁ a and (x1 ⊕ b) ⊖ x0 = x1 ⊖ x0 + J₂ b, to first order in a and b.
        """
        _check_which(which)
        return _select(self._jdifference(self.check(x0, "x0"), self.check(x1, "x1")), which)

    def at_rest(self, x: npt.ArrayLike) -> Reals:
        """Returns the state with zero velocity, shape (nx,); a copy of x if the manifold has no velocities."""
        return self.check(x)

    def normalize(self, x: npt.ArrayLike) -> Reals:
        """Projects coordinates (nx,) onto the manifold, such as quaternions to norm 1; returns a new array (nx,).

        By default zero() ⊕ (x ⊖ zero()), or x itself if ndx = nx.

        Raises:
            InvalidArgumentError: A rotation has norm zero, or the size is wrong.
        """
        checked = check_array("x", x, (self.nx,), cure=self._shape_hint)
        if self.nx == self.ndx:
            return checked
        zero = self.zero()
        near = self.integrate_unchecked(zero, self.difference_unchecked(zero, checked))
        if not np.all(np.isfinite(near)):
            raise InvalidArgumentError(
                f"x: expected coordinates near a state of {self!r}, got {checked.tolist()}; see zero()"
            )
        return near

    def check(self, x: npt.ArrayLike, argument: str = "x") -> Reals:
        """Returns a copy of x, shape (nx,), after checking that it is a valid state.

        Raises:
            InvalidArgumentError: The size is wrong, a value is not finite, or a rotation is not normalised.
        """
        checked = check_array(argument, x, (self.nx,), cure=self._shape_hint)
        self._check_rotations(checked, argument)
        return checked

    def are_states(self, xs: Reals) -> bool:
        """True if all rows of xs (n, nx) are valid states, see `check`."""
        if not all_finite(xs):
            return False
        return self.nx == self.ndx or all(self._is_near(x) for x in xs)

    def body_poses(self, xs: Reals) -> Reals | None:
        """Poses of the body that the states xs (n, nx) describe, shape (n, 4, 4) [-, m]; used for drawing.

        Returns None if the states are not poses of a single body.
        """
        return None

    # --- expressions ---------------------------------------------------------------------------------------------

    @abstractmethod
    def sx_integrate(self, x: SX, dx: SX) -> SX:
        """Expression of x ⊕ dx, shape (nx, 1)."""

    @abstractmethod
    def sx_difference(self, x0: SX, x1: SX) -> SX:
        """Expression of x1 ⊖ x0, shape (ndx, 1)."""

    def sx_jintegrate(self, x: SX, dx: SX) -> tuple[SX, SX]:
        """Expressions of the derivatives of x ⊕ dx with respect to x and dx, sparse, shape (ndx, ndx) each."""
        first, second = self._derivatives["jintegrate"](x, dx)
        return first, second

    def sx_jdifference(self, x0: SX, x1: SX) -> tuple[SX, SX]:
        """Expressions of the derivatives of x1 ⊖ x0 with respect to x0 and x1, sparse, shape (ndx, ndx) each."""
        first, second = self._derivatives["jdifference"](x0, x1)
        return first, second

    def sx_jintegrate_inverse(self, x: SX, dx: SX) -> SX:
        """Expression of the inverse of the derivative of x ⊕ dx with respect to dx, sparse, shape (ndx, ndx)."""
        return self.sx_jdifference(x, self.sx_integrate(x, dx))[1]

    def sx_tangent_basis(self, x: SX) -> SX:
        """Expression of d(x ⊕ dx)/d dx at dx = 0, sparse, shape (nx, ndx)."""
        return SX(self._derivatives["basis"](x))

    def sx_tangent_projection(self, x: SX) -> SX:
        """Expression of d(x' ⊖ x)/dx' at x' = x, sparse, shape (ndx, nx); left inverse of `sx_tangent_basis`.

        In tangent coordinates a map f between states has the derivative projection(f(x)) · df/dx · basis(x).
        """
        return SX(self._derivatives["projection"](x))

    # --- names ---------------------------------------------------------------------------------------------------

    @property
    def coordinate_names(self) -> list[str]:
        """Name of each coordinate of x."""
        return list(self._names)

    @property
    def coordinate_units(self) -> list[str]:
        """Unit of each coordinate of x; "-" for components of quaternions and of points on the unit circle."""
        return list(self._coordinate_units)

    @property
    def tangent_names(self) -> list[str]:
        """Name of each coordinate of dx."""
        return list(self._tangent_names)

    @property
    def tangent_units(self) -> list[str]:
        """Unit of each coordinate of dx: "rad", "m", "rad/s", "m/s", or "-"."""
        return list(self._units)

    def parameters(self) -> dict[str, Parameter]:
        """Run-time parameters of the robot, such as "robot.forearm.mass"; empty for other states."""
        return {}

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

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nx={self.nx}, ndx={self.ndx})"

    def _repr_html_(self) -> str:
        return notebook.state(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not _is_cached(type(self), name)}

    def __setstate__(self, content: dict[str, Any]) -> None:
        vars(self).update(content)
        self.lower.flags.writeable = self.upper.flags.writeable = False

    # --- defaults that follow from the two formulas; subclasses may be faster or more accurate ---------------------

    @functools.cached_property
    def has_velocities(self) -> bool:
        """True if x has the form (q, v): ndx / 2 positions, then as many velocities, which are a vector space."""
        half, odd = divmod(self.ndx, 2)
        x, dx = SX.sym("x", self.nx), SX.sym("dx", self.ndx)
        away = [ca.sparsify(J - SX.eye(self.ndx)).sparsity().get_triplet() for J in self.sx_jintegrate(x, dx)]
        return not odd and all(i < half for rows, columns in away for i in (*rows, *columns))

    @functools.cached_property
    def curved_directions(self) -> npt.NDArray[np.bool_]:
        """Mask (ndx,) of the directions in which x ⊕ dx has a nonzero second derivative: those of rotations."""
        return derived.curved(self)

    @functools.cached_property
    def _derivatives(self) -> dict[str, ca.Function]:
        return derived.derivatives(self)

    @functools.cached_property
    def functions(self) -> dict[str, ca.Function]:
        """The expressions as CasADi functions: "integrate", "difference", "jintegrate", "jdifference"."""
        return derived.numbers(self)

    def integrate_unchecked(self, x: Reals, dx: Reals) -> Reals:
        """Same as `integrate`, for arguments that were checked before."""
        return self._evaluate("integrate", x, dx)[0].ravel()

    def difference_unchecked(self, x0: Reals, x1: Reals) -> Reals:
        """Same as `difference`, for arguments that were checked before."""
        return self._evaluate("difference", x0, x1)[0].ravel()

    def _jintegrate(self, x: Reals, dx: Reals) -> tuple[Reals, Reals]:
        first, second = self._evaluate("jintegrate", x, dx)
        return first, second

    def _jdifference(self, x0: Reals, x1: Reals) -> tuple[Reals, Reals]:
        first, second = self._evaluate("jdifference", x0, x1)
        return first, second

    def _evaluate(self, name: str, a: Reals, b: Reals) -> list[Reals]:
        return [value.full() for value in self.functions[name].call([a, b])]

    def _is_near(self, x: Reals) -> bool:
        """True if `normalize` does not change x (nx,)."""
        try:
            near = self.normalize(x)
        except InvalidArgumentError:
            return False
        return bool(np.abs(near - x).max() <= NORM_TOLERANCE * max(1.0, np.abs(x).max()))

    def _check_rotations(self, x: Reals, argument: str) -> None:
        """Raises InvalidArgumentError if x (nx,) is off the manifold, such as a quaternion whose norm is not 1."""
        if self.nx != self.ndx and not self._is_near(x):
            raise InvalidArgumentError(
                f"{argument}: expected a state of {self!r} within {NORM_TOLERANCE}, got {x.tolist()}; use "
                "state.normalize(x)"
            )

    def _check_tangent(self, dx: npt.ArrayLike) -> Reals:
        return check_array("dx", dx, (self.ndx,), cure="dx is a tangent vector (ndx,)")

    def _shape_hint(self) -> str:
        """Description of a state that ends the message about a wrong size."""
        return f"a state of {self!r} has {self.nx} coordinates: {', '.join(self._names)}"

    def _same_content(self, other: Any) -> bool:
        """Compares with another state of the same class that has equal names and bounds."""
        same = (self.functions[name].serialize() == other.functions[name].serialize() for name in self.functions)
        return np.array_equal(self.zero(), other.zero()) and all(same)


def check_state(state: Any, argument: str = "state") -> StateAbstract:
    """Returns `state`; raises InvalidArgumentError unless it is a state manifold."""
    if not isinstance(state, StateAbstract):
        raise InvalidArgumentError(
            f"{argument}: expected a state such as StateVector(nx) or StateMultibody(robot), got {shown(state)}"
        )
    return state


def check_columns(sizes: dict[str, tuple[SX, int]]) -> None:
    """Raises InvalidArgumentError unless each named expression is a column of the expected size."""
    for argument, (value, size) in sizes.items():
        if not isinstance(value, SX) or value.shape != (size, 1):
            got = value.shape if isinstance(value, SX) else type(value).__name__
            raise InvalidArgumentError(f"{argument}: expected a casadi.SX of shape ({size}, 1), got {got}")


def _is_cached(owner: type, name: str) -> bool:
    return isinstance(getattr(owner, name, None), functools.cached_property)


def _check_which(which: str) -> None:
    if not isinstance(which, str) or which not in ("both", "first", "second"):
        raise InvalidArgumentError(f"which: expected 'both', 'first' or 'second', got {shown(which)}")


def _select(pair: tuple[Reals, Reals], which: Which) -> Reals | tuple[Reals, Reals]:
    if which == "both":
        return pair
    return pair[0] if which == "first" else pair[1]
