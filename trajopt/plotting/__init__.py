"""Pictures of a solution. Functions return a matplotlib figure and show nothing; the first call imports matplotlib.

The figure belongs to no window; `figure.savefig("picture.png")` writes it. To draw into a window, pass its figure:
`plot_solution(solution, figure=plt.figure(layout="constrained"))`.
"""

from trajopt.plotting.com import plot_com
from trajopt.plotting.convergence import plot_convergence
from trajopt.plotting.cost_terms import plot_cost_terms
from trajopt.plotting.feet import plot_feet
from trajopt.plotting.forces import plot_contact_forces
from trajopt.plotting.motion import plot_motion
from trajopt.plotting.phases import plot_phases
from trajopt.plotting.strip import plot_strip
from trajopt.plotting.style import check_picture_path
from trajopt.plotting.summary import plot_summary
from trajopt.plotting.trajectory import plot_solution

__all__ = [
    "check_picture_path",
    "plot_com",
    "plot_contact_forces",
    "plot_convergence",
    "plot_cost_terms",
    "plot_feet",
    "plot_motion",
    "plot_phases",
    "plot_solution",
    "plot_strip",
    "plot_summary",
]
