"""Sphinx: user guide, gallery of questions, reference."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("MPLBACKEND", "Agg")

from reference import write_reference  # noqa: E402  # after the path and the backend

import maxmargin  # noqa: E402

write_reference(HERE / "reference" / "api.md")

project = "maxmargin"
author = "the maxmargin developers"
copyright = author
version = release = maxmargin.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "plain_docstrings",
    "offline_math",
    "linked_names",
    "open_lessons",
    "trimmed_blocks",
]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "auto_examples/*.ipynb", "auto_examples/**/*.ipynb"]
templates_path = ["_templates"]

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say it in words

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",  # scripts, not pages
    "subsection_order": [
        *[f"../examples/{name}" for name in ("machines", "kernels", "tuning", "linear", "online")],
        *[f"../examples/{name}" for name in ("selection", "evaluation", "strings")],
        "*",
    ],
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "reference/backreferences",
    "doc_module": ("maxmargin",),
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "ignore_repr_types": r"Display|matplotlib",  # pictures are shown, not printed
    "plot_gallery": "True",
    "abort_on_example_error": True,
}
warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown")

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "maxmargin"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_depth": 2,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
