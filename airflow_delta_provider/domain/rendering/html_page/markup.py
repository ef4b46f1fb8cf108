"""HTML elements. What is not markup already is escaped, so a value cannot become markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from airflow_delta_provider.domain.visible import visible

#: Elements that have no content, and no end tag.
_VOID = frozenset({"br", "input", "meta", "wbr"})
Attribute = str | int | bool | None


class Markup(str):
    """A piece of HTML, or of SVG in it."""

    __slots__ = ()


def text(value: str) -> Markup:
    """Return a value as text: what does not print, or turns text around, is shown as an escape.

    A CI that prints the page finds no command in it.
    """
    return Markup(escape(visible(value)).replace("::", ":&#58;").replace("##", "#&#35;"))


def lines(value: str) -> Markup:
    """Return a value as text that keeps its line breaks and tabs."""
    return Markup("\n".join(text(line.expandtabs(4)) for line in value.splitlines()))


def element(tag: str, *content: str | Iterable[str], **attributes: Attribute) -> Markup:
    """Return an element.

    :param content: markup, values to be escaped, or iterables of these
    :param attributes: underscores stand for dashes, one at the end for nothing; None and False leave one out
    """
    opening = f"<{tag}{''.join(_attribute(name, value) for name, value in attributes.items())}>"
    return Markup(opening if tag in _VOID else f"{opening}{''.join(map(_content, content))}</{tag}>")


def joined(*content: str | Iterable[str]) -> Markup:
    """Return pieces one after the other."""
    return Markup("".join(map(_content, content)))


def _content(content: str | Iterable[str]) -> Markup:
    if isinstance(content, Markup):
        return content
    return text(content) if isinstance(content, str) else joined(*content)


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.removesuffix("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(str(value))}"'


def breakable(path: str) -> Markup:
    """Return a path that may be broken after each slash; a copy of it is the same path."""
    first, *others = re.split("(?<=/)(?=[^/])", path)
    return joined(first, *(joined(element("wbr"), part) for part in others))
