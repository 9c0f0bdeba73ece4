"""Spheres and capsules around the collision geometry of a robot."""

from typing import TYPE_CHECKING

from trajopt.objects.calls import explain_calls
from trajopt.objects.lazy import lazy
from trajopt.robots.collisions.collision_shapes import CollisionShapes

if TYPE_CHECKING:
    from trajopt.robots.collisions.fitted import fit_collision_shapes
else:
    __getattr__, __dir__ = lazy(__name__)

__all__ = ["CollisionShapes", "fit_collision_shapes"]

explain_calls(__name__)
