"""Many problems in one call: `solver.solve_batch`, and several guesses for one: `solver.solve(starts=8)`."""
