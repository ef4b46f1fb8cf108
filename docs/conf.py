"""Settings of the site, which ``make site`` builds."""

from __future__ import annotations

import os

from docutils import nodes
from sphinx.application import Sphinx

from airflow_delta_provider import __version__
from airflow_delta_provider.command_line.rules import entries

project = "airflow-delta-provider"
author = "airflow-delta-provider"
copyright = "the authors, under the Apache License 2.0"
release = version = __version__

extensions = ["myst_parser"]
html_theme = "furo"
html_title = f"{project} {version}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
#: The JSON Schemas, for editors: schemas/spec.schema.json and schemas/report.schema.json of the site.
html_extra_path = ["_schemas"]
# Pages link to their source if the address of the repository is known.
if _PUBLISHED := os.environ.get("PUBLISHED", "").rstrip("/"):
    html_theme_options = {
        "source_repository": f"{_PUBLISHED}/",
        "source_branch": f"v{version}",
        "source_directory": "docs/",
    }

myst_heading_anchors = 3


def _with_titles(app: Sphinx, page: nodes.document) -> None:
    """Add the title of each rule to its heading, which is its code alone, so that links to it stay short."""
    if app.env.docname != "reference/rules":
        return
    known = entries()
    for section in page.findall(nodes.section):
        heading = section.next_node(nodes.title)
        if heading is not None and (rule := known.get(heading.astext())) is not None:
            heading += nodes.Text(f" {rule.title}")


def setup(app: Sphinx) -> None:
    """Connect the functions above; Sphinx calls it."""
    app.connect("doctree-read", _with_titles, priority=100)  # before the contents are collected
