"""Costs of what dynamics solve for: one expression that holds the derivatives of both."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from casadi import SX

from trajopt.contacts.implicit_node import ImplicitNode
from trajopt.costs.cost_stack import QuadraticCost


def implicit_results(
    node: ImplicitNode, q: QuadraticCost, own: Mapping[str, SX], weight: SX | float = 1.0
) -> dict[str, SX]:
    """Named expressions of x and u from which `ImplicitNode.derivative_steps` makes derivatives.

    Args:
        node: What the dynamics solve for.
        q: The expansion of the cost at the node's instant.
        own: Further results, which may hold what is solved for.
        weight: What the cost is multiplied by.
    """
    results = {**own, **node.derivative_results()}
    results |= {"cost": weight * q.cost, "g": weight * q.Ly, "H": weight * q.Lyy}
    if q.Lz.nnz():
        results |= {"Lz": weight * q.Lz, "Lzz": weight * q.Lzz, "Lzy": weight * q.Lzy}
        results |= node.chain_results(ca.fabs(q.Lz) + ca.sum2(ca.fabs(q.Lzz)))
    return {name: ca.sparsify(value) for name, value in node.insert(results).items()}
