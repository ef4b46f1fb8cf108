"""What patterns have in common whose open values need not be known."""

from __future__ import annotations

from airflow_delta_provider.domain.formats.json_pattern import JsonPattern


class OpenPattern:
    """A pattern of lines, each of which is right that fits it."""

    pattern: JsonPattern

    def lacks(self, line: str) -> bool:
        """Whether a line fits but for what is not known: never."""
        del line
        return False

    def take(self, line: str) -> bool:
        """Whether another action fits."""
        return self.pattern.fits(line) is not None
