"""Sensing in the plane: occupancy grids, LIDAR by ray casting, obstacles and walls from scans."""

from trajopt.model.calls import explain_calls
from trajopt.sensing.grid import OccupancyGrid
from trajopt.sensing.lidar import Lidar, echo_distance
from trajopt.sensing.picture import plot_grid
from trajopt.sensing.scan import Scan
from trajopt.sensing.walls import Wall, wall_tangent

__all__ = ["Lidar", "OccupancyGrid", "Scan", "Wall", "echo_distance", "plot_grid", "wall_tangent"]

explain_calls(__name__)
