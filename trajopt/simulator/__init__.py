"""Differentiable simulator of articulated bodies; contact forces follow from the principle of maximal dissipation."""

from trajopt.objects.calls import explain_calls
from trajopt.simulator.action import ActionModelSimulator
from trajopt.simulator.body_surface import BodySurface
from trajopt.simulator.contact import MDPContact, SimulatorContactAbstract
from trajopt.simulator.external_wrench import ExternalWrench
from trajopt.simulator.modes import SimulatorMode, Variant
from trajopt.simulator.rollout import Rollout
from trajopt.simulator.scene_contacts import scene_contacts
from trajopt.simulator.simulator import Simulator
from trajopt.simulator.surfaces import HeightField, Plane, Surface, SurfaceAbstract

__all__ = [
    "ActionModelSimulator",
    "BodySurface",
    "ExternalWrench",
    "HeightField",
    "MDPContact",
    "Plane",
    "Rollout",
    "Simulator",
    "SimulatorContactAbstract",
    "SimulatorMode",
    "Surface",
    "SurfaceAbstract",
    "Variant",
    "scene_contacts",
]

explain_calls(__name__)
