"""Plots of solutions, closed loops, inverse kinematics, contact schedules, grids and sweeps.

Functions return a matplotlib figure; the first call imports matplotlib.

`plt.show()` shows the figures on a display; a notebook shows them by itself. `figure.savefig("one.png")` writes a
file. Functions that write a file do not use pyplot, and without a display none does. To draw into your own figure,
pass it: `plot_solution(solution, figure=plt.figure(layout="constrained"))`.
"""

from typing import TYPE_CHECKING

from trajopt.objects.lazy import lazy

if TYPE_CHECKING:
    from trajopt.plotting.animation import animate
    from trajopt.plotting.batches import plot_batch
    from trajopt.plotting.com import plot_com
    from trajopt.plotting.configurations import plot_configurations
    from trajopt.plotting.constraints import plot_constraints
    from trajopt.plotting.convergence import plot_convergence
    from trajopt.plotting.cost_terms import plot_cost_terms
    from trajopt.plotting.drives import plot_drives
    from trajopt.plotting.ellipses import plot_ellipses
    from trajopt.plotting.feet import plot_feet
    from trajopt.plotting.forces import plot_contact_forces
    from trajopt.plotting.motion import plot_motion
    from trajopt.plotting.occupancy_grid import plot_grid
    from trajopt.plotting.path import plot_path
    from trajopt.plotting.phases import plot_phases
    from trajopt.plotting.rollout import animate_rollout, plot_rollout
    from trajopt.plotting.samples import plot_samples
    from trajopt.plotting.strip import plot_strip
    from trajopt.plotting.style import check_picture_path
    from trajopt.plotting.summary import plot_pages, plot_summary
    from trajopt.plotting.sweeps import plot_cost_histogram, plot_parallel_coordinates, plot_success_map, plot_sweep
    from trajopt.plotting.trajectory import plot_solution
else:
    __getattr__, __dir__ = lazy(__name__)

__all__ = [
    "animate",
    "animate_rollout",
    "check_picture_path",
    "plot_batch",
    "plot_com",
    "plot_configurations",
    "plot_constraints",
    "plot_contact_forces",
    "plot_convergence",
    "plot_cost_histogram",
    "plot_cost_terms",
    "plot_drives",
    "plot_ellipses",
    "plot_feet",
    "plot_grid",
    "plot_motion",
    "plot_pages",
    "plot_parallel_coordinates",
    "plot_path",
    "plot_phases",
    "plot_rollout",
    "plot_samples",
    "plot_solution",
    "plot_strip",
    "plot_success_map",
    "plot_summary",
    "plot_sweep",
]
