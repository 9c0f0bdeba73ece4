"""Hessians of the Lagrangian along a trajectory."""

from __future__ import annotations

from collections.abc import Sequence

from trajopt.errors import UnsupportedOperationError
from trajopt.kernels import CallSequence, KernelCall, Rows, compile_together, lane_count, rows
from trajopt.shooting import programs
from trajopt.shooting.arrays import padded
from trajopt.shooting.compiled import CompiledKind, call_at
from trajopt.shooting.evaluator import Evaluator
from trajopt.types import Reals


class LagrangianHessian:
    """Hessian of l + λᵀ f + yᵀ c + δᵀ r at the trajectory of an evaluator; r are the residuals of the terminal costs.

    p = w a'(r) is the gradient of the terminal cost with respect to r. After a step dx it is expected to be
    w (a'(r) + a''(r) R dx), and δ is the difference of the two. With a heavy terminal weight p is far from its final
    value on the way there, while the curvature of the optimum is Σ pᵢ ∇²rᵢ with the final p. Source: Albersmeyer and
    Diehl, The lifted Newton method and its application in optimization, SIAM J. Optim. 20, 2010.

    With `running`, the same holds for the costs of running knots, at each of their stages.

    Expand the trajectory before each call. Once this object exists, expansions keep the numbers that it reads.

    Args:
        evaluator: Evaluator of the trajectory.
        lam: Array from which λ is read; by default a new one.
        dx: Array from which the step is read, see below; by default a new one.
        running: Whether running knots have δ as well; only `expect` sets it.

    Attributes:
        lam: Multipliers λ of the dynamics (T + 1, ndx); set them before a call. Row t + 1 belongs to the step from
            knot t; row 0 is not read.
        y: Multipliers of the constraint rows (T + 1, nc).
        dx: Step of the states (T + 1, ndx) for δ; only its last row is read unless `running`.
        du: Step of the controls (T, nu) for δ.
        p: Gradient p at the trajectory (nr,), from the last call that computed δ.
        delta: δ (nr,); zero at first.
        running_p, running_delta: The same of the running knots (T, size); size 0 unless `running`.
        H: Hessians of the running knots (T, ndx + nu, ndx + nu).
        terminal_H: Hessian of the terminal knot (ndx, ndx).
    """

    def __init__(
        self, evaluator: Evaluator, *, lam: Reals | None = None, dx: Reals | None = None, running: bool = False
    ) -> None:
        e = self.evaluator = evaluator
        n, s = e.state.ndx, e.state.ndx + e.nu
        self.lam, self.dx = (padded((e.T + 1, n)) if array is None else array for array in (lam, dx))
        self.y = padded((e.T + 1, e.nc))
        self._nr = programs.residuals_of_end(e.terminal.model) if isinstance(e.terminal, CompiledKind) else 0
        self.delta, self.p = padded((self._nr,)), padded((self._nr,))
        self.H, self.terminal_H = padded((e.T, s, s)), padded((n, n))
        kinds = [kind for kind in e.running if isinstance(kind, CompiledKind)]
        if not self.available(e, asked=True):
            raise UnsupportedOperationError(
                "a model of the problem, such as a Runge-Kutta step with contacts, has no "
                "Hessian of the Lagrangian; use hessian='auto', which is then Gauss-Newton, or Euler steps"
            )
        e.keep(max((programs.kept_size(kind.model) for kind in kinds), default=0))
        most = max((programs.running_residuals(kind.model) for kind in kinds), default=0) if running else 0
        self.running_p, self.running_delta, self.du = padded((e.T, most)), padded((e.T, most)), padded((e.T, e.nu))
        self._calls = [self._running(kinds)] if kinds else []
        end = e.terminal
        assert isinstance(end, CompiledKind)
        at = rows(e.xs), rows(e.parameters)
        arrays = [*at, rows(self.y), Rows(self.delta, 0), Rows(self.terminal_H, 0)]
        self._calls.append(call_at([(programs.terminal_lagrangian(end.model, e.nc), [e.T])], 1, arrays))
        self._gradients: list[KernelCall] = []
        if self._nr:
            into = [rows(self.dx), Rows(self.p, 0), Rows(self.delta, 0)]
            self._gradients = [call_at([(programs.gradient_ahead(end.model), [e.T])], 1, [*at, *into])]
        self._run, self._run_ahead = CallSequence(self._calls), CallSequence([*self._gradients, *self._calls])
        if most:
            self._gradients.append(self._running_gradients(kinds))
        self._look = CallSequence(self._gradients)

    def _running(self, kinds: Sequence[CompiledKind]) -> KernelCall:
        e = self.evaluator
        size, nr = e.kept.shape[1], self.running_p.shape[1]
        parts = [(programs.lagrangian(kind.model, e.nu, e.nc, size, nr), kind.knots) for kind in kinds]
        inputs = [rows(e.xs), rows(e.us), rows(e.parameters), rows(self.lam, offset=1), rows(self.y)]
        inputs += [rows(e.kept)] if size else []
        inputs += [rows(self.running_delta)] if nr else []
        return call_at(parts, lane_count(), [*inputs, rows(self.H, zeroed=True)])

    def _running_gradients(self, kinds: Sequence[CompiledKind]) -> KernelCall:
        e = self.evaluator
        size, nr = e.kept.shape[1], self.running_p.shape[1]
        parts = [(programs.running_gradient_ahead(kind.model, e.nu, size, nr), kind.knots) for kind in kinds]
        inputs = [rows(e.xs), rows(e.us), rows(e.parameters), rows(self.dx), rows(self.du)]
        inputs += [rows(e.kept)] if size else []
        return call_at(parts, lane_count(), [*inputs, rows(self.running_p), rows(self.running_delta)])

    @staticmethod
    def available(evaluator: Evaluator, *, asked: bool = False) -> bool:
        """True if all models have a Hessian of the Lagrangian.

        Args:
            evaluator: Evaluator of the problem.
            asked: Whether the user chose hessian="exact"; Hessians that take long to compile, as with contacts, then
                count as well.
        """
        kinds = (*evaluator.running, evaluator.terminal)
        if not all(isinstance(kind, CompiledKind) and kind.model.has_lagrangian_hessian for kind in kinds):
            return False
        return asked or not any(isinstance(k, CompiledKind) and k.model.hessian_on_request for k in kinds)

    def prepare(self, *, optimised: bool = False) -> None:
        """Compiles the programs that a call runs; at once `optimised` where that is waited for anyway."""
        calls = [*self._calls, *self._gradients, *self.evaluator.expansion_calls]
        compile_together([each for call in calls for each in call.kernels], optimised=optimised)
        for call in calls:
            call.prepare()

    def __call__(self, *, ahead: bool = False) -> None:
        """Computes the Hessians.

        Args:
            ahead: Whether to update δ for the step dx first.
        """
        if not self.evaluator.has_kept:
            self.evaluator.expand_again()
        (self._run_ahead if ahead else self._run)()

    def gradient_after(self, dx: Reals, du: Reals | None = None) -> tuple[Reals, Reals]:
        """Expected p of the end (nr,) and of the running knots (T, size) after a step; overwrites δ.

        Args:
            dx: Step of the states (T + 1, ndx).
            du: Step of the controls (T, nu); zero by default.
        """
        self.dx[:], self.du[:] = dx, 0.0 if du is None else du
        self._see()
        return self.p + self.delta, self.running_p + self.running_delta

    def expect(self, p: tuple[Reals, Reals | None] | None) -> None:
        """Sets δ to `p`, as of `gradient_after`, minus the p of the evaluator's trajectory; to 0 where that is None."""
        if p is None:
            self.delta[:], self.running_delta[:] = 0.0, 0.0
            return
        self._see()
        self.delta[:] = p[0] - self.p
        self.running_delta[:] = 0.0 if p[1] is None else p[1] - self.running_p

    def _see(self) -> None:
        """Computes p and its change."""
        if not self.evaluator.has_kept:
            self.evaluator.expand_again()
        self._look()
