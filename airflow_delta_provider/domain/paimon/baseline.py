"""The proven result of the last check of a table, with its files: the next check resumes from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

from airflow_delta_provider.domain.report.confirmation import Reported

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class KnownFile:
    """A data file that was live.

    :param name: its name, unique in the table
    :param lowest: lowest row id in it; None if it was not read
    :param highest: highest row id in it; None if it was not read
    """

    name: str
    first_row_id: int | None
    row_count: int
    lowest: int | None = None
    highest: int | None = None


@dataclass(frozen=True)
class Baseline:
    """A snapshot that was checked and found correct, with all earlier ones.

    :param snapshot_uuid: identifier that distinguishes it from another snapshot with the same id: after a rollback, ids
        are reused
    :param level: level of the check
    :param key_columns: columns that the check compared
    :param files: live files
    :param reported: warnings of earlier snapshots whose report has not been confirmed yet
    """

    snapshot_id: int
    snapshot_uuid: str
    level: str
    key_columns: tuple[str, ...]
    files: tuple[KnownFile, ...]
    reported: Reported = field(default_factory=Reported)

    @property
    def version(self) -> int:
        """The id of the snapshot."""
        return self.snapshot_id

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "paimon_schema_version": SCHEMA_VERSION,
            "version": self.snapshot_id,
            "snapshot_uuid": self.snapshot_uuid,
            "level": self.level,
            "key_columns": list(self.key_columns),
            "files": [list(astuple(file)) for file in self.files],
            "reported": self.reported.to_json(),
        }

    @classmethod
    def from_json(cls, wire: Any) -> Baseline:
        """Read the JSON form.

        :raises ValueError: if it is not one, or is of another version
        """
        try:
            if not isinstance(wire, Mapping) or wire["paimon_schema_version"] != SCHEMA_VERSION:
                raise ValueError("it was not written by this kind of check, or by a later version of it")
            found = cls(
                wire["version"],
                wire["snapshot_uuid"],
                wire["level"],
                tuple(wire["key_columns"]),
                tuple(KnownFile(*file) for file in wire["files"]),
                Reported.from_json(wire["reported"]) if "reported" in wire else Reported(),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it lacks something: {error}") from error
        if type(found.snapshot_id) is not int or not isinstance(found.snapshot_uuid, str):
            raise ValueError("it names no snapshot")
        return found
