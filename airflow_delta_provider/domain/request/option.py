"""One option of a job, declared once as a field of a kind's options, for every interface."""

from __future__ import annotations

import ast
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from typing import Any, ClassVar, NamedTuple

from airflow_delta_provider.domain.delta.table_properties import duration_text, parse_duration
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.formats.yaml_documents import Mark, mark_of, parse_yaml, unmarked
from airflow_delta_provider.domain.text import did_you_mean


def as_list(option: str, value: Any) -> Sequence[Any]:
    """Return a rendered list. A string that is not written as a list is its only item.

    :raises RequestError: if it is not a list
    """
    value = read_literal(value, "[(")
    if isinstance(value, str):
        return [value]
    if isinstance(value, Sequence):
        return value
    try:
        return list(value)  # a lazily read XCom of a mapped task
    except TypeError:
        raise RequestError("{option} has to be a list, not {value!r}.", option=option, value=value) from None


def as_mapping(option: str, value: Any) -> Mapping[str, Any]:
    """Return a rendered mapping; a string is parsed.

    :raises RequestError: if it is not a mapping
    """
    value = read_literal(value, "{")
    if isinstance(value, Mapping):
        return value
    raise RequestError("{option} has to be a mapping, not {value!r}.", option=option, value=value)


def read_literal(value: Any, opening: str) -> Any:
    """Parse a string as a Python literal, as Jinja renders lists and mappings, or as JSON.

    Any other value is returned as it is.

    :param opening: characters that a literal may start with
    """
    if isinstance(value, str) and value.strip()[:1] and value.strip()[0] in opening:
        for read in (ast.literal_eval, json.loads):
            with suppress(ValueError, SyntaxError):
                return read(value.strip())
    return value


_MAX_DAYS = 36_500


class Value(ABC):
    """A type of values, which come from templates, from the command line, and from request files.

    All methods raise :class:`RequestError` for invalid values.
    """

    #: Default value of an option.
    default: ClassVar[Any] = None
    #: True if a flag of the command line gives one of several items, and may be repeated.
    repeatable: ClassVar[bool] = False

    @abstractmethod
    def checked(self, option: str, value: Any) -> Any:
        """Return a value in the form that options hold."""

    def check_names(self, option: str, value: Any) -> None:
        """Check the names of features and types in a checked value, before an engine is asked."""
        del option, value

    def from_template(self, option: str, value: Any) -> Any:
        """Return the value of an operator's argument, which may be a rendered template."""
        del option
        return value

    def rendered(self, option: str, value: Any) -> Any:
        """Return the value of an operator's argument in the form that options hold."""
        return self.checked(option, self.from_template(option, value))

    def from_text(self, text: str) -> Any:
        """Return the value, or one item of it, from a command line flag."""
        return text

    def from_items(self, option: str, items: list[Any]) -> Any:
        """Return the value from the items of a repeated flag."""
        del option
        return tuple(items)


