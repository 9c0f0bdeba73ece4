"""Views of solutions in the browser."""
