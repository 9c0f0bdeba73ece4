"""Mobile robots in the plane: wheel models, paths, ways around obstacles, replanning, maps, LIDAR, walls from scans.

```python
model = DifferentialActionModelDiffDrive(CostStack(state_of_pose()), radius=0.1, half_track=0.2)
motion = rollout(model, x0=[0, 0, 0], us=[[1.0, 2.0]] * 100, dt=0.05, integrator="euler")
path = PlanarPath.of_curve(scipy.interpolate.CubicHermiteSpline(times, points, tangents), np.linspace(0, 1, 100))
xs, us = along(path, model)  # an initial guess for solvers
way = around([0, 0], [6, 0], circles, problem.times, margin=0.3)  # a path, where the straight line is no good guess
```

Ready problems are `trajopt.problems.load("hermite-path")` and `"parking-wheels"`. `trajopt.plotting.plot_grid` draws
grids.
"""

from trajopt.objects.calls import explain_calls
from trajopt.planar.around import around
from trajopt.planar.diff_drive import DifferentialActionModelDiffDrive
from trajopt.planar.drive import along, rollout
from trajopt.planar.grid import OccupancyGrid
from trajopt.planar.lidar import Lidar, echo_distance
from trajopt.planar.path import PlanarPath
from trajopt.planar.replanning import replan
from trajopt.planar.scan import Scan
from trajopt.planar.states import state_of_pose, state_of_twist, state_of_wheels
from trajopt.planar.unicycle import DifferentialActionModelUnicycle
from trajopt.planar.walls import Wall, wall_tangent
from trajopt.planar.wheels import limit_wheels, wheel_rates

__all__ = [
    "DifferentialActionModelDiffDrive",
    "DifferentialActionModelUnicycle",
    "Lidar",
    "OccupancyGrid",
    "PlanarPath",
    "Scan",
    "Wall",
    "along",
    "around",
    "echo_distance",
    "limit_wheels",
    "replan",
    "rollout",
    "state_of_pose",
    "state_of_twist",
    "state_of_wheels",
    "wall_tangent",
    "wheel_rates",
]

explain_calls(__name__)