class Flag(Value):
    """A boolean: something is done or allowed."""

    default: ClassVar[bool] = False

    def checked(self, option: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise RequestError("{option} has to be True or False, not {value!r}.", option=option, value=value)
        return value

    def from_template(self, option: str, value: Any) -> Any:
        """Return the boolean; the strings true and false are converted."""
        del option
        text = value.strip().lower() if isinstance(value, str) else None
        return text == "true" if text in ("true", "false") else value


@dataclass(frozen=True)
class Choice(Value):
    """One of a few words."""

    words: tuple[str, ...]

    def checked(self, option: str, value: Any) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise RequestError(
                "{option} is {value!r}; it has to be one of {words}.{hint}",
                option=option,
                value=value,
                words=", ".join(self.words),
                hint=did_you_mean(value, self.words) if isinstance(value, str) else "",
            )
        return value


class Version(Value):
    """A version of a table, or the id of a snapshot; or none."""

    def checked(self, option: str, value: Any) -> int | None:
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise RequestError(
                "{option} has to be a table version (0, 1, 2, …), not {value!r}.", option=option, value=value
            )
        return value

    def from_template(self, option: str, value: Any) -> Any:
        """Return the version; a string of digits is converted, and the string ``None`` means none.

        An empty string is invalid: a template renders to it if a name in it is unknown.
        """
        del option
        text = value.strip() if isinstance(value, str) else ""
        return int(text) if text.isdecimal() else None if text == "None" else value

    def from_text(self, text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise RequestError("{value!r} has to be a table version: 0, 1, 2, …", value=text) from None


class Time(Value):
    """A point in time as a string, ISO 8601; or none."""

    def checked(self, option: str, value: Any) -> Any:
        time_or_none(option, value)
        return value

    def from_template(self, option: str, value: Any) -> Any:
        """Return the string; a datetime is converted, an empty string and the string ``None`` mean none."""
        del option
        if isinstance(value, datetime):
            return value.isoformat()
        return None if value in ("", "None") else value


def time_or_none(option: str, value: Any) -> datetime | None:
    """Return a time, or None; a time without a zone is UTC.

    :raises RequestError: if it is neither None nor a time in ISO 8601
    """
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except (AttributeError, TypeError, ValueError):
        raise RequestError(
            "{option} is {value!r}; it has to be a time such as 2026-05-31T18:00:00Z.", option=option, value=value
        ) from None
    return time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)


class Directory(Value):
    """The path or URI of a directory; or none."""

    def checked(self, option: str, value: Any) -> str | None:
        if value is not None and (not isinstance(value, str) or not value):
            raise RequestError(
                "{option} is {value!r}; it has to be a directory: a path or a URI.", option=option, value=value
            )
        return value

    def from_template(self, option: str, value: Any) -> Any:
        """Return the path; an empty string means none."""
        del option
        return value or None


class Days(Value):
    """A number of days above 0."""

    def checked(self, option: str, value: Any) -> Any:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 < value <= _MAX_DAYS:
            raise RequestError(
                "{option} is {value!r}; it has to be a number of days, above 0 and at most {most}.",
                option=option,
                value=value,
                most=_MAX_DAYS,
            )
        return value

    def from_template(self, option: str, value: Any) -> Any:
        """Return the number; a string with a number is converted."""
        del option
        if not isinstance(value, str):
            return value
        try:
            return _number(value.strip())
        except ValueError:
            return value

    def from_text(self, text: str) -> float:
        try:
            return _number(text)
        except ValueError:
            raise RequestError("{value!r} is not a number of days.", value=text) from None


def _number(text: str) -> float:
    return int(text) if text.isdecimal() else float(text)


class Seconds(Value):
    """A number of seconds above 0; or none."""

    def checked(self, option: str, value: Any) -> Any:
        if value is not None:
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or math.isnan(value) or value <= 0:
                raise RequestError("{option} is {value!r}; it has to be a number above 0.", option=option, value=value)
        return value

    def from_text(self, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise RequestError("{value!r} is not a number of seconds.", value=text) from None


class Duration(Value):
    """A time such as ``168h`` or ``7d``, as a string; or none."""

    def checked(self, option: str, value: Any) -> str | None:
        """Return the time in its largest whole unit."""
        if value is None:
            return None
        found = parse_duration(value) if isinstance(value, str) else None
        if found is None:
            raise RequestError(
                "{option} is {value!r}; it has to be a time with its unit, such as 90m, 168h or 7d.",
                option=option,
                value=value,
            )
        return duration_text(found)

    def from_template(self, option: str, value: Any) -> Any:
        """Return the time; the string ``None`` means none."""
        del option
        return None if value == "None" else value


@dataclass(frozen=True)
class Entries(Value):
    """A list of entries, which people keep in a file.

    :param read: function that returns the entries as options hold them; raises ValueError if they are wrong
    """

    default: ClassVar[tuple[Any, ...]] = ()
    read: Callable[[Sequence[Any]], Iterable[Any]]

    def checked(self, option: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise RequestError("{option} has to be a list of entries, not {value!r}.", option=option, value=value)
        try:
            return tuple(self.read(value))
        except ValueError as error:
            text = str(error)
            sentence = text if text.endswith((".", "?")) else f"{text}."
            raise RequestError("{option}: {error}", option=option, error=sentence) from error

    def from_template(self, option: str, value: Any) -> Any:
        """Return the list; a string that is written as a list is parsed."""
        return tuple(as_list(option, value or ()))


class Document(Value):
    """A mapping, which people keep in a YAML or JSON file; or none."""

    def checked(self, option: str, value: Any) -> Any:
        """Return the content without marks."""
        del option
        return unmarked(value)

    def of_files(self, files: Iterable[tuple[str, str]]) -> Any:
        """Return the value in files.

        :param files: (name, text) pairs; several only if a folder may be named
        :raises YamlError: if one is neither JSON nor YAML
        """
        ((_, text),) = files
        try:
            return json.loads(text)
        except ValueError:
            return parse_yaml(text)

    def names_file(self, value: Any) -> bool:
        """Return True if an argument names a file or a folder of files, judging by its suffix."""
        return isinstance(value, str) and value.endswith((".yaml", ".yml"))

    def takes_file(self, name: str) -> bool:
        """Return True if a file in a folder is read. If this is always False, no folder may be named."""
        del name
        return False

    def from_template(self, option: str, value: Any) -> Any:
        """Return the mapping; a string is parsed."""
        return as_mapping(option, value) if value else None


class Documents(Document):
    """Several mappings, which people keep in files: one, or a list."""

    default: ClassVar[tuple[Any, ...]] = ()

    def from_template(self, option: str, value: Any) -> Any:
        """Return the mapping or the list; a string is parsed as it is written."""
        text = value.strip() if isinstance(value, str) else ""
        if not text:
            return () if isinstance(value, str) else value or ()
        return as_list(option, text) if text.startswith(("[", "(")) else as_mapping(option, text)


def as_json(value: Any, mark: Mark | None = None, *, is_version: bool = False) -> Any:
    """Return a YAML value as JSON: dates become strings, and so do versions, as they were written."""
    if isinstance(value, Mapping):
        return {
            str(key): as_json(item, mark_of(value, key), is_version=key in ("version", "versions"))
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [as_json(item, mark_of(value, index), is_version=is_version) for index, item in enumerate(value)]
    if is_version and mark is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
        return mark.text
    return value.isoformat() if isinstance(value, date) else value


_KEY = "option"


class Option(NamedTuple):
    """The declaration of an option for the command line, the operators and the documentation.

    :param value: type of its values
    :param help: purpose, in a few words
    :param flag: flag of the command line
    :param metavar: placeholder of a value in the help
    :param one: description of an item, if at least one must be given; None if the option may be left out
    :param templated: True if an operator's argument may be a template
    :param argument: operator's argument that provides it, if that is not an argument of its own
    """

    value: Value
    help: str
    flag: str | None = None
    metavar: str | None = None
    one: str | None = None
    templated: bool = True
    argument: str | None = None


def option(value: Value, help: str, *, default: Any = None, **known: Any) -> Any:
    """Return the field of an option.

    :param default: default value; None for the default of its type
    :param known: further values, see :class:`Option`
    """
    if default is None:
        default = value.default
    metadata = {_KEY: Option(value, help, **known)}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)
