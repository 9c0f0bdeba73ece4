"""Names, units and paths of a trajectory, from its problem or from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from trajopt.checks import check_flag
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.robots import Robot
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution.description import Description


class DescribedMotion(ExplainsAttributes):
    """Base class of trajectories that know their names and units: a solution with a problem, or one from a file."""

    xs: Reals

    @property
    def description(self) -> Description:
        """Names, units and numbers, computed from the problem when they are read, or taken from the file."""
        from trajopt.solution.description import Description

        return Description(cast(Any, self))

    @property
    def robot(self) -> Robot | None:
        """The robot; None if the state has no robot, or if a file does not say which."""
        return self.description.robot

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Name of each coordinate of a state (nx,)."""
        return self.description.coordinate_names

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """Unit of each coordinate of a state (nx,); "-" for a pure number, such as an element of a quaternion."""
        return self.description.coordinate_units

    @property
    def control_names(self) -> tuple[str, ...]:
        """Name of each control (nu,)."""
        return self.description.control_names

    @property
    def control_units(self) -> tuple[str, ...]:
        """Unit of each control (nu,); "-" if the unit is unknown."""
        return self.description.control_units

    def frame_path(self, frame: str, *, placements: bool = False) -> Reals:
        """Returns the positions of a frame of the robot in the world along the trajectory, shape (T + 1, 3) [m].

        Args:
            frame: Name of the frame, one of `robot.frame_names`.
            placements: True to return placements T_world_frame instead, homogeneous matrices (T + 1, 4, 4) [-, m].

        Raises:
            UnknownNameError: The robot has no frame of this name.
            InvalidArgumentError: The solution has no robot.
        """
        check_flag("placements", placements)
        robot = self._robot()
        path = robot.placement(self.xs[:, : robot.nq], frame)
        return path if placements else path[:, :3, 3].copy()

    def _robot(self) -> Robot:
        from trajopt.analysis.basics import robot_of

        robot_of(cast(Any, self))
        return cast(Robot, self.robot)
