"""What changing the columns of a table may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from airflow_delta_provider.domain.request.arguments import RequestError, check_flags, names
from airflow_delta_provider.domain.request.options import Options


@dataclass(frozen=True, kw_only=True)
class AlterColumnsOptions(Options):
    """Drop, rename and add columns, in this order.

    :param add: SQL type by column path, a path of the schema as it is after drops and renames
    :param rename: new name by column path
    :param drop: column paths
    :param allow_unsafe_log_store: allow commits where Delta's log store does not keep writers apart
    """

    kind: ClassVar[str] = "alter-columns"

    add: Mapping[str, str] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    allow_unsafe_log_store: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "add", _texts("add", self.add, "types, for instance {'note': 'string'}"))
        object.__setattr__(self, "rename", _texts("rename", self.rename, "new names, for instance {'qty': 'quantity'}"))
        check_flags(self, "allow_unsafe_log_store")
        given = list(self.drop) if isinstance(self.drop, (list, tuple)) else []
        object.__setattr__(self, "drop", names("drop", self.drop))
        for path in self.drop:
            if given.count(path) > 1 or path in self.rename:
                raise RequestError(f"{path!r} is to be changed twice. Ask for one change a column.")
        if not (self.add or self.rename or self.drop):
            raise RequestError("Nothing is asked for. Give add, rename or drop.")


def _texts(argument: str, value: Any, example: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise RequestError(f"{argument} has to map column paths to {example}, not {value!r}.")
    for path, text in value.items():
        if not (isinstance(path, str) and isinstance(text, str) and path and text):
            raise RequestError(f"{argument} has {path!r}: {text!r}; both have to be texts that are not empty.")
    return dict(value)
