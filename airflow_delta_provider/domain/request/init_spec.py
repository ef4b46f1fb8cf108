"""What writing the specs of existing tables may be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import ReadsFiles
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.value import Directory, Flag


class SpecPlace(Directory):
    """The path or URI of a spec file; or none."""

    def checked(self, option: str, value: object) -> str | None:
        """Return the path."""
        if value is not None and not (isinstance(value, str) and value.endswith((".yaml", ".yml", ".json"))):
            raise RequestError(
                "{option} is {value!r}; it has to be a file that ends with .yaml, .yml or .json.",
                option=option,
                value=value,
            )
        return value


@dataclass(frozen=True, kw_only=True)
class InitSpecOptions(ReadsFiles):
    """Write the spec of existing tables: what declares them as they are."""

    kind: ClassVar[str] = "init-spec"
    takes_patterns: ClassVar[bool] = True

    out: str | None = option(
        SpecPlace(), "file to write the specs of all tables to, YAML or JSON by its name", metavar="FILE"
    )
    force: bool = option(Flag(), "overwrite the file")
