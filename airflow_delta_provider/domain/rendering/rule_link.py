"""The documentation of a rule: its anchor on the page of rules, and links to it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from airflow_delta_provider.domain.checks.registry import RULES


def anchor(code: str) -> str:
    return code.lower()


@dataclass(frozen=True)
class RuleLinks:
    """Links to the documentation of rules.

    :param page: address of the published page of rules: the site's ``reference/rules.html``, or
        ``docs/reference/rules.md`` in a repository's browser; None if unknown
    :raises ValueError: if that is not an address on the web, or already has a fragment
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
        """Return the address of a rule; None without a page, or if this version does not know the rule."""
        return f"{self.page}#{anchor(code)}" if self.page and code in RULES else None

    def shown(self, code: str) -> str:
        """Return the address of a rule, or else the command that explains it; empty for an unknown rule."""
        return self.url(code) or (f"delta-provider explain {code}" if code in RULES else "")


@dataclass(frozen=True)
class RuleRoutes(RuleLinks):
    """Links to a server's pages of rules, one per rule.

    :param folder: address of the pages, relative to the page that links to them
    """

    folder: str = "."

    def url(self, code: str) -> str | None:
        """Return the address of a rule; None if this version does not know it."""
        return f"{self.folder}/{code}" if code in RULES else None
