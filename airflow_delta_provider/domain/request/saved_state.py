"""The option of jobs that save state, so that the next one checks only what is new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import ReadsFiles
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.value import Directory


@dataclass(frozen=True, kw_only=True)
class SavesState(ReadsFiles):
    """Options of a kind that may save state, in one file per table."""

    #: Options that choose a part of a table or of the rules, and so do not go with a state of the whole.
    selecting: ClassVar[tuple[str, ...]]

    state_path: str | None = option(
        Directory(), "directory for incremental state: the next run checks only what is new", metavar="DIRECTORY"
    )

    def check(self) -> None:
        """Check that nothing is selected where state is saved."""
        for name in self.selecting:
            value = getattr(self, name)
            if self.state_path is not None and value not in (None, ()):
                raise RequestError(
                    "{state_path} is {directory!r} and {option} {value!r}: a job with saved state resumes where the "
                    "last one ended, with all rules. Leave out {option}.",
                    option=name,
                    directory=self.state_path,
                    value=value,
                )
