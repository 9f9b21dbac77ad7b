# SPDX-License-Identifier: Apache-2.0
"""The book's settings for Sphinx. `./run docs` builds it, from a copy of the tree's Markdown: see docs/reference/build.py."""
import os

project = "Braid"
author = "the authors of Braid"
copyright = author  # pylint: disable=redefined-builtin
release = version = os.environ["BRAID_VERSION"]
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
root_doc = "docs/index"
exclude_patterns = ["README.md"]  # the book says it all at more length
# C as it is written here: marks that only compilers read are left out before.
c_id_attributes = []
primary_domain = "c"
highlight_language = "text"
html_theme = "furo"
html_title = f"Braid {release}"
html_show_sphinx = False
