"""An HTML document that loads nothing, and runs nothing but the scripts of this package."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from airflow_delta_provider import __version__
from airflow_delta_provider.domain.rendering.html_page.look import STYLE_SHEET
from airflow_delta_provider.domain.rendering.html_page.markup import Markup, element


@dataclass(frozen=True)
class Document:
    """An HTML page.

    :param body: content above the footer
    :param head_scripts: scripts that run before anything is shown
    :param scripts: scripts that run when the page is complete
    :param has_form: True if the page sends requests to its own server
    """

    title: str
    body: Markup
    head_scripts: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    has_form: bool = False

    @property
    def policy(self) -> str:
        """The Content-Security-Policy, which limits loading and scripts even if names contain markup."""
        scripts = " ".join(map(_source, (*self.head_scripts, *self.scripts))) or "'none'"
        form = "'self'" if self.has_form else "'none'"
        return (
            f"default-src 'none'; style-src {_source(STYLE_SHEET)}; script-src {scripts}; "
            f"base-uri 'none'; form-action {form}"
        )

    @property
    def html(self) -> str:
        head = element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=self.policy),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("title", self.title),
            element("style", Markup(STYLE_SHEET)),
            (element("script", Markup(script)) for script in self.head_scripts),
        )
        body = element(
            "body",
            self.body,
            element("footer", element("p", f"delta-provider {__version__}", class_="dim")),
            (element("script", Markup(script)) for script in self.scripts),
        )
        return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
