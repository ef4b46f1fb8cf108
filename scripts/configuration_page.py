"""Renders ``docs/reference/configuration.md`` from the provider's entry for Airflow: part of ``make docs``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow_delta_provider.get_provider_info import get_provider_info

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "configuration.md"
_INTRODUCTION = """\
# Configuration

<!-- Written by `make docs` from airflow_delta_provider/get_provider_info.py: change it there. -->

Set these options in `airflow.cfg`, or as environment variables.\
"""


def render() -> str:
    """Return the page."""
    sections: dict[str, Any] = get_provider_info()["config"]
    blocks = [_INTRODUCTION]
    for section, about in sections.items():
        blocks.append(f"## [{section}]")
        for name, option in about["options"].items():
            blocks += [f"### {name}", option["description"], _facts(section, name, option)]
    return "\n\n".join(blocks) + "\n"


def _facts(section: str, name: str, option: dict[str, Any]) -> str:
    rows = {
        "Type": option["type"],
        "Default": f"`{option['default']}`" if option["default"] else "empty",
        "Example": f"`{option['example']}`" if option["example"] else None,
        "Environment variable": f"`AIRFLOW__{section.upper()}__{name.upper()}`",
        "Since": option["version_added"],
    }
    return "\n".join(f"- {name}: {value}" for name, value in rows.items() if value)
