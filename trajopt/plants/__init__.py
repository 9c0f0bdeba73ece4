"""Plants of closed loops and replays: action models, the simulator, MuJoCo, functions."""

from trajopt.plants.base import PlantAbstract
from trajopt.plants.model import Factor
from trajopt.plants.mujoco import MuJoCoPlant

__all__ = ["Factor", "MuJoCoPlant", "PlantAbstract"]
