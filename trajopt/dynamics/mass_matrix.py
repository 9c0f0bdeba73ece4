"""Joint-space mass matrix by the composite-rigid-body algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

from trajopt.dynamics.spatial import Inertia, Spatial, dot
from trajopt.dynamics.tree import Tree


@dataclass(frozen=True)
class MassColumns:
    """Mass matrix in the rates of the tree, and the forces from which it is computed.

    Attributes:
        matrix: M, SX (n, n), symmetric, with structural zeros between branches.
        forces: For each rate k of link i, the force I S_k in the frames of link i, its parent, and so on to the root.
    """

    matrix: SX
    forces: list[list[Spatial]]


def mass_columns(tree: Tree, inertias: list[Inertia]) -> MassColumns:
    """Mass matrix M_jk = S_j · I S_k for j in the link of k or an ancestor (Featherstone 2008, table 6.2).

    Args:
        tree: The links.
        inertias: Inertia of each subtree about the frame of its root.
    """
    n = len(tree.rates)
    matrix = SX(n, n)
    columns: list[list[Spatial]] = []
    for i, link in enumerate(tree.links):
        for k, s in enumerate(link.columns):
            column = link.first + k
            force = inertias[i].times(s)
            path = [force]
            ancestor = link
            for j in range(k + 1):
                matrix[link.first + j, column] = matrix[column, link.first + j] = dot(link.columns[j], force)
            while ancestor.parent >= 0:
                force = ancestor.placement.force_to_parent(force)
                path.append(force)
                ancestor = tree.links[ancestor.parent]
                for j, other in enumerate(ancestor.columns):
                    matrix[ancestor.first + j, column] = matrix[column, ancestor.first + j] = dot(other, force)
            columns.append(path)
    return MassColumns(matrix, columns)
