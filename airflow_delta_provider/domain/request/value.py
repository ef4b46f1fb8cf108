"""What an option can be: the types of values, each with the forms that it comes in."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any, ClassVar

from airflow_delta_provider.domain.formats.yaml_text import Mark, mark_of, parse_yaml, unmarked
from airflow_delta_provider.domain.request import rendered
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.suggestion import did_you_mean

_MAX_DAYS = 36_500


class Value(ABC):
    """A type of values. They come as what a template rendered to, as texts of a command line, and from a request file.

    All methods raise :class:`RequestError` for what is not such a value.
    """

    #: Value of an option that is not given.
    default: ClassVar[Any] = None
    #: Whether a flag of the command line gives one of several items, and may be repeated.
    repeatable: ClassVar[bool] = False

    @abstractmethod
    def checked(self, option: str, value: Any) -> Any:
        """Return a value in the form that options hold."""

    def check_names(self, option: str, value: Any) -> None:
        """Check the names of features and types in a checked value, before an engine is asked."""
        del option, value

    def from_template(self, option: str, value: Any) -> Any:
        """Return the value of an operator's argument, which may be the text that a template rendered to."""
        del option
        return value

    def rendered(self, option: str, value: Any) -> Any:
        """Return the value of an operator's argument in the form that options hold."""
        return self.checked(option, self.from_template(option, value))

    def from_text(self, text: str) -> Any:
        """Return the value, or one item of it, that a flag of the command line gives."""
        return text

    def from_items(self, option: str, items: list[Any]) -> Any:
        """Return the value whose items a repeated flag gave."""
        del option
        return tuple(items)


class Flag(Value):
    """Whether something is done or allowed."""

    default: ClassVar[bool] = False

    def checked(self, option: str, value: Any) -> bool:
        """Return the boolean."""
        if not isinstance(value, bool):
            raise RequestError("{option} has to be True or False, not {value!r}.", option=option, value=value)
        return value

    def from_template(self, option: str, value: Any) -> Any:
        """Return the boolean; the strings true and false are read as such."""
        del option
        text = value.strip().lower() if isinstance(value, str) else None
        return text == "true" if text in ("true", "false") else value


@dataclass(frozen=True)
class Choice(Value):
    """One of a few words."""

    words: tuple[str, ...]

    def checked(self, option: str, value: Any) -> str:
        """Return the word."""
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
        """Return the version."""
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise RequestError(
                "{option} has to be a table version (0, 1, 2, …), not {value!r}.", option=option, value=value
            )
        return value

    def from_template(self, option: str, value: Any) -> Any:
        """Return the version; a string of digits is one, the string None is none.

        An empty string is not: a template renders to it if a name in it is unknown.
        """
        del option
        text = value.strip() if isinstance(value, str) else ""
        return int(text) if text.isdecimal() else None if text == "None" else value

    def from_text(self, text: str) -> int:
        """Return the number."""
        try:
            return int(text)
        except ValueError:
            raise RequestError("{value!r} has to be a table version: 0, 1, 2, …", value=text) from None


class Time(Value):
    """A point in time as text, ISO 8601; or none."""

    def checked(self, option: str, value: Any) -> Any:
        """Return the text."""
        time_or_none(option, value)
        return value

    def from_template(self, option: str, value: Any) -> Any:
        """Return the text, also of a datetime; an empty text, and None, are none."""
        del option
        if isinstance(value, datetime):
            return value.isoformat()
        return None if value in ("", "None") else value


