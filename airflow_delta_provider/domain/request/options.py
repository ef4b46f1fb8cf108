"""The options of a job, and facts that follow from its kind and options alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any, ClassVar

from airflow_delta_provider.domain.delta.features.registry import is_unknown
from airflow_delta_provider.domain.request.names import FeatureNames
from airflow_delta_provider.domain.request.option import Option, option
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.value import Directory
from airflow_delta_provider.domain.suggestion import did_you_mean


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a kind of job.

    :raises RequestError: if they are wrong
    """

    kind: ClassVar[str]
    #: True if the kind changes tables.
    changes: ClassVar[bool] = False
    #: True if tables may be named by patterns.
    takes_patterns: ClassVar[bool] = False
    #: True if the options may name the tables, so that nothing else has to.
    names_tables: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, declared in self.declared().items():
            object.__setattr__(self, name, declared.value.checked(name, getattr(self, name)))
        for name, declared in self.declared().items():
            if declared.one is not None and not getattr(self, name):
                raise RequestError("{option} is empty. Name at least {one}.", option=name, one=declared.one)
        self.check()

    def check(self) -> None:
        """Check combinations of options.

        :raises RequestError: with the names of contradicting options
        """

    @property
    def declared_tables(self) -> tuple[str, ...]:
        """The tables that the options name themselves, used if the request names no others."""
        return ()

    def check_tables(self, tables: Iterable[str]) -> None:
        """Check the names of tables against the options.

        :raises RequestError: if they do not fit
        """
        del tables

    @classmethod
    @cache
    def declared(cls) -> Mapping[str, Option]:
        """Return the options by name, with options that several kinds share last."""
        known = {each.name: each.metadata["option"] for each in fields(cls) if "option" in each.metadata}
        own = [name for name in known if name in cls.__annotations__]
        return {name: known[name] for name in dict.fromkeys([*own, *known])}

    @classmethod
    def templated(cls) -> tuple[str, ...]:
        """Return the names of options whose operator argument may be a template."""
        return tuple(
            name for name, declared in cls.declared().items() if declared.templated and declared.argument is None
        )

    @property
    def overlaps(self) -> bool:
        """True if several tables may be processed at once.

        The job must change neither tables nor settings of the session.
        """
        return False

    @property
    def state_path(self) -> str | None:
        """Folder where the job saves state; None if it saves none."""
        return None

    @property
    def needs_rows(self) -> bool:
        """True if the job reads rows or uses a catalog, and so needs Spark."""
        return True

    def needs_delta(self, *, by_name: bool) -> bool:
        """Return True if the job needs Delta on Spark's classpath.

        :param by_name: True if a table is named in a catalog, which may be Delta's
        """
        del by_name
        return True

    def check_names(self) -> None:
        """Check the names of features and types, before Spark starts.

        :raises RequestError: for a name that no engine knows
        """
        for name, declared in self.declared().items():
            declared.value.check_names(name, getattr(self, name))

    def features_to_come(self) -> Iterator[str]:
        """Yield the named table features that this package does not know; an engine may."""
        for name, declared in self.declared().items():
            if isinstance(declared.value, FeatureNames):
                yield from filter(is_unknown, getattr(self, name))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> Options:
        """Read the wire form.

        :raises RequestError: on an unknown option
        """
        for name in wire:
            if name not in cls.declared():
                raise RequestError(
                    "{kind} has no option {name!r}.{hint}",
                    kind=cls.kind,
                    name=name,
                    hint=did_you_mean(name, cls.declared()),
                )
        return cls(**wire)


@dataclass(frozen=True, kw_only=True)
class ReadsFiles(Options):
    """Options of a kind that reads logs and data files itself: only a catalog may need Delta."""

    @property
    def needs_rows(self) -> bool:
        """True if the job reads rows or uses a catalog, and so needs Spark."""
        return False

    def needs_delta(self, *, by_name: bool) -> bool:
        """Return True if the job needs Delta on Spark's classpath.

        :param by_name: True if a table is named in a catalog, which may be Delta's
        """
        return by_name


@dataclass(frozen=True, kw_only=True)
class SavesState(ReadsFiles):
    """Options of a kind that may save state, in one file per table."""

    #: Options that select a part of a table or of the rules. They cannot be combined with a saved state.
    selecting: ClassVar[tuple[str, ...]]

    state_path: str | None = option(
        Directory(), "directory for incremental state: the next run checks only what is new", metavar="DIRECTORY"
    )

    def check(self) -> None:
        """Check that nothing is selected if state is saved."""
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


@dataclass(frozen=True, kw_only=True)
class DetailOptions(ReadsFiles):
    """Options to show table metadata: schema, protocol, features, …"""

    kind: ClassVar[str] = "detail"
    takes_patterns: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class ColumnMappingUsageOptions(ReadsFiles):
    """Options to find out if columns were ever renamed or dropped."""

    kind: ClassVar[str] = "column-mapping-usage"
