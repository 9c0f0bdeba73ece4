"""Options of the solvers: frozen, keyword-only, checked."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Self

import numpy as np

from trajopt.errors import InvalidArgumentError


@dataclass(frozen=True, kw_only=True)
class SolverOptions:
    """Options of every solver.

    Attributes:
        max_iterations: At most this many iterations are begun, >= 1 [-].
        time_limit: A solve stops after this time, checked once an iteration [s]; None is no limit.
    """

    max_iterations: int = 100
    time_limit: float | None = None

    def __post_init__(self) -> None:
        count = self.max_iterations
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise InvalidArgumentError(f"max_iterations: expected an integer >= 1, got {count!r}")
        if self.time_limit is not None:
            self._check("time_limit", above=0.0, inclusive=False)

    def _check(self, name: str, *, above: float, inclusive: bool) -> None:
        value = getattr(self, name)
        fine = isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and np.isfinite(value)
        if not fine or value < above or (value == above and not inclusive):
            bound = f"{'>=' if inclusive else '>'} {above:g}"
            raise InvalidArgumentError(f"{name}: expected a number {bound}, got {value!r}")


@dataclass(frozen=True, kw_only=True)
class DDPOptions(SolverOptions):
    """Options of SolverDDP, beside those of every solver.

    `DDPOptions()` holds our defaults, `DDPOptions.crocoddyl()` those of Crocoddyl.

    Attributes:
        tolerance: Converged when |d0 + d1 / 2| < tolerance + relative_tolerance · |cost|, with d0 + d1 / 2 the decrease
            of the cost that a full step promises, and the last step started from a rollout [cost].
        relative_tolerance: See `tolerance`; what is below it drowns in rounding [-].
        acceptance: A step is accepted when dV > acceptance · expected dV [-].
        gradient_tolerance: ... or when |d0| < gradient_tolerance [cost].
        step_lengths: Step lengths that are tried, decreasing, the first two alone, then eight at once [-].
        initial_regularization: First regularisation ρ [-]. Crocoddyl starts with 1e-9. DDP, whose every trajectory is a
            rollout, is more robust with 0.1: of four arm reaches it then solves all (49 to 91 iterations), with 1e-9
            two.
        min_regularization: Smallest ρ, > 0; only the first one may be smaller [-].
        max_regularization: Largest ρ; a solve that needs more stops [-].
        regularization_increase: Factor by which ρ grows after a failed direction or search [-].
        regularization_decrease: Factor by which ρ shrinks after a good step [-].
        good_step: A step longer than this decreases ρ [-].
        bad_step: A step not longer than this, or none, increases ρ [-].
        regularize_value: Whether ρ is added to Vxx at every knot beside Quu, as Crocoddyl does.
        rollout_on_failure: Whether DDP goes on from the rollout of the guess's controls when no step from a guess with
            gaps is accepted; Crocoddyl gives up with the guess.
    """

    tolerance: float = 1e-9
    relative_tolerance: float = 1e-12
    acceptance: float = 0.1
    gradient_tolerance: float = 1e-12
    step_lengths: tuple[float, ...] = tuple(0.5**i for i in range(9))
    initial_regularization: float = 0.1
    min_regularization: float = 1e-9
    max_regularization: float = 1e9
    regularization_increase: float = 10.0
    regularization_decrease: float = 10.0
    good_step: float = 0.5
    bad_step: float = 0.01
    regularize_value: bool = True
    rollout_on_failure: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("tolerance", "relative_tolerance", "acceptance", "gradient_tolerance", "initial_regularization"):
            self._check(name, above=0.0, inclusive=True)
        for name in ("min_regularization", "max_regularization", "good_step"):
            self._check(name, above=0.0, inclusive=False)
        for name in ("regularization_increase", "regularization_decrease"):
            self._check(name, above=1.0, inclusive=False)
        self._check("bad_step", above=0.0, inclusive=True)
        for name in ("regularize_value", "rollout_on_failure"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise InvalidArgumentError(f"{name}: expected True or False, got {getattr(self, name)!r}")
        for name in ("initial_regularization", "min_regularization"):
            if getattr(self, name) > self.max_regularization:
                raise InvalidArgumentError(
                    f"{name}: {getattr(self, name)} is above max_regularization, {self.max_regularization}"
                )
        self._check_step_lengths()

    def _check_step_lengths(self) -> None:
        lengths = self.step_lengths
        fine = isinstance(lengths, tuple) and all(isinstance(a, (int, float, np.number)) for a in lengths)
        if not fine or not lengths or lengths[0] > 1 or not all(a > b for a, b in itertools.pairwise((*lengths, 0))):
            raise InvalidArgumentError(
                f"step_lengths: expected a tuple of decreasing numbers in (0, 1], got {lengths!r}; such as (1.0, 0.5)"
            )

    @classmethod
    def crocoddyl(cls, *, max_iterations: int = 100, initial_regularization: float = 1e-9) -> Self:
        """Crocoddyl's algorithm and values (3.2.1)."""
        return cls(
            max_iterations=max_iterations,
            tolerance=1e-9,
            relative_tolerance=0.0,
            acceptance=0.1,
            gradient_tolerance=1e-12,
            step_lengths=tuple(0.5**i for i in range(10)),
            initial_regularization=initial_regularization,
            min_regularization=1e-9,
            max_regularization=1e9,
            regularization_increase=10.0,
            regularization_decrease=10.0,
            good_step=0.5,
            bad_step=0.01,
            regularize_value=True,
            rollout_on_failure=False,
        )


@dataclass(frozen=True, kw_only=True)
class FDDPOptions(DDPOptions):
    """Options of SolverFDDP: those of DDP, and

    Attributes:
        initial_regularization: As Crocoddyl's 1e-9: gaps absorb what is not linear.
        negative_acceptance: While there are gaps, a step that is expected to raise the cost is accepted when
            dV > negative_acceptance · expected dV (both negative) [-].
    """

    initial_regularization: float = 1e-9
    negative_acceptance: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("negative_acceptance", above=0.0, inclusive=True)