def time_or_none(option: str, value: Any) -> datetime | None:
    """Return a time; one without a zone is UTC.

    :raises RequestError: if it is neither None nor the text of one, ISO 8601
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
        """Return the path."""
        if value is not None and (not isinstance(value, str) or not value):
            raise RequestError(
                "{option} is {value!r}; it has to be a directory: a path or a URI.", option=option, value=value
            )
        return value

    def from_template(self, option: str, value: Any) -> Any:
        """Return the path; an empty text is none."""
        del option
        return value or None


class Days(Value):
    """A number of days above 0."""

    def checked(self, option: str, value: Any) -> Any:
        """Return the number."""
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
        """Return the number; the text of one is one."""
        del option
        if not isinstance(value, str):
            return value
        try:
            return _number(value.strip())
        except ValueError:
            return value

    def from_text(self, text: str) -> float:
        """Return the number."""
        try:
            return _number(text)
        except ValueError:
            raise RequestError("{value!r} is not a number of days.", value=text) from None


def _number(text: str) -> float:
    return int(text) if text.isdecimal() else float(text)


class Seconds(Value):
    """A number of seconds above 0; or none."""

    def checked(self, option: str, value: Any) -> Any:
        """Return the number."""
        if value is not None:
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or math.isnan(value) or value <= 0:
                raise RequestError("{option} is {value!r}; it has to be a number above 0.", option=option, value=value)
        return value

    def from_text(self, text: str) -> float:
        """Return the number."""
        try:
            return float(text)
        except ValueError:
            raise RequestError("{value!r} is not a number of seconds.", value=text) from None


@dataclass(frozen=True)
class Entries(Value):
    """A list of entries, which people keep in a file.

    :param read: returns the entries as options hold them; raises ValueError for what is wrong
    """

    default: ClassVar[tuple[Any, ...]] = ()
    read: Callable[[Sequence[Any]], Iterable[Any]]

    def checked(self, option: str, value: Any) -> tuple[Any, ...]:
        """Return the entries."""
        if not isinstance(value, (list, tuple)):
            raise RequestError("{option} has to be a list of entries, not {value!r}.", option=option, value=value)
        try:
            return tuple(self.read(value))
        except ValueError as error:
            text = str(error)
            sentence = text if text.endswith((".", "?")) else f"{text}."
            raise RequestError("{option}: {error}", option=option, error=sentence) from error

    def from_template(self, option: str, value: Any) -> Any:
        """Return the list; a text is read as one if it is written as one."""
        return tuple(rendered.as_list(option, value or ()))


class Document(Value):
    """A mapping, which people keep in a file, YAML or JSON; or none."""

    def checked(self, option: str, value: Any) -> Any:
        """Return the content."""
        del option
        return unmarked(value)

    def of_files(self, files: Iterable[tuple[str, str]]) -> Any:
        """Return the value that files hold.

        :param files: names and texts; several only where a folder may be named
        :raises YamlError: if one is neither JSON nor YAML
        """
        ((_, text),) = files
        try:
            return json.loads(text)
        except ValueError:
            return parse_yaml(text)

    def names_file(self, value: Any) -> bool:
        """Whether an argument, as it is written, names a file, or a folder of them: its text ends like one."""
        return isinstance(value, str) and value.endswith((".yaml", ".yml"))

    def takes_file(self, name: str) -> bool:
        """Whether a file of a folder is one of those that are read; where none is, no folder may be named."""
        del name
        return False

    def from_template(self, option: str, value: Any) -> Any:
        """Return the mapping; a text is read as one."""
        return rendered.as_mapping(option, value) if value else None


class Documents(Document):
    """Several mappings, which people keep in files: one, or a list of them."""

    default: ClassVar[tuple[Any, ...]] = ()

    def from_template(self, option: str, value: Any) -> Any:
        """Return the mapping, or the list; a text is read as one or the other, as it is written."""
        text = value.strip() if isinstance(value, str) else ""
        if not text:
            return () if isinstance(value, str) else value or ()
        return rendered.as_list(option, text) if text.startswith(("[", "(")) else rendered.as_mapping(option, text)


def as_json(value: Any, mark: Mark | None = None, *, is_version: bool = False) -> Any:
    """Return a value of YAML as JSON has it: dates are texts, and so are versions, as they were written."""
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
