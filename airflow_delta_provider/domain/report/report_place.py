"""The place of a job's whole report, which may be larger than XCom's copy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.visible import visible

_CONNECTION = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/@]*@")


@dataclass(frozen=True)
class ReportPlace:
    """The file of a report.

    :param path: path, or URI that may contain a connection id before ``@``; None if the report could not be kept
    :param error: reason why the report could not be kept
    """

    path: str | None
    error: str | None = None

    @property
    def shown(self) -> str:
        """A sentence with the place of the whole report, or the reason why there is none."""
        if self.path is None:
            return visible(f"The whole report could not be kept ({self.error}).")
        return visible(f"The whole report: {self.bare}")

    @property
    def bare(self) -> str:
        """The path without the connection id, as other tools accept it; empty if there is none."""
        return _CONNECTION.sub(r"\1", self.path or "")

    def to_json(self) -> dict[str, Any]:
        """Return the place as keys for XCom."""
        return {"report_path": self.path, **({} if self.error is None else {"report_error": self.error})}
