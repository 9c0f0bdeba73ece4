"""Several surfaces as one, such as a floor with stairs."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
from casadi import SX

from trajopt.checks import check_items
from trajopt.errors import InvalidArgumentError, shown
from trajopt.simulator.surfaces import SurfaceAbstract


class UnionSurface(SurfaceAbstract):
    """Union of solids of the world: φ(p) = min_i φ_i(p), with the normal of the part that has the least distance.

    φ is exact outside of all parts. Inside, the normal is that of the part whose surface is the farthest above p.

    Args:
        parts: The surfaces, at least one.

    Attributes:
        parts: The surfaces.

    Raises:
        InvalidArgumentError: There are no parts, or one has another type or belongs to a body.
    """

    def __init__(self, parts: Sequence[SurfaceAbstract]) -> None:
        super().__init__(None)
        own = check_items("parts", parts, "surfaces")
        for each in own:
            if not isinstance(each, SurfaceAbstract) or each.body is not None:
                raise InvalidArgumentError(f"parts: expected surfaces of the world, got {shown(each)}")
        if not own:
            raise InvalidArgumentError("parts: expected at least one surface, got none")
        self.parts: tuple[SurfaceAbstract, ...] = tuple(own)

    def distance(self, p: SX) -> SX:
        return SX(ca.mmin(ca.vertcat(*(part.distance(p) for part in self.parts))))

    def normal(self, p: SX) -> SX:
        normal, least = self.parts[0].normal(p), self.parts[0].distance(p)
        for part in self.parts[1:]:
            value = part.distance(p)
            normal, least = ca.if_else(value < least, part.normal(p), normal), ca.fmin(value, least)
        return SX(normal)

    def height(self, x: SX, y: SX) -> SX:
        return SX(ca.mmax(ca.vertcat(*(part.height(x, y) for part in self.parts))))

    def nearest(self, start: SX, end: SX) -> SX:
        best, least = SX(0), self.distance(start)
        for part in self.parts:
            s = part.nearest(start, end)
            value = self.distance(start + s * (end - start))
            best, least = ca.if_else(value < least, s, best), ca.fmin(value, least)
        return SX(best)
