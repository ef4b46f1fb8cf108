"""Where a rule is documented: its anchor on the page of rules, and how a reader gets there."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from airflow_delta_provider.domain.checks.registry import RULES


def anchor(code: str) -> str:
    """Return the anchor of a rule on the page of rules."""
    return code.lower()


@dataclass(frozen=True)
class RuleLinks:
    """Links to the documentation of rules.

    :param page: address of the page of rules, where it is published: the site's ``reference/rules.html``, or
        ``docs/reference/rules.md`` in a repository's browser. None where no such address is known
    :raises ValueError: if that is not an address on the web, or has a fragment already
    """

    page: str | None = None

    def __post_init__(self) -> None:
        if self.page is None:
            return
        parts = urlsplit(self.page)
        if parts.scheme not in ("http", "https") or not parts.netloc or "#" in self.page or not self.page.isprintable():
            raise ValueError(
                f"{self.page!r} is not the address of the page of rules. Give an http or https URL without a fragment."
            )

    def url(self, code: str) -> str | None:
        """Return the address of a rule; None where there is none, or this version does not know the rule."""
        return f"{self.page}#{anchor(code)}" if self.page and code in RULES else None

    def shown(self, code: str) -> str:
        """Return the address of a rule, or the command that prints what is known about it; empty for no such rule."""
        return self.url(code) or (f"delta-provider explain {code}" if code in RULES else "")


@dataclass(frozen=True)
class RuleRoutes(RuleLinks):
    """Links to pages that a server has of rules, one each.

    :param folder: where they are, relative to the page that links to them
    """

    folder: str = "."

    def url(self, code: str) -> str | None:
        """Return the address of a rule; None where this version does not know it."""
        return f"{self.folder}/{code}" if code in RULES else None
