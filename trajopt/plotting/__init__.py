"""Pictures of a solution. Figures are returned, never shown; matplotlib is imported by the first one.

A figure belongs to no window: `figure.savefig("picture.png")` writes it. To see it in one, give the window's own:
`plot_solution(solution, figure=plt.figure(layout="constrained"))`.
"""

from trajopt.plotting.convergence import plot_convergence
from trajopt.plotting.cost_terms import plot_cost_terms
from trajopt.plotting.motion import plot_motion
from trajopt.plotting.style import check_picture_path
from trajopt.plotting.summary import plot_summary
from trajopt.plotting.trajectory import plot_solution

__all__ = [
    "check_picture_path",
    "plot_convergence",
    "plot_cost_terms",
    "plot_motion",
    "plot_solution",
    "plot_summary",
]
