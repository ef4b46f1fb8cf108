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
    """A page.

    :param body: what is above its footer
    :param head_scripts: run before anything is shown
    :param scripts: run when everything is there
    :param has_form: whether it asks its own server for something
    """

    title: str
    body: Markup
    head_scripts: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    has_form: bool = False

    @property
    def policy(self) -> str:
        """What the page may load and run, whatever a name holds: the Content-Security-Policy."""
        scripts = " ".join(map(_source, (*self.head_scripts, *self.scripts))) or "'none'"
        form = "'self'" if self.has_form else "'none'"
        return (
            f"default-src 'none'; style-src {_source(STYLE_SHEET)}; script-src {scripts}; "
            f"base-uri 'none'; form-action {form}"
        )

    @property
    def html(self) -> str:
        """The whole page."""
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
