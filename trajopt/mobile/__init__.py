"""Mobile robots in the plane: models of wheels, paths and what they ask of the wheels, motions, and corrected plans.

```python
model = DifferentialActionModelDiffDrive(CostStack(state_of_pose()), radius=0.1, half_track=0.2)
motion = rollout(model, x0=[0, 0, 0], us=[[1.0, 2.0]] * 100, dt=0.05, integrator="euler")
path = PlanarPath.of_curve(scipy.interpolate.CubicHermiteSpline(times, points, tangents), np.linspace(0, 1, 100))
xs, us = along(path, model)  # a guess for solvers
```

Ready problems are `trajopt.problems.load("hermite-path")` and `"parking-wheels"`.
"""

from trajopt.mobile.diff_drive import DifferentialActionModelDiffDrive
from trajopt.mobile.drive import along, rollout
from trajopt.mobile.path import PlanarPath
from trajopt.mobile.replanning import replan
from trajopt.mobile.states import state_of_pose, state_of_twist, state_of_wheels
from trajopt.mobile.unicycle import DifferentialActionModelUnicycle
from trajopt.mobile.wheels import limit_wheels, wheel_rates
from trajopt.model.calls import explain_calls

__all__ = [
    "DifferentialActionModelDiffDrive",
    "DifferentialActionModelUnicycle",
    "PlanarPath",
    "along",
    "limit_wheels",
    "replan",
    "rollout",
    "state_of_pose",
    "state_of_twist",
    "state_of_wheels",
    "wheel_rates",
]

explain_calls(__name__)
