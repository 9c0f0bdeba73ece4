"""Ground, light and camera of a view."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.types import Reals

_DIRECTION = np.array([0.6, -1.0, 0.38])  # of the camera, from what it looks at [-]
_SKY = 2.5  # intensity of the light from above [-]
_FOV = 45.0  # angle of view [deg]
_BELOW = 0.05  # part of the size by which a motion may be below z = 0 until the ground sinks [-]


def set_stage(server: Any, points: Reals) -> None:
    """Sets the ground, the light and the first place of the camera around points (n, 3) [m]."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = max(float(np.linalg.norm(high - low)), 0.2)
    floor = min(0.0, float(low[2])) if low[2] < -_BELOW * size else 0.0
    cell = 10.0 ** np.floor(np.log10(size / 2.0))
    server.scene.add_grid(
        "/ground",
        position=(0.0, 0.0, floor),
        infinite_grid=True,
        cell_size=float(cell),
        section_size=float(5 * cell),
        cell_color=(225, 225, 225),
        section_color=(190, 190, 190),
        fade_distance=float(12 * size + 3),
        shadow_opacity=0.2,
    )
    center = (low + high) / 2.0
    distance = 0.55 * size / np.sin(np.radians(_FOV / 2))
    camera = server.initial_camera
    camera.up, camera.fov = (0.0, 0.0, 1.0), float(np.radians(_FOV))
    camera.look_at = tuple(float(c) for c in center)
    camera.position = tuple(float(c) for c in center + distance * _DIRECTION / np.linalg.norm(_DIRECTION))


def light_simply(client: Any) -> None:
    """Lights the scene of one client by lamps alone.

    Reflections and shadows take computers without a graphics card 10 s at first, and three times as long a picture.
    """
    client.scene.configure_environment_map(None)
    client.scene.configure_default_lights(cast_shadow=False)
    client.scene.add_light_hemisphere("/sky", sky_color=(255, 255, 255), ground_color=(160, 160, 160), intensity=_SKY)
