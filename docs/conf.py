"""How the documentation is built: ``make docs``."""

from __future__ import annotations

import os

import rankpursuit

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "critical")  # of the example with Dask

project = "rankpursuit"
author = copyright = "The rankpursuit developers"
version = release = rankpursuit.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples"]
html_theme = "furo"
html_title = f"rankpursuit {release}"
html_show_sourcelink = False
smartquotes = False

autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_typehints = "none"
numpydoc_show_class_members = False
templates_path = ["templates"]

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1,
}


def only_ours(app, what, name, obj, skip, options):
    """Leave out what scikit-learn's base classes bring."""
    module = getattr(obj, "__module__", None) or getattr(
        getattr(obj, "fget", None), "__module__", ""
    )
    return True if what == "class" and not str(module).startswith("rankpursuit") else None


def setup(app):
    """Connect to Sphinx."""
    app.connect("autodoc-skip-member", only_ours)
