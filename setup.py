"""What a package index shows: the README, whose links lead there from anywhere.

``PUBLISHED=https://github.com/OWNER/NAME make dist`` says where the repository is published. Links then lead to the
files of this version there, and the index links to the repository. Without it, links to files are left out, and their
words stay.
"""

import os
import re
from pathlib import Path

from setuptools import setup

FOLDER = Path(__file__).parent
#: A link, or an image, to a file of the repository.
LINK = re.compile(r"(!?)\[([^\[\]]*)\]\((?![a-z]+:|#)([^()\s]+)\)")


def page(text, published, version):
    """Return a text in Markdown with links that do not depend on where it is shown.

    :param published: address of the repository; None where it is not published
    """

    def absolute(link):
        image, words, path = link.groups()
        if published is None:
            return "" if image else words
        view = "raw" if image else "blob"
        return f"{image}[{words}]({published.rstrip('/')}/{view}/v{version}/{path})"

    return LINK.sub(absolute, text)


def urls(published, version):
    """Return the links of the index itself."""
    if published is None:
        return {}
    home = published.rstrip("/")
    files = f"{home}/blob/v{version}"
    return {
        "Repository": home,
        "Issues": f"{home}/issues",
        "Documentation": f"{files}/docs/index.md",
        "Changelog": f"{files}/CHANGELOG.md",
    }


def version():
    """Return the version of the package, without an import of it."""
    init = (FOLDER / "airflow_delta_provider" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"$', init, re.MULTILINE)[1]


if __name__ == "__main__":
    published = os.environ.get("PUBLISHED") or None
    setup(
        long_description=page((FOLDER / "README.md").read_text(encoding="utf-8"), published, version()),
        long_description_content_type="text/markdown",
        project_urls=urls(published, version()),
    )
