"""Interior point iteration for the impulses of maximal dissipation, as a program.

The barrier has weight 1, because all impulses and velocities are divided by √μ. With Λ = J H⁻¹ Jᵀ and the impulses C w
of a law:

    minimise   ½ (C w)ᵀ Λ (C w) + uᵀ C w - Σ log w_i - Σ_f log s_f,   s_f = 1 - Σ w_f.

A primal-dual interior point method applies Newton's method to Cᵀ(u + Λ C w) - z + y 1 = 0, w z = t, s y = t. A
predictor chooses t, which falls to 1 and not below. Then Newton steps with Mehrotra's second-order term follow, which
converge cubically, until the cube of the last one is negligible. If rays can cancel each other, steps lack digits that
further steps restore: then plain Newton steps follow, until the square of the last one is negligible. Each step solves
a system of 3 unknowns for each contact, A = 1 + Fᵀ Λ F, see `trajopt.simulator.laws`.

The iteration starts from Λ and u alone. Iterations to 1e-7, medians of 1,500 random states of a quadruped each, with
dt from 1e-4 to 1e-2 s and strengths from 1e4 to 1e8 N/m³: in the air 1, touching 4 (at most 9), 1 m deep in the ground
9 (14), sliding fast 7 (11).

Source: Mehrotra, SIAM J. Optimization 2, 1992, for the predictor; DiffNE's README for the problem.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import casadi as ca
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import symbol_of
from trajopt.simulator.laws import Follower, LawAbstract, Weights, reciprocal

LIMIT = 60
TOLERANCE = 1e-7

_FULL = 1.0  # square of the relative step below which steps aim at products of 1
_CENTRED = 3.0  # products above which Mehrotra's second-order term helps before; below, it made iterations cycle
_FRACTION = 0.99  # of the distance to the boundary
_TINY = 1e-300
_RESIDUAL = -5  # position of r in the arrays that functions of an iteration share, before totals, shares, F and L


class Barrier:
    """Symbols of the interior-point iteration, and expressions of them for each contact.

    Args:
        laws: Law of each contact.

    Attributes:
        w: Weight of each ray (W,) [-].
        s: Remaining budget of each contact (nc,) [-].
        z: Multipliers of w (W,) [-].
        y: Multipliers of s (nc,) [-].
        inertia: Λ (D, D) [1/kg].
        free: Velocity u without impulses, divided by √μ (D,) [1/√kg].
        law: Scaled values of all laws.
    """

    def __init__(self, laws: Sequence[LawAbstract]) -> None:
        self.laws = tuple(laws)
        rays, contacts = sum(law.rays for law in laws), len(laws)
        size, constants = sum(law.size for law in laws), sum(law.constants for law in laws)
        self.w, self.s = SX.sym("w", rays), SX.sym("s", contacts)
        self.z, self.y = SX.sym("z", rays), SX.sym("y", contacts)
        self.inertia, self.free = SX.sym("inertia", size, size), SX.sym("free", size)
        self.law = SX.sym("law", constants)

    @property
    def point(self) -> list[SX]:
        """Symbols of the iterate: w, s, z and y."""
        return [self.w, self.s, self.z, self.y]

    def of_rays(self, column: SX) -> list[SX]:
        """Splits a column of values of all rays (W,) into one part for each contact, of the number of its rays."""
        return _parts(column, [law.rays for law in self.laws])

    def of_impulses(self, column: SX) -> list[SX]:
        """Splits a column of impulses or velocities (D,) into one part for each contact."""
        return _parts(column, [law.size for law in self.laws])

    def of_laws(self, column: SX) -> list[SX]:
        """Splits the values of all laws, one below the other, into those of each contact's law."""
        return _parts(column, [law.constants for law in self.laws])

    @property
    def columns(self) -> list[SX]:
        """Matrix C (size, rays) of each contact's law, whose columns are its rays."""
        return [law.columns(values) for law, values in zip(self.laws, self.of_laws(self.law))]

    @property
    def impulse(self) -> SX:
        """Impulses C w of all contacts (D,), divided by √μ."""
        return SX(ca.vertcat(SX(0, 1), *[C @ w for C, w in zip(self.columns, self.of_rays(self.w))]))

    @property
    def weights(self) -> list[Weights]:
        """Inverse matrix M⁻¹ of each contact, as `Weights`."""
        return [Weights.of(*pair) for pair in zip(self.of_rays(self.w / self.z), ca.vertsplit(self.s / self.y))]

    def followers(self, weights: Sequence[Weights]) -> list[Follower]:
        """Derivative factor F of each contact, as `Follower`."""
        triples = zip(self.laws, self.of_laws(self.law), weights)
        return [law.follow(values, weight) for law, values, weight in triples]

    def gradient(self, velocity: SX) -> SX:
        """Cᵀ u plus the gaps of laws (W,), for a velocity (D,)."""
        gaps = [law.gap(values) for law, values in zip(self.laws, self.of_laws(self.law))]
        along = zip(self.columns, self.of_impulses(velocity), gaps)
        return SX(ca.vertcat(SX(0, 1), *[C.T @ u if gap is None else C.T @ u + gap for C, u, gap in along]))

    def along(self, change: SX) -> SX:
        """Change Cᵀ du along each ray (W,), for a change of velocity du (D,)."""
        return SX(ca.vertcat(SX(0, 1), *[C.T @ u for C, u in zip(self.columns, self.of_impulses(change))]))

    def spread(self, column: SX) -> SX:
        """Repeats the value of each contact (nc,) for each of its rays (W,)."""
        return SX(ca.vertcat(SX(0, 1), *[ca.repmat(c, law.rays, 1) for c, law in zip(ca.vertsplit(column), self.laws)]))

    def sums(self, column: SX) -> SX:
        """Sums values of rays (W,) over each contact (nc,)."""
        return SX(ca.vertcat(SX(0, 1), *[ca.sum1(part) for part in self.of_rays(column)]))


