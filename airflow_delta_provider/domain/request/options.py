"""The options of a job, and facts that follow from its kind and options alone."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any, ClassVar

from airflow_delta_provider.domain.delta.data_type import UnknownTypeError
from airflow_delta_provider.domain.delta.features.registry import FEATURES, is_feature_name, is_unknown, meant_by
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.request.option import (
    Directory,
    Option,
    Value,
    as_list,
    as_mapping,
    option,
    read_literal,
)
from airflow_delta_provider.domain.table_name import TableName, TableNameError, is_catalog_name, place_of
from airflow_delta_provider.domain.text import did_you_mean


class Names(Value):
    """A list of names without duplicates."""

    default: ClassVar[tuple[str, ...]] = ()
    repeatable: ClassVar[bool] = True

    def checked(self, option: str, value: Any) -> tuple[str, ...]:
        """Return the names in their order, without duplicates."""
        if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) and name for name in value):
            raise RequestError("{option} has to be a list of names, not {value!r}.", option=option, value=value)
        return tuple(dict.fromkeys(value))

    def from_template(self, option: str, value: Any) -> Any:
        """Return the list. A string that is not written as a list is the only name."""
        return tuple(as_list(option, value or ()))


class DistinctNames(Names):
    """A list of names that must not repeat: a repetition would have another effect."""

    def checked(self, option: str, value: Any) -> tuple[str, ...]:
        """Return the names, in their order."""
        names = super().checked(option, value)
        for name in names:
            if list(value).count(name) > 1:
                raise RequestError("{option} names {name!r} more than once. Name it once.", option=option, name=name)
        return names


class FeatureNames(Names):
    """A list of names of table features. An engine may know more of them than this package."""

    def check_names(self, option: str, value: Any) -> None:
        """Refuse names that cannot be features, and likely typing errors."""
        for name in value:
            if not is_feature_name(name):
                raise RequestError(
                    "{option} has {name!r}, which is not the name of a table feature, such as 'typeWidening'.{hint}",
                    option=option,
                    name=name,
                    hint=did_you_mean(name.rpartition(".")[2], FEATURES),
                )
            if meant := meant_by(name):
                raise RequestError(
                    "There is no table feature {name!r}. Did you mean {meant!r}?", option=option, name=name, meant=meant
                )


_OUTSIDE_BACKTICKS = re.compile(r"`(?:[^`]|``)*`|.", re.DOTALL)


class Pairs(Value):
    """A mapping of strings to strings."""

    default: ClassVar[Mapping[str, str]] = {}
    repeatable: ClassVar[bool] = True
    #: Descriptions of the mapping, and of a value in it, for messages.
    mapped: ClassVar[str]
    wanted: ClassVar[str]

    def checked(self, option: str, value: Any) -> dict[str, str]:
        """Return the mapping, in its order."""
        if not isinstance(value, Mapping):
            raise RequestError(
                "{option} has to map {mapped}, not {value!r}.", option=option, mapped=self.mapped, value=value
            )
        return {name: self._text(option, name, text) for name, text in value.items()}

    def from_template(self, option: str, value: Any) -> Any:
        """Return the mapping; a string is parsed."""
        return as_mapping(option, value or {})

    def from_items(self, option: str, items: list[Any]) -> dict[str, str]:
        """Return the mapping of pairs; no name may be repeated."""
        names = [name for name, _ in items]
        for name in names:
            if names.count(name) > 1:
                raise RequestError("{option} names {name!r} more than once. Name it once.", option=option, name=name)
        return dict(items)

    @abstractmethod
    def from_text(self, text: str) -> tuple[str, str]:
        """Return a name and its value."""

    def _text(self, option: str, name: Any, text: Any) -> str:
        if not isinstance(name, str) or not name:
            raise RequestError("{option} names {name!r}, which is not a name.", option=option, name=name)
        if not self._fits(text):
            raise RequestError(
                "{option}[{name!r}] is {value!r}; it has to be {wanted}.",
                option=option,
                name=name,
                value=text,
                wanted=self.wanted,
            )
        return str(text).lower() if isinstance(text, bool) else str(text)

    def _fits(self, value: Any) -> bool:
        return isinstance(value, str) and value != ""


def as_columns(option: str, value: Any) -> list[tuple[Any, Any]] | None:
    """Return the names and types of a list of columns, or of a string with one; None for a mapping.

    :raises RequestError: if an entry of the list is not a column
    """
    listed = read_literal(value, "[(")
    if isinstance(listed, (str, Mapping)) or not isinstance(listed, Iterable):
        return None
    found = []
    for entry in listed:
        if not isinstance(entry, Mapping) or entry.keys() != {"name", "type"}:
            raise RequestError(
                "{option} has {entry!r}; each column has to be {example}.",
                option=option,
                entry=entry,
                example="{'name': 'id', 'type': 'bigint'}",
            )
        found.append((entry["name"], entry["type"]))
    return found


@dataclass(frozen=True)
class SqlTypes(Pairs):
    """SQL types by the names or paths of columns.

    :param parse: function that raises UnknownTypeError for a type that no engine knows
    :param ordered: True if the order of the columns matters
    """

    mapped: ClassVar[str] = "column paths to types, for instance {'quantity': 'bigint'}"
    wanted: ClassVar[str] = "a type such as 'bigint'"
    parse: Callable[[str], object]
    ordered: bool = False

    def from_template(self, option: str, value: Any) -> Any:
        """Return the mapping; a string, or a list of columns with ``name`` and ``type``, is converted."""
        columns = as_columns(option, value)
        if columns is None:
            return super().from_template(option, value)
        names = [name for name, _ in columns]
        return self.from_items(option, columns) if len(set(names)) < len(names) else dict(columns)

    def check_order(self, option: str, value: Any) -> None:
        """Refuse a mapping of several columns that was stored as JSON, which may sort its keys.

        :param value: value from a template or an XCom
        """
        if self.ordered and as_columns(option, value) is None and len(super().from_template(option, value)) > 1:
            raise RequestError(
                "{option} came as a mapping through a template or an XCom. Databases may sort its keys, so the order "
                "of the columns is unknown. Pass a list instead: [{example}, …].",
                option=option,
                example="{'name': 'id', 'type': 'bigint'}",
            )

    def check_names(self, option: str, value: Any) -> None:
        """Refuse values that are not types."""
        for path, text in value.items():
            try:
                self.parse(text)
            except UnknownTypeError as error:
                raise RequestError("{option} has {path!r}: {error}", option=option, path=path, error=error) from None

    def from_text(self, text: str) -> tuple[str, str]:
        """Split at the last ``=``: the name of a column may contain more."""
        path, _, data_type = text.rpartition("=")
        if not (path and data_type):
            raise RequestError("{text!r} is not PATH=TYPE", text=text)
        return path, data_type


class NewNames(Pairs):
    """New names by the paths of columns."""

    mapped: ClassVar[str] = "column paths to new names, for instance {'qty': 'quantity'}"
    wanted: ClassVar[str] = "a new name"

    def from_text(self, text: str) -> tuple[str, str]:
        """Split at the only ``=`` outside backticks: quoted names may contain more."""
        parts = _OUTSIDE_BACKTICKS.findall(text)
        at = [index for index, part in enumerate(parts) if part == "="]
        if len(at) != 1 or at[0] in (0, len(parts) - 1):
            raise RequestError("{text!r} is not OLD=NEW; put a name that holds a = between backticks", text=text)
        return "".join(parts[: at[0]]), "".join(parts[at[0] + 1 :])


class Properties(Pairs):
    """Values of table properties by name; numbers and booleans become the strings that Delta stores."""

    mapped: ClassVar[str] = "names to values"
    wanted: ClassVar[str] = "a string, a number or a boolean"

    def from_text(self, text: str) -> tuple[str, str]:
        """Split at the first ``=``: a value may contain more."""
        name, _, value = text.partition("=")
        if not (name and value):
            raise RequestError("{text!r} is not NAME=VALUE", text=text)
        return name, value

    def _fits(self, value: Any) -> bool:
        return isinstance(value, (str, bool, int, float))


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
    #: True if the result is specs, which the command line writes as a file.
    writes_specs: ClassVar[bool] = False

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
    def folders(self) -> tuple[tuple[str, str], ...]:
        """Folders besides the tables that the job uses, each with the name of its option."""
        return (("state_path", self.state_path),) if self.state_path else ()

    @property
    def findings_table(self) -> str | None:
        """Table of findings that the job appends to; None if there is none."""
        return None

    @property
    def records_in_catalog(self) -> bool:
        """True if the table of findings is named in a catalog, and so is written with Spark."""
        return self.findings_table is not None and is_catalog_name(self.findings_table)

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


class TablePlace(Value):
    """The name of one table: a path, a URI or a name in a catalog; or none."""

    def checked(self, option: str, value: Any) -> str | None:
        if value is None:
            return None
        try:
            name = TableName.parse(value)
        except TableNameError as error:
            raise RequestError("{option}: {error}", option=option, error=error) from None
        if name.may_be_pattern:
            raise RequestError("{option} is {value!r}, a pattern. Name one table.", option=option, value=value)
        return name.text

    def from_template(self, option: str, value: Any) -> Any:
        """Return the name; an empty string means none."""
        del option
        return value or None


@dataclass(frozen=True, kw_only=True)
class RecordsFindings(ReadsFiles):
    """Options of a kind that may append its findings to a table."""

    findings_table: str | None = option(
        TablePlace(),
        "Delta table to append the findings to, a row for each: a path, a URI or, with Spark, a catalog name",
        metavar="TABLE",
    )

    def check_tables(self, tables: Iterable[str]) -> None:
        """Check that the table of findings is none of the tables to check."""
        tables = tuple(tables)
        super().check_tables(tables)
        if self.findings_table is None:
            return
        own = place_of(TableName.parse(self.findings_table))
        for table in tables:
            with suppress(TableNameError):  # the table's own report has the error
                if place_of(TableName.parse(table)) == own:
                    raise RequestError(
                        "{findings_table} is {table!r}, which is also one of the tables to check. Leave it out there, "
                        "or name another table for the findings.",
                        table=table,
                    )


@dataclass(frozen=True, kw_only=True)
class SavesState(RecordsFindings):
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
