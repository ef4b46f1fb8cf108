"""HTML elements. Values that are not markup are escaped, so a value cannot become markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from airflow_delta_provider.domain.visible import visible

#: Elements without content and end tag.
_VOID = frozenset({"br", "input", "meta", "wbr"})
Attribute = str | int | bool | None


class Markup(str):
    """A piece of HTML, or of SVG in it."""

    __slots__ = ()


def text(value: str) -> Markup:
    """Return a value as text, with unprintable and direction-changing characters as escapes.

    A CI that prints the page finds no command in it.
    """
    return Markup(escape(visible(value)).replace("::", ":&#58;").replace("##", "#&#35;"))


def lines(value: str) -> Markup:
    """Return a value as text that keeps its line breaks; tabs become blanks."""
    return Markup("\n".join(text(line.expandtabs(4)) for line in value.splitlines()))


def element(tag: str, *content: str | Iterable[str], **attributes: Attribute) -> Markup:
    """Return an element.

    :param content: markup, values to be escaped, or iterables of these
    :param attributes: attributes; underscores become dashes, one at the end is dropped; None and False omit an
        attribute
    """
    opening = f"<{tag}{''.join(_attribute(name, value) for name, value in attributes.items())}>"
    return Markup(opening if tag in _VOID else f"{opening}{''.join(map(_content, content))}</{tag}>")


def joined(*content: str | Iterable[str]) -> Markup:
    """Return the pieces joined."""
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
    """Return a path that may be broken after each slash. A copy of the text is still the same path."""
    first, *others = re.split("(?<=/)(?=[^/])", path)
    return joined(first, *(joined(element("wbr"), part) for part in others))
