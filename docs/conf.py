"""Sphinx's settings for the pages that `docs/build.py` has laid out."""

import benchgen

project = "benchgen"
author = "the benchgen authors"
release = version = benchgen.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
smartquotes = False  # a quoted message stands as the code says it
default_role = "code"  # `x` in a docstring is code, as it is in Markdown
highlight_language = "text"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88

html_theme = "furo"  # its scripts, fonts and styles come with it: a built page asks nobody
html_title = f"benchgen {release}"
html_static_path = ["assets"]
html_css_files = ["own.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
