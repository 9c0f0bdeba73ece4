"""Display of motions in the browser: robots with their meshes, and numbers of the solution beside them.

    view = solution.show()                        # a page on this machine; view.wait() keeps a script running
    solution.show("motion.html")                  # one file that plays without a server and a network
    trajopt.display.show([a, b], labels=["before", "after"])
    SolverFDDP(problem, callbacks=[trajopt.display.CallbackDisplay()])    # a live view of the solve
    page = trajopt.display.Page()                 # a page that a browser loads while a problem is solved
    View(solver.solve(), page=page)
    trajopt.display.RobotPage(robot)              # a slider for each joint

It needs viser, trimesh and pycollada, the extra `display`.
"""

from trajopt.display.callback import CallbackDisplay
from trajopt.display.film import film
from trajopt.display.page import Page
from trajopt.display.robot_page import RobotPage
from trajopt.display.show import show
from trajopt.display.timeline import Timeline
from trajopt.display.view import View
from trajopt.objects.calls import explain_calls

__all__ = ["CallbackDisplay", "Page", "RobotPage", "Timeline", "View", "film", "show"]

explain_calls(__name__)
