"""Gaits: contact schedules as plain data, generators for quadrupeds and bipeds, and their shooting problems.

This example computes a trot without any tuning:

```python
import trajopt
from trajopt import gaits
from trajopt.solvers import SolverFDDP, SolverSQP

robot = trajopt.load_robot("go2")
stance = gaits.Stance.of(robot, ["FL_foot", "FR_foot", "RL_foot", "RR_foot"])
trot = gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05)
print(trot)  # shows when each foot stands, swings and touches down

problem = gaits.gait_problem(robot, trot)
solution = SolverFDDP(problem).solve(*gaits.gait_guess(problem, trot))
```

With hard limits, forces stay within their cones and joints within the robot's limits. The motion without limits is a
good guess:

```python
limited = gaits.gait_problem(robot, trot, limits=True)
within = SolverSQP(limited).solve(solution.xs, solution.us)
```

In one problem, a second gait can continue from the end of the first:

```python
walk = gaits.quadruped_walk(trot.end, step_length=0.1, step_height=0.05)
problem = gaits.gait_problem(robot, trot + walk)
```

Gaits of steps can turn. The posture and the guess turn with the feet:

```python
turn = gaits.quadruped_trot(stance, step_length=0.0, step_height=0.07, turn=1.57, cycles=4)
problem = gaits.gait_problem(robot, turn)
solution = SolverFDDP(problem).solve(*gaits.gait_guess(problem, turn))
```

The second gait can also be a problem of its own, with the same compiled models:

```python
models = gaits.GaitModels(robot, stance)
x = solution.xs[-1]
walk = gaits.quadruped_walk(gaits.Stance.of(robot, stance.feet, x), step_length=0.1, step_height=0.05)
problem = models.problem(walk, x)
```
"""

from trajopt.gaits.biped import biped_jump, biped_walk
from trajopt.gaits.carried import carried_postures
from trajopt.gaits.foothold import Foothold
from trajopt.gaits.footsteps import biped_footsteps, footsteps_along
from trajopt.gaits.guess import gait_guess
from trajopt.gaits.jumps import JumpOptions
from trajopt.gaits.limits import GaitLimits
from trajopt.gaits.lip import LinearInvertedPendulum, PendulumPlan, pendulum_plan
from trajopt.gaits.models import GaitModels
from trajopt.gaits.options import GaitOptions, StateWeights, holding_gains
from trajopt.gaits.phase import Phase, Swing
from trajopt.gaits.problem import gait_problem
from trajopt.gaits.quadruped import (
    quadruped_bound,
    quadruped_com_shift,
    quadruped_jump,
    quadruped_pace,
    quadruped_trot,
    quadruped_walk,
)
from trajopt.gaits.reduced import ReducedGaitModels
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance
from trajopt.gaits.terrain import Terrain
from trajopt.gaits.terrain_distance import ResidualModelTerrainDistance
from trajopt.gaits.timing import FreeTime
from trajopt.objects.calls import explain_calls

__all__ = [
    "ContactSchedule",
    "Foothold",
    "FreeTime",
    "GaitLimits",
    "GaitModels",
    "GaitOptions",
    "JumpOptions",
    "LinearInvertedPendulum",
    "PendulumPlan",
    "Phase",
    "ReducedGaitModels",
    "ResidualModelTerrainDistance",
    "Stance",
    "StateWeights",
    "Swing",
    "Terrain",
    "biped_footsteps",
    "biped_jump",
    "biped_walk",
    "carried_postures",
    "footsteps_along",
    "gait_guess",
    "gait_problem",
    "holding_gains",
    "pendulum_plan",
    "quadruped_bound",
    "quadruped_com_shift",
    "quadruped_jump",
    "quadruped_pace",
    "quadruped_trot",
    "quadruped_walk",
]

explain_calls(__name__)
