"""The quadratic program with stages that every solver's step comes from, as a value."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.shooting.arrays import lifted, with_constant
from trajopt.shooting.evaluator import Evaluator
from trajopt.types import Reals


@dataclass(frozen=True, eq=False, kw_only=True)
class SecondOrderKnots:
    """Positions of knots with q⁺ = q ⊕ dt v⁺: their rows of F follow from those of the velocities.

    With dx in the order (q, v), and J0 and J1 the Jacobians of q ⊕ w by q and by w, F_q = dt J1 F_v + (J0 | 0 | 0).
    Beyond nb leading rows and columns J0 and J1 are the identity: nb is 6 for a robot on a free flyer, 0 for one on a
    fixed base whose joints turn about one axis each, and larger, up to n/2, where spherical joints lie further behind.
    Symplectic Euler steps are of this kind, and impulses with dt = 0 and J1dt = 0.

    Attributes:
        dt: Time steps (T,) [s].
        J0: Leading blocks of J0 (T, nb, nb).
        J1dt: Leading blocks of dt J1 (T, nb, nb).
    """

    dt: Reals
    J0: Reals
    J1dt: Reals


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearQuadratic:
    """Minimise Σ ½ zᵀH z + gᵀz + ½ dx_Tᵀ H_T dx_T + g_Tᵀ dx_T over z_t = (dx_t, du_t), t < T, and dx_T.

    Subject to dx_0 = f_0, dx_{t+1} = F_t z_t + f_{t+1} and, where there are constraints, C_t z_t + d_t = δ_t ∘ y_t with
    their multipliers y_t. Where δ = 0 that is an equality; interior-point and proximal methods set δ > 0 to what stands
    in their dual block. A knot with fewer constraints than others is padded with rows C = 0, d = 0, δ = 1, where y = 0.

    The arrays are held, not copied: a change in them is seen. A solver that changes them takes a `copy`. Their rows
    follow one another without a gap, in order; those of F may lie apart, as in F[:, n // 2 :]. T = 0 and m = 0 are
    problems, too. Of H and terminal_H only the lower triangles are read.

    The last k states may be constant, such as unknown parameters θ. Then F has the other nx = n - k rows and columns of
    states, E the columns of θ: the first nx elements of dx_{t+1} are F_t (dx, du) + Eᵀ_t dθ + f_{t+1}. A batch of
    problems is a further axis in front of all arrays. A program with a stage before the first may choose θ there: its
    first k controls are added to θ, and E_0 = 0.

    Attributes:
        F: Jacobians of the dynamics (T, nx, nx + m); with `second_order` rows of velocities alone (T, nx // 2, nx + m).
        f: Gaps (T + 1, n).
        g: Gradients (T, n + m).
        H: Hessians (T, n + m, n + m).
        terminal_g: Gradient at the end (n,).
        terminal_H: Hessian at the end (n, n).
        C: Constraint rows (T, nc, n + m); None without constraints.
        d: Their values (T, nc).
        delta: δ, not negative (T, nc); zeros by default.
        second_order: How rows of positions follow from those of velocities; None if F has all rows.
        E: Derivatives of the next state by the constant states, which are rows (T, k, nx); None without such states.
        starts: Whether the first k controls of the first stage are added to the constant states.
    """

    F: Reals
    f: Reals
    g: Reals
    H: Reals
    terminal_g: Reals
    terminal_H: Reals
    C: Reals | None = None
    d: Reals | None = None
    delta: Reals | None = None
    second_order: SecondOrderKnots | None = None
    E: Reals | None = None
    starts: bool = False

    @staticmethod
    def zeros(
        T: int, n: int, m: int, *, nc: int = 0, nb: int | None = None, k: int = 0, starts: bool = False
    ) -> LinearQuadratic:
        """Returns a program of these sizes whose arrays are zero, to be filled by the caller.

        Args:
            T: Number of knots before the last.
            n: Dimension of dx.
            m: Number of controls.
            nc: Number of constraint rows of a knot.
            nb: Size of the leading blocks of a second-order system; None for a system of first order.
            k: Number of constant states, the last of dx.
            starts: Whether the first k controls of the first stage are added to these.
        """
        s, nx = n + m, n - k
        structure = None
        if nb is not None:
            structure = SecondOrderKnots(dt=np.zeros(T), J0=np.zeros((T, nb, nb)), J1dt=np.zeros((T, nb, nb)))
        rows: dict[str, Any] = {"C": np.zeros((T, nc, s)), "d": np.zeros((T, nc))} if nc else {}
        return LinearQuadratic(
            F=np.zeros((T, nx if nb is None else nx // 2, nx + m)),
            f=np.zeros((T + 1, n)),
            g=np.zeros((T, s)),
            H=np.zeros((T, s, s)),
            terminal_g=np.zeros(n),
            terminal_H=np.zeros((n, n)),
            second_order=structure,
            E=np.zeros((T, k, nx)) if k else None,
            starts=starts,
            **rows,
        )

    @staticmethod
    def of(e: Evaluator) -> LinearQuadratic:
        """Returns the program of a full step from an evaluator's trajectory. It shares the evaluator's arrays."""
        lift = None if e.lift_size is None else SecondOrderKnots(dt=e.dt, J0=e.J0, J1dt=e.J1dt)
        return LinearQuadratic(
            F=e.F,
            f=e.f,
            g=e.g,
            H=e.H,
            terminal_g=e.terminal_g,
            terminal_H=e.terminal_H,
            second_order=lift,
            E=e.E if e.constant else None,
        )

    def __post_init__(self) -> None:
        if self.C is not None and self.delta is None:
            object.__setattr__(self, "delta", np.zeros(np.shape(self.C)[:2]))
        if (self.C is None) != (self.d is None) or (self.C is None and self.delta is not None):
            raise InvalidArgumentError("C, d, delta: expected C and d, or none of them")
        T, n, s, nc, k = self.T, self.n, self.n + self.m, self.nc, self.k
        rows = n - k
        if n < 1 or s < n:
            raise InvalidArgumentError(
                "terminal_g, g: expected terminal_g of shape (n,) with n >= 1, and g of shape (T, n + m), "
                f"got {n} elements of terminal_g and {s} columns of g"
            )
        if self.starts and not 0 < k <= self.m:
            raise InvalidArgumentError(f"starts: expected 1 to {self.m} constant states, got {k}; one for a control")
        if self.second_order is not None:
            rows = self._check_second_order(self.second_order)
        shapes: dict[str, tuple[int, ...]] = {"f": (T + 1, n), "g": (T, s), "H": (T, s, s)}
        shapes |= {"terminal_g": (n,), "terminal_H": (n, n)}
        if self.C is not None:
            shapes |= {"C": (T, nc, s), "d": (T, nc), "delta": (T, nc)}
        if self.E is not None:
            shapes |= {"E": (T, k, n - k)}
        for name, shape in shapes.items():
            check_rows(name, getattr(self, name), shape)
        check_rows("F", self.F, (T, rows, s - k), apart=True)

    def _check_second_order(self, structure: SecondOrderKnots) -> int:
        """Checks the arrays of a second-order system; returns the rows that F has."""
        n, nb = self.n - self.k, np.shape(structure.J0)[-1]
        T, half = self.T, n // 2
        if n % 2 or nb > half:
            raise InvalidArgumentError(
                f"second_order: expected an even n and blocks of at most n / 2, got n = {n} and blocks of {nb}"
            )
        check_rows("second_order.dt", structure.dt, (T,))
        check_rows("second_order.J0", structure.J0, (T, nb, nb))
        check_rows("second_order.J1dt", structure.J1dt, (T, nb, nb))
        return half

    @property
    def T(self) -> int:
        """Number of running knots; the terminal knot is not counted [-]."""
        return len(self.g)

    @property
    def n(self) -> int:
        """Dimension of dx [-]."""
        return len(self.terminal_g)

    @property
    def m(self) -> int:
        """Number of controls of a knot [-]."""
        return np.shape(self.g)[-1] - self.n

    @property
    def nc(self) -> int:
        """Number of constraint rows of a knot [-]."""
        return 0 if self.C is None else np.shape(self.C)[1]

    @property
    def k(self) -> int:
        """Number of constant states, the last of dx [-]."""
        return 0 if self.E is None else np.shape(self.E)[1]

    def copy(self) -> LinearQuadratic:
        """Returns the same program on copies of its arrays."""
        return copy.deepcopy(self)

    def full_F(self) -> Reals:
        """F with all rows and columns (T, n, n + m); a new array unless it is F itself."""
        lift = self.second_order
        F = self.F if lift is None else lifted(self.F, lift.dt, lift.J0, lift.J1dt)
        if self.E is None:
            return F
        whole = with_constant(F, self.E)
        if self.starts:
            whole[0, self.n - self.k :, self.n : self.n + self.k] += np.eye(self.k)
        return whole


def check_rows(argument: str, array: object, shape: tuple[int, ...], *, apart: bool = False) -> None:
    """Raises InvalidArgumentError unless this is an array that machine code can work on in place.

    Args:
        argument: Name of the argument, for the message.
        array: The array.
        shape: Shape that it must have.
        apart: Whether rows may lie apart from one another.
    """
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.shape != shape:
        got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise InvalidArgumentError(f"{argument}: expected an array float64 {shape}, got {got}")
    if apart and array.size:
        knot, row, number = array.strides
        fits = number == 8 and row % 8 == knot % 8 == 0 and row >= 8 * shape[2] and knot >= row * (shape[1] - 1)
    else:
        fits = array.flags.c_contiguous
    if not fits or not array.flags.aligned:
        raise InvalidArgumentError(f"{argument}: expected an array whose rows lie in one piece each, in order")
