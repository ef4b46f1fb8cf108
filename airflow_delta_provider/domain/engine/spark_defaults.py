"""``spark-defaults.conf``: what a platform sets for every application that says nothing else."""

from __future__ import annotations

import re

_SETTING = re.compile(r"\s*([^\s=:#!][^\s=:]*)(?:\s*[=:]\s*|\s+)(.*)")
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*")


def parse_defaults(text: str) -> dict[str, str]:
    """Return the settings of such a file, a Java properties file."""
    lines = _CONTINUED.sub(r"\1", text).splitlines()
    return {match[1]: match[2].strip() for match in map(_SETTING.fullmatch, lines) if match}
