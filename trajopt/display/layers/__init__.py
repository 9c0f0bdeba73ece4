"""Layers and panels of a view, in the order of their checkboxes."""

from trajopt.analysis.legs import has_contacts
from trajopt.display.layers.balance import CentreOfMass, Footholds, SupportPolygons, stands_on_feet
from trajopt.display.layers.base import Layer, LayerKind, Panel, PanelKind
from trajopt.display.layers.bodies import Beads, PoseBody, SkeletonBody, is_placeless, is_pose, is_skeleton
from trajopt.display.layers.copies import Ghosts, Strobe, has_copies
from trajopt.display.layers.curves import Curves, has_curves
from trajopt.display.layers.forces import ContactForces, FrictionCones, has_cones
from trajopt.display.layers.margins import Margins, has_constraints
from trajopt.display.layers.nearness import MarginsInScene, has_margins
from trajopt.display.layers.obstacles import Obstacles, Planes, tilted_planes
from trajopt.display.layers.paths import Goals, Paths, has_goals, has_trails
from trajopt.display.layers.relief import TerrainLayer, has_terrain

LAYERS: tuple[LayerKind, ...] = (
    LayerKind(label="body", applies=is_skeleton, build=SkeletonBody, body=True),
    LayerKind(label="body", applies=is_pose, build=PoseBody, body=True),
    LayerKind(label="state", applies=is_placeless, build=Beads, body=True),
    LayerKind(label="contact forces", applies=has_contacts, build=ContactForces),
    LayerKind(label="friction cones", applies=has_cones, build=FrictionCones, on=False),
    LayerKind(label="paths", applies=has_trails, build=Paths),
    LayerKind(label="centre of mass", applies=stands_on_feet, build=CentreOfMass),
    LayerKind(label="support polygons", applies=stands_on_feet, build=SupportPolygons),
    LayerKind(label="footholds", applies=stands_on_feet, build=Footholds),
    LayerKind(label="goals", applies=has_goals, build=Goals),
    LayerKind(label="obstacles", applies=lambda solution: bool(solution.description.obstacles), build=Obstacles),
    LayerKind(label="planes", applies=lambda solution: bool(tilted_planes(solution)), build=Planes),
    LayerKind(label="terrain", applies=has_terrain, build=TerrainLayer),
    LayerKind(label="margins", applies=has_margins, build=MarginsInScene, on=False),
    LayerKind(label="strobe", applies=has_copies, build=Strobe, on=False),
    LayerKind(label="ghosts", applies=has_copies, build=Ghosts, on=False),
)
"""All kinds of parts in the scene besides a robot's meshes."""

PANELS: tuple[PanelKind, ...] = (
    PanelKind(label="Constraints", applies=has_constraints, build=Margins),
    PanelKind(label="Curves", applies=has_curves, build=Curves),
)
"""All kinds of panels beside the scene."""

__all__ = ["LAYERS", "PANELS", "Layer", "LayerKind", "Panel", "PanelKind"]
