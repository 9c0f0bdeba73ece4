"""Three links, one tip: pseudo-inverse steps compared with a plan, motions that do not move the tip, and reach.

    steps: q ← q + J⁺ v, v = 0.1 (-sin(i/100), 2 cos(i/100)) for i = 1 .. 100: an arc of an ellipse
    plan: minimise  ∫ ½ τ⁴ |acceleration|² + ½ 1e-4 (m(q) - 200)² dt,  m = √det(J Jᵀ), with the tip on the arc
    null space: q ← q + 0.01 n, J n = 0, ten times; compared with a motion to a posture with the tip fixed

Look at: the distance of the tip from its path, and m and σ along the arc. Expected cost: 0.05818908754.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import ik
from trajopt.plotting import plot_configurations

ROBOT = trajopt.Robot(trajopt.robots.planar_arm(lengths=(10.0, 10.0, 10.0)))
ARC, HELD = np.array([0.0, 2 * np.pi / 3, -3 * np.pi / 4]), np.array([0.2, 0.3, 0.4])  # start configurations [rad]


def tip(q: np.ndarray) -> np.ndarray:
    """Position (2,), or (n, 2) [m]."""
    return np.asarray(ROBOT.placement(q, "tool")[..., [0, 2], 3])


def jacobian(q: np.ndarray) -> np.ndarray:
    """J (2, 3), or (n, 2, 3) [m]."""
    return np.asarray(ROBOT.jacobian(q, "tool")[..., [0, 2], :])


def null_space(q: np.ndarray, size: float, count: int) -> np.ndarray:
    """Configuration after steps q ← q + size n, with J n = 0 and |n| = 1."""
    for _ in range(count):
        n = np.cross(*jacobian(q))
        q = q + size * n / np.linalg.norm(n)
    return q


def main(plot: bool = False) -> trajopt.Solution:
    """Follows the arc in both ways and returns the solution of the plan; `plot` writes redundant_arm.png."""
    state, s = trajopt.StateMultibody(ROBOT), np.arange(1, 101) / 100
    velocities, qs = 0.1 * np.stack([-np.sin(s), 2 * np.cos(s)], axis=1), [ARC]
    for v in velocities:
        qs.append(qs[-1] + np.linalg.pinv(jacobian(qs[-1])) @ v)
    wanted = tip(ARC) + np.concatenate([np.zeros((1, 2)), velocities.cumsum(axis=0)])
    tasks, costs = trajopt.ConstraintStack(state), trajopt.CostStack(state)
    tasks.add("tip", trajopt.ResidualModelFrameTranslation(state, "tool", [20.0, 0.0, 25.0]), equals=0.0)
    costs.add("m", trajopt.ResidualModelManipulability(state, "tool", rows=(0, 2), reference=200.0), weight=1e-4)
    path = {"tip.reference": np.insert(wanted, 1, 0.0, axis=1)}
    plan = ik.track(ROBOT, (tasks, costs), path, 0.04, q0=ARC, method="optimal")
    volumes = {}
    for name, q in {"J⁺ steps": np.array(qs), "plan": plan.qs}.items():
        away, singular = np.linalg.norm(tip(q) - wanted, axis=1).max(), np.linalg.svd(jacobian(q))[1]
        volumes[name] = singular.prod(axis=1)
        print(f"{name}: {away:.1e} m away at most, m {volumes[name].mean():.1f} on average, σ >= {singular.min():.3f}")
    easy = trajopt.CostStack(state).add("posture", trajopt.ResidualModelState(state, [-0.5, 1.2, 0.6, 0, 0, 0]), 1.0)
    here = np.tile(ROBOT.placement(HELD, "tool")[:3, 3], (301, 1))
    held = ik.track(ROBOT, (tasks, easy), {"tip.reference": here}, 0.01, q0=HELD, settling=1.0, method="optimal")
    drift = [np.linalg.norm(tip(q) - tip(HELD), axis=-1).max() for q in (null_space(HELD, 0.01, 10), held.qs)]
    print(f"the fixed tip drifts by {drift[0]:.1e} m in ten steps, by {drift[1]:.1e} m as a constraint")
    print(f"(20, 25) is out of reach:\n{ik.solve(ROBOT, tasks)}")
    if plot:
        from matplotlib import pyplot as plt

        cells = plt.figure(figsize=(14.0, 4.8), layout="constrained").subfigures(1, 3)
        plot_configurations(ROBOT, plan.qs[::-20], points=path["tip.reference"][::10], figure=cells[0])
        plot_configurations(ROBOT, held.qs[::-30], points=here[0], figure=cells[1])
        axes = cells[2].subplots()
        for name, volume in volumes.items():
            axes.plot(s, volume[1:], label=name)
        axes.set(xlabel="part of the arc [-]", ylabel="manipulability m [m²]")
        axes.legend(loc="lower right")
        plt.savefig("redundant_arm.png")
    assert plan.solution is not None
    return plan.solution


if __name__ == "__main__":
    main(plot=True)
