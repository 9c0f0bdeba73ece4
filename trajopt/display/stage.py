"""Ground, light and camera of a view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.types import Reals

VIEW = np.array([0.6, -1.0, 0.38])  # direction from the target to the camera [-]
_LAMP = "/sky"  # name of the light from above
_NONE = 0.0  # intensity that marks our own empty environment map [-]
_SKY = 2.5  # intensity of the light from above [-]
FOV = 45.0  # field of view [deg]
_BELOW = 0.05  # depth of a motion below z = 0 at which the ground is lowered, relative to the motion's size [-]


def set_stage(server: Any, points: Reals, direction: npt.ArrayLike = VIEW) -> Any:
    """Sets the ground, and the first camera in a direction (3,), for points (n, 3) [m]; returns the ground."""
    away = np.asarray(direction) / np.linalg.norm(direction)
    ground = add_ground(server.scene, points)
    low, high = points.min(axis=0), points.max(axis=0)
    center, distance = (low + high) / 2.0, 0.55 * _size(points) / np.sin(np.radians(FOV / 2))
    camera = server.initial_camera
    camera.up, camera.fov = (0.0, 0.0, 1.0), float(np.radians(FOV))
    camera.look_at = tuple(float(c) for c in center)
    camera.position = tuple(float(c) for c in center + distance * away)
    return ground


def add_ground(scene: Any, points: Reals) -> Any:
    """Adds the ground below points (n, 3) [m], and returns it."""
    size, lowest = _size(points), float(points[:, 2].min())
    cell = 10.0 ** np.floor(np.log10(size / 2.0))
    return scene.add_grid(
        "/ground",
        position=(0.0, 0.0, min(0.0, lowest) if lowest < -_BELOW * size else 0.0),
        infinite_grid=True,
        cell_size=float(cell),
        section_size=float(5 * cell),
        cell_color=(225, 225, 225),
        section_color=(190, 190, 190),
        fade_distance=float(12 * size + 3),
        shadow_opacity=0.2,
    )


def _size(points: Reals) -> float:
    """Diagonal of the box around points, at least 0.2 [m]."""
    return max(float(np.linalg.norm(np.ptp(points, axis=0))), 0.2)


def light_simply(server: Any) -> None:
    """Lights a page with lamps only; call it before anything is in the scene, so that the scene is drawn once.

    Without a graphics card, reflections and shadows take 10 s at first, and triple the time of each frame.
    """
    server.scene.configure_environment_map(None, environment_intensity=_NONE)
    server.scene.configure_default_lights(cast_shadow=False)
    server.scene.add_light_hemisphere(_LAMP, sky_color=(255, 255, 255), ground_color=(160, 160, 160), intensity=_SKY)


def light_as_usual(recording: Any) -> None:
    """Removes the lamps of `light_simply` from a recording, unless the user has set an environment map since.

    viser shows reflections first whenever a file restarts, which flicker if the recording turns them off.
    """
    maps = [message for _, message in recording._messages if message["type"] == "EnvironmentMapMessage"]
    if maps and maps[-1]["environment_intensity"] == _NONE:
        recording._messages = [(time, message) for time, message in recording._messages if not _is_lamp(message)]


def _is_lamp(message: Mapping[str, Any]) -> bool:
    """Whether a message of a recording comes from `light_simply`."""
    if message["type"] == "EnableLightsMessage":
        return bool(message["enabled"])
    return message["type"] == "EnvironmentMapMessage" or message.get("name") == _LAMP
