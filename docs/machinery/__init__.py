"""Parts of the documentation site: docstrings as pages show them, API reference, galleries of examples and problems."""
