"""Where the whole report of a job is kept, beyond what XCom holds of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.visible import visible

_CONNECTION = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/@]*@")


@dataclass(frozen=True)
class ReportPlace:
    """The file of a report.

    :param path: a path, or a URI in which the id of a connection may come before the ``@``; None where the report
        could not be kept
    :param error: why it could not be kept
    """

    path: str | None
    error: str | None = None

    @property
    def shown(self) -> str:
        """A sentence that says where the whole report is, or why it is nowhere."""
        if self.path is None:
            return visible(f"The whole report could not be kept ({self.error}).")
        return visible(f"The whole report: {self.bare}")

    @property
    def bare(self) -> str:
        """The path without the id of a connection, as other tools take it; empty where there is none."""
        return _CONNECTION.sub(r"\1", self.path or "")

    def to_json(self) -> dict[str, Any]:
        """Return the keys of XCom that say it."""
        return {"report_path": self.path, **({} if self.error is None else {"report_error": self.error})}
