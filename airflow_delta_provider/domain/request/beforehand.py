"""What of a request is wrong whatever the tables are: said before Spark starts, where a DAG is parsed if it can be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import singledispatch

from airflow_delta_provider.domain.delta.data_type import UnknownTypeError, parse_type
from airflow_delta_provider.domain.delta.features.feature import FeatureKind
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_named
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.request.alter_columns import AlterColumnsOptions
from airflow_delta_provider.domain.request.arguments import RequestError
from airflow_delta_provider.domain.request.create_table import CreateTableOptions
from airflow_delta_provider.domain.request.drop_feature import DropFeatureOptions
from airflow_delta_provider.domain.request.enable_feature import EnableFeatureOptions
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.request.table_name import TableName, is_relative, normal_location
from airflow_delta_provider.domain.request.widen_types import WidenTypesOptions
from airflow_delta_provider.domain.suggestion import did_you_mean

_FEATURE = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*")
#: How alike a mistyped name and its own are.
_ALIKE = 0.85
#: What tells a feature that is still to come from the one that it follows: its number, or a stage.
_EDITION = re.compile(r"v?\d+$|-[a-z0-9]+$", re.IGNORECASE)


@singledispatch
def check_names(options: Options) -> None:
    """Check the names of features and types that options have.

    :raises RequestError: for one that no engine knows
    """
    del options


@check_names.register
def _(options: EnableFeatureOptions) -> None:
    _check_features(options.features)


@check_names.register
def _(options: DropFeatureOptions) -> None:
    _check_features(options.features)


@check_names.register
def _(options: WidenTypesOptions) -> None:
    _check_types("columns", options.columns, parse_type)


@check_names.register
def _(options: AlterColumnsOptions) -> None:
    _check_types("add", options.add, parse_sql_type)


@check_names.register
def _(options: CreateTableOptions) -> None:
    _check_types("columns", options.columns, parse_sql_type)


def features_to_come(options: Options) -> tuple[str, ...]:
    """Return the features that options name and this package does not know: an engine may."""
    if not isinstance(options, EnableFeatureOptions | DropFeatureOptions):
        return ()
    return tuple(name for name in options.features if feature_named(name).kind is FeatureKind.UNKNOWN)


def check_tables(tables: Iterable[str], *, patterns: bool, relative: bool) -> None:
    """Check how tables are named.

    :param patterns: whether one may be a pattern
    :param relative: whether a path may be relative
    :raises RequestError: for a pattern or a relative path where none is taken, and for a table that is named twice
    :raises TableNameError: for what names no table
    """
    spelled: dict[Hashable, str] = {}
    for text in tables:
        name = TableName.parse(text)
        if not patterns and _is_pattern(name):
            raise RequestError(_pattern_message(name))
        if not relative and name.location is not None and is_relative(name.location):
            raise RequestError(
                f"{text!r} is relative to the folder of whichever process reads it. Give an absolute path or a URI."
            )
        before = spelled.setdefault(_place(name), text)
        if before != text:
            raise RequestError(f"{before!r} and {text!r} are one table in two spellings. Name it once.")


def _check_features(names: Iterable[str]) -> None:
    for name in names:
        if not _FEATURE.fullmatch(name):
            raise RequestError(
                f"features has {name!r}, which is not the name of a table feature, such as 'typeWidening'."
                f"{did_you_mean(name.rpartition('.')[2], FEATURES)}"
            )
        if feature_named(name).kind is FeatureKind.UNKNOWN and (meant := _meant(name)):
            raise RequestError(f"There is no table feature {name!r}. Did you mean {meant!r}?")


def _meant(name: str) -> str | None:
    """Return the feature whose name was mistyped; None for a name of its own, which an engine may know."""
    folded = name.casefold()
    for known in FEATURES:
        other = known.casefold()
        if _EDITION.sub("", folded) == _EDITION.sub("", other):
            return None
        if difflib.SequenceMatcher(None, folded, other).ratio() >= _ALIKE:
            return known
    return None


def _check_types(argument: str, types: Mapping[str, str], parse: Callable[[str], object]) -> None:
    for path, text in types.items():
        try:
            parse(text)
        except UnknownTypeError as error:
            raise RequestError(f"{argument} has {path!r}: {error}") from None


def _is_pattern(name: TableName) -> bool:
    """Whether a name cannot well be meant as it is written: brackets are in names of folders, too."""
    if name.location is None:
        return name.may_be_pattern
    return name.location == name.text and any(mark in name.location for mark in "*?")


def _pattern_message(name: TableName) -> str:
    literal = "" if name.location is None else f" If that is its very name, write {name.sql}."
    return f"{name.text!r} is a pattern, and only audit and detail take one. Name each table.{literal}"


def _place(name: TableName) -> Hashable:
    """Return the same for all spellings of a table."""
    if name.location is None:
        return tuple(part.casefold() for part in name.identifier or ())
    folded = re.sub(r"/(?:\./)+|/\.$", "/", name.location.removeprefix("./"))
    return folded.rstrip("/") if is_relative(folded) else normal_location(folded)