def coupled(inertia: SX, F: SX) -> SX:
    """Returns the lower triangle of A = 1 + Fᵀ Λ F (R, R), from Λ (D, D) and F (D, R); A is positive definite."""
    product = ca.mtimes(F.T, ca.mtimes(inertia, F))
    return SX(ca.tril(product) + SX.eye(product.shape[0]))


def start_function(laws: Sequence[LawAbstract]) -> ca.Function:
    """Function (Λ, u, values of the laws) -> initial (w, s, z, y); see `LawAbstract.start`."""
    b = Barrier(laws)
    inertia = [b.inertia[i, i] for i in _blocks([law.size for law in laws])]
    contacts = zip(laws, b.of_laws(b.law), b.of_impulses(b.free), inertia)
    starts = [law.start(values, u, block) for law, values, u, block in contacts]
    w, s = (ca.vertcat(SX(0, 1), *[start[i] for start in starts]) for i in (0, 1))
    impulse = ca.vertcat(SX(0, 1), *[C @ part for C, part in zip(b.columns, b.of_rays(w))])
    products = ca.fabs(b.gradient(b.free + b.inertia @ impulse) * w)
    target = ca.fmax(1, ca.mmax(ca.vertcat(0, products)))
    return ca.Function("start", [b.inertia, b.free, b.law], [w, s, target / w, target / s])


def iteration(laws: Sequence[LawAbstract]) -> Program:
    """Program of one iteration: (w, s, z, y, Λ, u, values of the laws, tolerance) -> (w, s, z, y, remaining error)."""
    program = Program("maximal dissipation")
    b = Barrier(laws)
    *point, inertia, free, law = (program.input(*symbol.shape) for symbol in (*b.point, b.inertia, b.free, b.law))
    tolerance = program.input(1)
    A, follow, *prepared = program.call(_prepare_function(laws), *point, inertia, free, law)
    factors = program.factor(A)
    functions = _PassFunctions(laws, [symbol_of(program, array) for array in prepared])
    arrays = [*point, inertia, law, *prepared]
    solution = program.solve(factors, follow)
    follow, residual, target, rest, left = program.call(functions.predict, *arrays, solution, tolerance)
    solution = program.solve(factors, follow)
    arrays[_RESIDUAL] = residual
    program.output(*program.call(functions.correct, *arrays, solution, target, rest), left)
    return program


def _prepare_function(laws: Sequence[LawAbstract]) -> ca.Function:
    """Function (w, s, z, y, Λ, u, values) -> A, L r of the Newton step to t = 1, and inputs of later functions.

    These are 1/(w, s, z, y), r of that step, total and share of each contact, F and L.
    """
    b = Barrier(laws)
    inverses = [reciprocal(p) for p in b.point]
    pairs = zip(b.of_rays(b.w * inverses[2]), ca.vertsplit(b.s * inverses[3]))
    weights = [Weights.of(*pair) for pair in pairs]
    followers = b.followers(weights)
    F, left = (SX(ca.diagcat(*parts)) for parts in zip(*((f.F, f.left) for f in followers)))
    target, rest, missing = 1 - b.w * b.z, 1 - b.s * b.y, 1 - b.sums(b.w) - b.s
    gradient = b.gradient(b.free + b.inertia @ b.impulse)
    change = target * inverses[0] - b.spread(b.y + (rest - b.y * missing) * inverses[1])
    residual = b.z - gradient + change  # r (W,) of M dw + Cᵀ Λ C dw = r
    shares = [ca.vertcat(*column) for column in zip(*((m.total, m.share) for m in weights))]
    results = [coupled(b.inertia, F), left @ residual, *inverses, residual, *shares, F, left]
    return ca.Function("prepare", [*b.point, b.inertia, b.free, b.law], [ca.sparsify(r) for r in results])


