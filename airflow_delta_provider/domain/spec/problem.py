"""Problems of a spec, with the places where they were written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.formats.yaml_text import Mark, key_mark_of, mark_of

#: Maximum number of problems of a spec that are reported at once.
MOST_PROBLEMS = 20


@dataclass(frozen=True)
class Problem:
    """A problem of a spec.

    :param what: description, a sentence without its full stop
    :param path: path such as ``columns[2].type``, counted from 0; empty for the whole spec
    :param line: line, counted from 1; None if unknown
    :param column: column, counted from 1; None if unknown
    """

    what: str
    path: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        sentence = self.what if self.what.endswith((".", "?")) else f"{self.what}."
        return f"{self.path}: {sentence}" if self.path else sentence


class SpecError(ValueError):
    """An error for a spec that cannot be used.

    :param problems: at most :data:`MOST_PROBLEMS`, in the order of the file
    :param name: name of the file; empty if there is none
    """

    def __init__(self, problems: tuple[Problem, ...], name: str = "") -> None:
        lines = [_placed(problem, name) for problem in problems]
        super().__init__("\n".join([*lines, "There may be more."] if len(lines) == MOST_PROBLEMS else lines))
        self.problems = problems
        self.name = name


@dataclass(frozen=True)
class Said:
    """A value of a spec, with the place where it was written.

    :param path: path as in :class:`Problem`
    :param mark: place of the value; None if it is not from YAML
    :param key_mark: place of its key
    """

    value: Any
    path: str = ""
    mark: Mark | None = None
    key_mark: Mark | None = None

    @property
    def text(self) -> str:
        """The value as it was written; empty if unknown."""
        return self.mark.text if self.mark is not None else ""

    def entries(self) -> Iterator[tuple[Any, Said]]:
        for key, value in self.value.items():
            at = key_mark_of(self.value, key)
            written = key if isinstance(key, str) or at is None else at.text
            yield key, Said(value, f"{self.path}.{written}".lstrip("."), mark_of(self.value, key), at)

    def items(self) -> Iterator[Said]:
        for index, value in enumerate(self.value):
            yield Said(value, f"{self.path}[{index}]", mark_of(self.value, index))


@dataclass
class Problems:
    """Collects problems, up to the maximum that is reported at once.

    :param name: name of the file
    """

    name: str = ""
    found: list[Problem] = field(default_factory=list)

    def add(self, at: Said, what: str, *, key: bool = False) -> None:
        """Add a problem.

        :param key: True if the key is wrong, not its value
        :raises SpecError: if the maximum number of problems is reached
        """
        mark = at.key_mark if key else at.mark
        self.found.append(Problem(what, at.path, *((None, None) if mark is None else (mark.line, mark.column))))
        if len(self.found) == MOST_PROBLEMS:
            self.check()

    def place(self, at: Said) -> str:
        """Return the place where a value was written, for people; empty if unknown."""
        return place_in(self.name, *((None, None) if at.mark is None else (at.mark.line, at.mark.column)))

    def check(self) -> None:
        """Raise an error if there are problems.

        :raises SpecError: if there are
        """
        if self.found:
            ordered = sorted(self.found, key=lambda problem: (problem.line or 0, problem.column or 0))
            raise SpecError(tuple(ordered), self.name)


def is_list(value: Any) -> bool:
    """Return True if a value is a list or a tuple."""
    return isinstance(value, (list, tuple))


def is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def place_in(name: str, line: int | None, column: int | None) -> str:
    """Return a place for people, such as ``orders.yaml, line 2, column 7``; empty if unknown."""
    place = f"line {line}, column {column}" if line is not None else ""
    return ", ".join(filter(None, (name, place)))


def _placed(problem: Problem, name: str) -> str:
    where = place_in(name, problem.line, problem.column)
    return f"{where}: {problem}" if where else str(problem)
