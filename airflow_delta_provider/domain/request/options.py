"""The options of a job: what is known of it from its kind and options alone."""

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
    #: Whether it changes tables.
    changes: ClassVar[bool] = False
    #: Whether a table may be named by a pattern that matches several.
    takes_patterns: ClassVar[bool] = False
    #: Whether the options may name the tables, so that nothing else has to.
    names_tables: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, declared in self.declared().items():
            object.__setattr__(self, name, declared.value.checked(name, getattr(self, name)))
        for name, declared in self.declared().items():
            if declared.one is not None and not getattr(self, name):
                raise RequestError("{option} is empty. Name at least {one}.", option=name, one=declared.one)
        self.check()

    def check(self) -> None:
        """Check what is wrong with several options together.

        :raises RequestError: naming them
        """

    @property
    def declared_tables(self) -> tuple[str, ...]:
        """The tables that the options name themselves; a request without other names is about those."""
        return ()

    def check_tables(self, tables: Iterable[str]) -> None:
        """Check the names of tables against the options.

        :raises RequestError: if they do not fit
        """
        del tables

    @classmethod
    @cache
    def declared(cls) -> Mapping[str, Option]:
        """Return the options by name, those that several kinds have last."""
        known = {each.name: each.metadata["option"] for each in fields(cls) if "option" in each.metadata}
        own = [name for name in known if name in cls.__annotations__]
        return {name: known[name] for name in dict.fromkeys([*own, *known])}

    @classmethod
    def templated(cls) -> tuple[str, ...]:
        """Return the names of the options whose argument of an operator may be a template."""
        return tuple(
            name for name, declared in cls.declared().items() if declared.templated and declared.argument is None
        )

    @property
    def overlaps(self) -> bool:
        """Whether several tables may be done at once: the job changes neither tables nor settings of the session."""
        return False

    @property
    def state_path(self) -> str | None:
        """Folder where the job remembers; None where it does not."""
        return None

    @property
    def needs_rows(self) -> bool:
        """Whether the job reads rows, or asks a catalog: what takes Spark."""
        return True

    def needs_delta(self, *, by_name: bool) -> bool:
        """Whether the job needs Delta on Spark's classpath.

        :param by_name: whether a table is named in a catalog, which may be Delta's
        """
        del by_name
        return True

    def check_names(self) -> None:
        """Check the names of features and types, before Spark starts.

        :raises RequestError: for one that no engine knows
        """
        for name, declared in self.declared().items():
            declared.value.check_names(name, getattr(self, name))

    def features_to_come(self) -> Iterator[str]:
        """Yield the table features that are named and that this package does not know: an engine may."""
        for name, declared in self.declared().items():
            if isinstance(declared.value, FeatureNames):
                yield from filter(is_unknown, getattr(self, name))

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
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
        """Whether the job reads rows, or asks a catalog: what takes Spark."""
        return False

    def needs_delta(self, *, by_name: bool) -> bool:
        """Whether the job needs Delta on Spark's classpath.

        :param by_name: whether a table is named in a catalog, which may be Delta's
        """
        return by_name


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


@dataclass(frozen=True, kw_only=True)
class DetailOptions(ReadsFiles):
    """Show table metadata: schema, protocol, features, …"""

    kind: ClassVar[str] = "detail"
    takes_patterns: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class ColumnMappingUsageOptions(ReadsFiles):
    """Find out whether columns were ever renamed or dropped."""

    kind: ClassVar[str] = "column-mapping-usage"