class _PassFunctions:
    """Functions of an iteration that use the solutions of its linear systems.

    Args:
        laws: The law of each contact.
        prepared: Symbols of the results of `_prepare_function`.
    """

    def __init__(self, laws: Sequence[LawAbstract], prepared: Sequence[SX]) -> None:
        self._b = b = Barrier(laws)
        self._inverses, self._residual = prepared[:4], prepared[4]
        total, share, self._F, self._left = prepared[5:]
        rows = zip(b.of_rays(b.w * self._inverses[2]), ca.vertsplit(total), ca.vertsplit(share))
        self._weights = [Weights(*row) for row in rows]
        self._solution = SX.sym("solution", sum(law.rank for law in laws))
        self._cubic = all(law.one_sided for law in laws)
        self._inputs = [*b.point, b.inertia, b.law, *prepared, self._solution]
        self.predict, self.correct = self._predict(), self._correct()

    def _directions(self, target: SX, rest: SX) -> list[SX]:
        """(dw, ds, dz, dy) if w z changes by `target` (W,) and s y by `rest` (nc,)."""
        b, (inverse_w, inverse_s, _, _) = self._b, self._inverses
        velocity = b.inertia @ (self._F @ self._solution)
        remaining = self._residual - b.along(velocity)
        solved = [m.parts(r) for m, r in zip(self._weights, b.of_rays(remaining))]
        dw, sums = (SX(ca.vertcat(*column)) for column in zip(*solved))
        ds = 1 - b.sums(b.w) - b.s - sums
        return [dw, ds, (target - b.z * dw) * inverse_w, (rest - b.y * ds) * inverse_s]

    def _rates(self, directions: Sequence[SX]) -> list[SX]:
        """Relative changes of (w, s, z, y)."""
        return [d * inverse for d, inverse in zip(directions, self._inverses)]

    def _predict(self) -> ca.Function:
        """Returns L r and r of the step, targets of w z and s y, and the error left."""
        b, tolerance = self._b, SX.sym("tolerance")
        w, s, z, y = b.point
        newton = 1 - w * z, 1 - s * y
        directions = dw, ds, dz, dy = self._directions(*newton)
        rates = self._rates(directions)
        square = ca.sumsqr(ca.vertcat(*rates))
        whole = square < _FULL
        primal, dual = (1 / ca.fmax(1, rate) for rate in _fastest(rates))
        count = w.numel() + s.numel()
        mean = (ca.dot(w, z) + ca.dot(s, y)) / count
        after = ca.dot(w + primal * dw, z + dual * dz) + ca.dot(s + primal * ds, y + dual * dy)
        aim = ca.fmax(1, (after / count / mean) ** 3 * mean)
        extra = ca.if_else(whole, 0, aim - 1)
        second = ca.if_else(whole, 1 if self._cubic else 0, ca.if_else(mean > _CENTRED, 1, 0))
        # within ± mean: larger terms drive w and z of a pair to zero together, and no step recovers from that
        terms = [ca.fmax(-mean, ca.fmin(term, mean)) for term in (dw * dz, ds * dy)]
        more = [extra - second * term for term in terms]
        target, rest = (first + change for first, change in zip(newton, more))
        residual = self._residual + more[0] * self._inverses[0] - b.spread(more[1] * self._inverses[1])
        left = ca.sqrt(square)
        left = ca.if_else((square * left <= tolerance**2) if self._cubic else (left <= tolerance), 0, left)
        results = [self._left @ residual, residual, target, rest, left]
        return ca.Function("predict", [*self._inputs, tolerance], results)

    def _correct(self) -> ca.Function:
        """Returns the new iterate."""
        b = self._b
        target, rest = SX.sym("target", b.w.numel()), SX.sym("rest", b.s.numel())
        directions = self._directions(target, rest)
        fastest = [ca.fmax(rate, _TINY) for rate in _fastest(self._rates(directions))]
        primal, dual = (ca.fmin(1, _FRACTION / rate) for rate in fastest)
        new = [p + length * d for p, length, d in zip(b.point, (primal, primal, dual, dual), directions)]
        return ca.Function("correct", [*self._inputs, target, rest], new)


def _fastest(rates: Sequence[SX]) -> tuple[SX, SX]:
    """Largest relative decrease of (w, s), and of (z, y)."""
    return -ca.mmin(ca.vertcat(*rates[:2])), -ca.mmin(ca.vertcat(*rates[2:]))


def _parts(column: SX, sizes: Sequence[int]) -> list[SX]:
    return [column[block] for block in _blocks(sizes)]


def _blocks(sizes: Sequence[int]) -> list[slice]:
    return [slice(first, end) for first, end in itertools.pairwise([0, *itertools.accumulate(sizes)])]


def solve_steps(
    program: Program, laws: Sequence[LawAbstract], inertia: Array, free: Array, law: Array, tolerance: Array
) -> tuple[Array, ...]:
    """Adds the steps that compute (w, s, z, y) of all contacts by the interior-point iteration."""
    point = program.call(start_function(laws), inertia, free, law)
    if laws:
        program.iterate(iteration(laws), point, [inertia, free, law, tolerance], limit=LIMIT)
    return point
