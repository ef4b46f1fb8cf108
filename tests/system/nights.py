"""Night after night the same audit, of which something dies; and what people were told."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.system.airflow_services import AirflowServices
from tests.system.process_tree import wait_for


class Nights:
    """Night after night the same audit."""

    def __init__(self, services: AirflowServices, policy: str, folder: Path, tables: list[Path]) -> None:
        self._services = services
        self._dag_id = f"audit_that_dies_{policy}"
        self._tables = tables
        self._state = folder / "state"
        self._state.mkdir()
        self._record = folder / "record.jsonl"
        self._record.touch()

    def audit(self, dies_after: str = "") -> None:
        """Run the DAG, to the end of its callbacks."""
        before = len(self._lines())
        run = self._services.trigger(
            self._dag_id,
            tables=[str(table) for table in self._tables],
            state=str(self._state),
            record=str(self._record),
            dies_after=dies_after,
        )
        run.wait_for_end()
        # A task that succeeded before it died has no other try.
        last = "died" if dies_after in ("told", "confirmed") and run.state == "success" else "over"
        wait_for(lambda: last in (self._lines() or [{}])[-1], "the end of the callbacks")
        died = [line["died"] for line in self._lines()[before:] if "died" in line]
        assert died == ([dies_after] if dies_after else [])

    def told(self) -> Counter[tuple[str, str]]:
        """Return how often each table's news were told so far."""
        return Counter((news, table) for line in self._lines() for news, table, _ in line.get("told", ()))

    def check_told(self, news: str, most: int) -> None:
        """Check that this was told of every table, and not too often."""
        told = self.told()
        assert all(1 <= told[news, str(table)] <= most for table in self._tables), told

    def _lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._record.read_text().splitlines()]
