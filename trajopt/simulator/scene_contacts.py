"""Contacts of a robot's collision shapes with a scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trajopt.checks import check_instance, check_texts
from trajopt.errors import InvalidArgumentError
from trajopt.robots import Robot, Scene
from trajopt.robots.scene import bodies_of
from trajopt.simulator.contact import MDPContact


def scene_contacts(robot: Robot, scene: Scene, frames: Sequence[str], **options: Any) -> list[MDPContact]:
    """Contacts of the collision shapes on frames of a robot with each obstacle of a scene.

    A sphere of `robot.collision_shapes`, and a ball at either end of a capsule, touches each obstacle as a surface; of
    a mesh it touches the bodies around its parts. So the robot and the scene of `ConstraintStack.of_robot(...,
    collisions=scene)` also serve a `Simulator`.

    ```python
    contacts = scene_contacts(robot, scene, ["panda_hand"], friction=0.5)
    simulator = Simulator(robot, contacts)
    ```

    Args:
        robot: The robot.
        scene: The obstacles, where they are now.
        frames: Names of frames with collision shapes.
        **options: Options of `MDPContact`, the same for all, such as `friction`.

    Returns:
        Contacts with names such as "panda_hand_1_table", ball by ball.

    Raises:
        UnknownNameError: The robot has no frame of this name.
        InvalidArgumentError: A frame has no collision shapes, or an option is wrong.
    """
    check_instance("robot", robot, Robot, "use load_robot")
    check_instance("scene", scene, Scene, 'write trajopt.Scene({"ball": obstacle})')
    contacts, bodies = list[MDPContact](), bodies_of(scene.obstacles)
    for frame in check_texts("frames", frames):
        robot.frame_id(frame)
        balls = [(body.radius, c) for body in robot.collision_shapes.bodies if body.frame == frame for c in body.points]
        if not balls:
            shapes = sorted({str(body.frame) for body in robot.collision_shapes.bodies})
            raise InvalidArgumentError(
                f"frames: expected frames with collision shapes, got {frame!r}; there are {', '.join(shapes)}"
            )
        for i, (radius, centre) in enumerate(balls):
            for name, obstacle in bodies.items():
                own = {"name": f"{frame.replace('.', '_')}_{i}_{name}", **options}
                contacts.append(MDPContact(frame, np.asarray(centre), radius, obstacle, **own))
    return contacts
