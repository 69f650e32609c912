"""Sphinx: the user guide."""

project = "maxmargin"
author = "the maxmargin developers"
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px"}
exclude_patterns = ["_build"]
