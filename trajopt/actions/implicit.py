"""Costs and constraint rows of what dynamics solve for: one expression that holds the derivatives of all of them."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from casadi import SX

from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.contacts.implicit_node import ImplicitNode
from trajopt.costs.cost_stack import CostStack


def implicit_results(
    node: ImplicitNode,
    own: Mapping[str, SX],
    costs: CostStack,
    constraints: ConstraintStack | None,
    weight: SX | float = 1.0,
) -> dict[str, SX]:
    """Named expressions of x and u from which `ImplicitNode.derivative_steps` makes derivatives.

    Args:
        node: What the dynamics solve for.
        own: Further results, which may hold what is solved for.
        costs: The costs.
        constraints: The constraints, if they are wanted.
        weight: What the costs are multiplied by.
    """
    instant = node.instant
    s = instant.state.ndx + instant.nu
    rows = None if constraints is None else constraints.rows(instant)  # first: it may ask for the motion
    q = costs.quadratic(instant)
    results = {**own, **node.derivative_results()}
    results |= {"cost": weight * q.cost, "g": weight * q.Ly, "H": weight * q.Lyy}
    felt = SX(instant.solved.numel(), 1)
    if q.Lz.nnz():
        results |= {"Lz": weight * q.Lz, "Lzz": weight * q.Lzz, "Lzy": weight * q.Lzy}
        felt += ca.fabs(q.Lz) + ca.sum2(ca.fabs(q.Lzz))
    if constraints is not None and rows is not None and rows.numel():
        C = constraints.derivative(instant)
        results |= {"rows": rows, "C": C[:, :s]}
        if C[:, s:].nnz():
            results["Rz"] = C[:, s:]
            felt += ca.sum1(ca.fabs(C[:, s:])).T
    if felt.nnz():
        results |= node.chain_results(felt)
    return {name: ca.sparsify(value) for name, value in node.insert(results).items()}
