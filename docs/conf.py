"""Settings of the site, which ``make site`` builds."""

from __future__ import annotations

import os
import tempfile

from airflow_delta_provider import __version__

# Airflow writes its configuration when it is imported: not into the home of whoever builds the site.
_HOME = tempfile.TemporaryDirectory(prefix="airflow-home-", ignore_cleanup_errors=True)
os.environ["AIRFLOW_HOME"] = _HOME.name
os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "WARNING"
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"

project = "airflow-delta-provider"
author = "airflow-delta-provider"
copyright = "Apache License 2.0"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = f"{project} {version}"
html_show_sphinx = False
html_copy_source = False

myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
autodoc_preserve_defaults = True
