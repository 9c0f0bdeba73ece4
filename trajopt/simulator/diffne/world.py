"""Robot in a world of another package that draws it or plans for it, such as klampt.WorldModel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.errors import InvalidArgumentError, shown
from trajopt.types import Reals


class WorldRobot:
    """Robot of a world: it is moved by angles of links, and by the placement of the root link.

    The world needs the method `loadRobot(path)`, which returns the robot, as in Klampt. The robot needs `numLinks()`,
    `link(i).getName()`, `link(0).setParentTransform(R, t)` with R column by column, `getConfig()` and `setConfig(q)`.
    `setConfig(q)`.

    Args:
        world: The world.
        path: URDF of the robot.

    Raises:
        InvalidArgumentError: The world cannot load robots.
    """

    def __init__(self, world: Any, path: str) -> None:
        if not callable(getattr(world, "loadRobot", None)):
            raise InvalidArgumentError(
                f"world: expected None or a world with a method loadRobot(path), got {shown(world)}; pass None for no "
                "world"
            )
        self._robot = world.loadRobot(path)
        self._names = [self._robot.link(i).getName() for i in range(self._robot.numLinks())]

    def show(self, model: pin.Model, links: dict[str, str], q: Reals) -> None:
        """Moves the robot of the world to a configuration.

        Args:
            model: The robot with all joints.
            links: Name of each joint's link, by the name of the joint.
            q: Configuration (nq,).
        """
        data = model.createData()
        pin.framesForwardKinematics(model, data, q)
        angles = {}
        for i in range(1, model.njoints):
            start = model.idx_qs[i]
            if model.nvs[i] == 1:
                angle = q[start] if model.nqs[i] == 1 else np.arctan2(q[start + 1], q[start])
                angles[links.get(model.names[i], model.names[i])] = float(angle)
        config = list(self._robot.getConfig())
        for i, name in enumerate(self._names):
            config[i] = angles.get(name, config[i])
        root = data.oMf[model.getFrameId(self._names[0], pin.FrameType.BODY)]
        self._robot.link(0).setParentTransform(root.rotation.T.ravel().tolist(), root.translation.tolist())
        self._robot.setConfig(config)
