"""Settings of the documentation site; `docs/build.sh` builds it."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.metadata import files
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.domains.python import PyObject

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
from machinery import examples, names, notebooks, problems, reference  # noqa: E402
from machinery.files import fingerprint  # noqa: E402

import trajopt  # noqa: E402

project = "trajopt"
author = "The trajopt authors"
copyright = author
version = release = trajopt.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "myst_nb",
]
exclude_patterns = ["_build", "_static", "machinery", "examples/**/*.ipynb", "examples/**/*.py", "problems/motions"]
nitpicky = True
show_warning_types = True
highlight_language = "text"  # indented blocks of docstrings are formulas
smartquotes = False
python_maximum_signature_line_length = 100

# appearance: nothing is loaded from elsewhere
html_theme = "pydata_sphinx_theme"
html_title = f"trajopt {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "trajopt"},
    "navbar_end": ["theme-switcher"],
    "show_nav_level": 1,
    "navigation_depth": 2,
    "header_links_before_dropdown": 9,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
mathjax_path = "mathjax.js"  # a copy from the package sphinx-mathjax-offline, see `copy_mathjax`

# API reference
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_attr_annotations = False
default_role = "anything"  # `name` in docstrings: a link where it is one of ours, else code

# pages
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
nb_execution_mode = "off" if os.environ.get("TRAJOPT_DOCS_QUICK") else "cache"
nb_execution_cache_path = str(DOCS / "_build" / "notebooks" / fingerprint()[:16])
nb_execution_timeout = 600
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

sphinx_gallery_conf = examples.CONF
suppress_warnings = ["config.cache", *(["myst-nb.lexer"] if os.environ.get("TRAJOPT_DOCS_QUICK") else [])]


def copy_mathjax(app: Sphinx) -> None:
    """Copies MathJax, one file that draws formulas as SVG and needs no fonts, out of the Python package that has it."""
    (source,) = (file.locate() for file in files("sphinx-mathjax-offline") or () if file.name == "tex-svg.js")
    target = DOCS / "_static" / "mathjax.js"
    if not target.exists() or target.stat().st_size != Path(str(source)).stat().st_size:
        shutil.copy(str(source), target)


def setup(app: Sphinx) -> None:
    """Connects the site's own parts."""
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"
    app.connect("builder-inited", copy_mathjax)
    for part in (names, reference, examples, problems, notebooks):
        part.setup(app)
