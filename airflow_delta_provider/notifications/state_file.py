"""The file where a notifier remembers the findings it sent."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_delta_provider.local_file import read_regular, replace_file
from airflow_delta_provider.notifications.memory import Changes, Remembered, Trace

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import ObjectStoragePath

log = logging.getLogger(__name__)

SCHEMA_VERSION = 1
#: Most findings that are kept; beyond that, the ones sent longest ago are forgotten.
MAX_TRACES = 5000


class StateFile:
    """A small JSON file in Airflow's object storage. Every call blocks.

    Two tasks that end at the same moment may overwrite each other's changes. At worst, an alert is sent twice.

    :param path: a path, a URI or an ``ObjectStoragePath``
    """

    def __init__(self, path: str | ObjectStoragePath) -> None:
        # This import takes seconds the first time, so it is not at the top: DAG files would have to wait for it.
        from airflow.providers.common.compat.sdk import ObjectStoragePath

        self._path = ObjectStoragePath(path)
        _ = self._path.fs  # raises for an unknown scheme; Airflow 3.1 itself raises only when it opens the file

    def load(self) -> Remembered:
        """Return the traces in the file; none if the file is missing or has another format.

        :raises OSError: if the storage cannot be reached
        """
        try:
            kept = json.loads(self._content())
            if kept["schema_version"] != SCHEMA_VERSION:
                raise ValueError(f"schema version {kept['schema_version']!r}")
            missed = {name: _traces(wire) for name, wire in kept.get("missed", {}).items()}
            return Remembered(_traces(kept["findings"]), missed)
        except FileNotFoundError:
            return Remembered()
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            log.warning("%s is not a state file of this notifier (%s); it is replaced by a new one", self._path, error)
            return Remembered()

    def _content(self) -> bytes:
        if self._path.protocol not in ("", "file"):
            content: bytes = self._path.read_bytes()
            return content
        return read_regular(self._path.path)

    def apply(self, changes: Mapping[str | None, Changes]) -> None:
        """Apply the changes of :meth:`Remembered.changes` to the current file.

        :raises OSError: if the storage cannot be reached
        """
        if not any(changes.values()):
            return
        remembered = self.load().updated(changes)
        kept = remembered.traces
        if len(kept) > MAX_TRACES:
            log.warning(
                "%s remembers the %d findings that were sent last; %d older ones may be sent again",
                self._path,
                MAX_TRACES,
                len(kept) - MAX_TRACES,
            )
        oldest_first = sorted(kept, key=lambda key: sent_at.timestamp() if (sent_at := kept[key].sent_at) else 0)
        newest = remembered.only(oldest_first[-MAX_TRACES:])
        document: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "findings": _wire(newest.traces)}
        if newest.missed:
            document["missed"] = {name: _wire(own) for name, own in newest.missed.items()}
        self._write(json.dumps(document, indent=1))

    def _write(self, content: str) -> None:
        """Replace the file atomically: a killed process leaves the old one.

        Object stores do so by themselves.
        """
        if self._path.protocol not in ("", "file"):
            self._path.write_text(content, encoding="utf-8")
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self._path.path, content.encode())


def _traces(wire: Mapping[str, Any]) -> dict[str, Trace]:
    return {key: Trace.from_json(trace) for key, trace in wire.items()}


def _wire(traces: Mapping[str, Trace]) -> dict[str, Any]:
    return {key: trace.to_json() for key, trace in traces.items()}
