"""Jacobians of expressions, as expressions.

CasADi differentiates. The mode is chosen by the length of the result, which determines the cost of compiling and
running. Measured on the inverse dynamics of a chain, (q, v, a) stacked: 8259 instructions forward and 6161 in reverse
for 7 joints, 61,238 and 43,022 for 18; with respect to q alone 3891 and 5755. Eliminating vertices by smallest degree
(Markowitz) was longer than reverse: 7600 and 63,000.

No NaN or infinity leaks from the branch of a selection that is not taken once the Jacobian is compiled, whatever its
mode: see `trajopt.kernels.switches`. CasADi's own evaluator leaks in some of these cases (sqrt(fmax(x, 0)) at x < 0).
"""

from __future__ import annotations

from typing import cast

import casadi as ca
from casadi import SX

from trajopt.errors import InvalidArgumentError

_MODES = [{"helper_options": {"ad_weight": w, "ad_weight_sp": w}} for w in (0.0, 1.0)]  # forward, reverse


def jacobian(expression: SX, variables: SX) -> SX:
    """Sparse derivative d expression / d variables; structural zeros remain. Pass all variables at once.

    Args:
        expression: Elements to differentiate, m of them, column by column.
        variables: Symbols, n of them, column by column.

    Returns:
        The Jacobian, shape (m, n).

    Raises:
        InvalidArgumentError: `variables` contains something other than distinct symbols.
    """
    expression, variables = SX(expression), SX(variables)
    symbols = cast(list[SX], variables.nonzeros())
    if not variables.is_valid_input() or len({s.element_hash() for s in symbols}) < len(symbols):
        raise InvalidArgumentError(f"variables: expected distinct symbols (SX.sym), got {variables}")
    return min((ca.jacobian(expression, variables, mode) for mode in _MODES), key=length)


def length(expression: SX) -> int:
    """Number of instructions that compute an expression [-]."""
    return int(ca.Function("length", [], [expression], {"allow_free": True}).n_instructions())
