"""MuJoCo as a plant: a robot as MJCF, states and forces in both systems' coordinates."""

from trajopt.plants.mujoco.plant import MuJoCoPlant

__all__ = ["MuJoCoPlant"]
