"""YAML as plain values with their positions in the source. PyYAML reads it, if it is installed.

No tag creates an object. A document has limits on its characters, its depth, and its values after aliases are followed,
so that a few lines cannot use all memory. A duplicate key in a mapping is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

#: Maximum number of characters in a document.
MOST_CHARACTERS = 16 * 2**20
#: Maximum nesting depth of lists and mappings.
MOST_LEVELS = 200
#: Maximum number of values in a document; values behind an alias count each time.
MOST_VALUES = 1_000_000
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
#: Allowed types of scalars; ``!!binary`` and types that create objects are excluded.
_SCALARS = frozenset(_TAG + name for name in ("null", "bool", "int", "float", "str", "timestamp", "value"))


class YamlError(ValueError):
    """A string that is not YAML in the form that this package accepts.

    :param what: description of the error
    :param line: line of the error, from 1; None if it concerns the whole document
    :param column: column of the error, from 1; None if it concerns the whole document
    """

    def __init__(self, what: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(what if line is None else f"line {line}, column {column}: {what}")
        self.what = what
        self.line = line
        self.column = column


class Mark(NamedTuple):
    """The position of a value in the source.

    :param line: line, from 1
    :param column: column, from 1
    :param text: scalar as written, without quotes; empty for other values
    """

    line: int
    column: int
    text: str = ""


class MarkedDict(dict[Any, Any]):
    """A mapping with the positions of its keys and values."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.keys_at: dict[Any, Mark] = {}
        self.values_at: dict[Any, Mark] = {}


class MarkedList(list[Any]):
    """A list with the positions of its items."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.items_at: list[Mark] = []


def mark_of(container: Any, key: Any) -> Mark | None:
    """Return the position of the value at a key or index; None for values that are not from YAML."""
    if isinstance(container, MarkedDict):
        return container.values_at.get(key)
    if isinstance(container, MarkedList) and 0 <= key < len(container.items_at):
        return container.items_at[int(key)]
    return None


def key_mark_of(container: Any, key: Any) -> Mark | None:
    """Return the position of a key; None for values that are not from YAML."""
    return container.keys_at.get(key) if isinstance(container, MarkedDict) else None


def unmarked(value: Any) -> Any:
    """Convert marked containers to plain dicts and lists."""
    if isinstance(value, dict):
        return {key: unmarked(held) for key, held in value.items()}
    return [unmarked(held) for held in value] if isinstance(value, list) else value


def parse_yaml(text: str) -> Any:
    """Read the only document of a string; None if it is empty. Its mappings and lists are marked.

    :raises YamlError: if it is malformed, exceeds a limit, or PyYAML is not installed
    """
    try:
        yaml = import_module("yaml")
    except ImportError:
        raise YamlError("reading YAML needs PyYAML: pip install PyYAML. JSON can be read without.") from None
    if len(text) > MOST_CHARACTERS:
        raise YamlError(f"it has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read")
    try:
        return _Composer(yaml).document(text)
    except yaml.YAMLError as error:
        raise _syntax_error(error, text) from None
    except UnicodeEncodeError as error:
        raise YamlError("it has half of a character (a lone surrogate)", *_place(text, error.start)) from None


@dataclass
class _Open:
    """A mapping or a list whose end was not read yet."""

    value: MarkedDict | MarkedList
    mark: Mark
    anchor: str | None
    size: int
    key: Any = None
    key_mark: Mark | None = None
    merge: bool = False


class _Composer:
    """Builds values from PyYAML's events, without recursion, so nesting depth does not matter."""

    def __init__(self, yaml: Any) -> None:
        self._yaml = yaml
        self._loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._scalars = yaml.SafeLoader("")
        self._anchors: dict[str, tuple[Any, Mark, int]] = {}
        self._open: list[_Open] = []
        self._inherited: dict[int, set[Any]] = {}
        self._documents = 0
        self._count = 0
        self._result: Any = None

    def document(self, text: str) -> Any:
        """Return the value of a document."""
        events = self._yaml.events
        for event in self._yaml.parse(text, Loader=self._loader):
            if isinstance(event, events.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, (events.MappingStartEvent, events.SequenceStartEvent)):
                self._begin(event, isinstance(event, events.MappingStartEvent))
            elif isinstance(event, (events.MappingEndEvent, events.SequenceEndEvent)):
                done = self._open.pop()
                if done.anchor is not None:
                    self._anchors[done.anchor] = (done.value, done.mark, self._count - done.size)
                self._take(done.value, done.mark)
            elif isinstance(event, events.AliasEvent):
                self._alias(event)
            elif isinstance(event, events.DocumentStartEvent):
                self._documents += 1
                if self._documents > 1:
                    raise _at(event, "it has a second document, after ---. Write one per file")
        return self._result

    def _scalar(self, event: Any) -> None:
        mark = Mark(event.start_mark.line + 1, event.start_mark.column + 1, event.value)
        self._add(mark, 1)
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._scalars.resolve(self._yaml.ScalarNode, event.value, event.implicit)
        if tag == _MERGE and self._awaits_key():
            self._open[-1].merge = True
            return
        if tag not in _SCALARS and tag != _MERGE:
            raise _at(event, f"the tag {_shown(tag)} is not taken. Write the plain value")
        node = self._yaml.ScalarNode(tag if tag != _MERGE else f"{_TAG}str", event.value)
        try:
            value = self._scalars.construct_object(node)
        except (ValueError, OverflowError, KeyError, IndexError, self._yaml.YAMLError):
            raise _at(event, f"{event.value!r:.60} is not a valid {tag.removeprefix(_TAG)}. Quote it") from None
        finally:
            self._scalars.constructed_objects.clear()
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, mark, 1)
        self._take(value, mark)

    def _begin(self, event: Any, is_mapping: bool) -> None:
        expected = f"{_TAG}{'map' if is_mapping else 'seq'}"
        if event.tag not in (None, "!", expected):
            raise _at(event, f"the tag {_shown(event.tag)} is not taken. Write the plain value")
        if self._awaits_key():
            raise _at(event, "a key is a list or a mapping; it has to be a string")
        if len(self._open) == MOST_LEVELS:
            raise _at(event, f"it is nested more than {MOST_LEVELS} deep")
        mark = Mark(event.start_mark.line + 1, event.start_mark.column + 1)
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)
        self._open.append(_Open(MarkedDict() if is_mapping else MarkedList(), mark, event.anchor, self._count))
        self._add(mark, 1)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            inside = any(held.anchor == event.anchor for held in self._open)
            raise _at(event, f"*{event.anchor} {'lies in itself' if inside else 'refers to nothing before it'}")
        value, mark, size = self._anchors[event.anchor]
        self._add(Mark(event.start_mark.line + 1, event.start_mark.column + 1), size)
        if self._awaits_key() and isinstance(value, (dict, list)):
            raise _at(event, "a key is a list or a mapping; it has to be a string")
        self._take(value, mark)

    def _add(self, mark: Mark, values: int) -> None:
        self._count += values
        if self._count > MOST_VALUES:
            raise YamlError(f"it has more than {MOST_VALUES:,} values, with its aliases", mark.line, mark.column)

    def _awaits_key(self) -> bool:
        if not self._open:
            return False
        last = self._open[-1]
        return isinstance(last.value, MarkedDict) and last.key_mark is None and not last.merge

    def _take(self, value: Any, mark: Mark) -> None:
        """Add a value at the current place."""
        if not self._open:
            self._result = value
            return
        last = self._open[-1]
        if isinstance(last.value, MarkedList):
            last.value.append(value)
            last.value.items_at.append(mark)
        elif last.merge:
            self._merge(last, value, mark)
            last.merge = False
        elif last.key_mark is None:
            if value in last.value and value not in self._inherited.get(id(last.value), ()):
                first = last.value.keys_at[value]
                raise YamlError(
                    f"the key {mark.text!r} is there twice; the first is in line {first.line}", mark.line, mark.column
                )
            last.key, last.key_mark = value, mark
        else:
            last.value[last.key] = value
            last.value.keys_at[last.key] = last.key_mark
            last.value.values_at[last.key] = mark
            self._inherited.get(id(last.value), set()).discard(last.key)
            last.key, last.key_mark = None, None

    def _merge(self, into: _Open, value: Any, mark: Mark) -> None:
        """Merge the keys of ``<<``. The mapping's own keys win, then the first of several merged mappings."""
        assert isinstance(into.value, MarkedDict)
        inherited = self._inherited.setdefault(id(into.value), set())
        for merged in value if isinstance(value, MarkedList) else [value]:
            if not isinstance(merged, MarkedDict):
                raise YamlError("<< takes a mapping, or a list of them", mark.line, mark.column)
            self._add(mark, len(merged))
            for key, held in merged.items():
                if key not in into.value:
                    into.value[key] = held
                    into.value.keys_at[key], into.value.values_at[key] = merged.keys_at[key], merged.values_at[key]
                    inherited.add(key)


def _at(event: Any, what: str) -> YamlError:
    return YamlError(what, event.start_mark.line + 1, event.start_mark.column + 1)


def _shown(tag: str) -> str:
    return tag.replace(_TAG, "!!")


def _syntax_error(error: Any, text: str) -> YamlError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is not None:
        what = ", ".join(filter(None, (getattr(error, "context", None), getattr(error, "problem", None))))
        indented = text.splitlines()[mark.line : mark.line + 1]
        if indented and "\t" in indented[0][: len(indented[0]) - len(indented[0].lstrip())]:
            what = "the line is indented with a tab. Use spaces"
        return YamlError(f"it is not YAML: {what}", mark.line + 1, mark.column + 1)
    position = getattr(error, "position", None)
    place = _place(text, position) if isinstance(position, int) else (None, None)
    return YamlError(f"it is not YAML: {getattr(error, 'reason', error)}", *place)


def _place(text: str, position: int) -> tuple[int, int]:
    before = text[:position]
    return before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1


WIDTH = 120
_WORD = r"[^\W\d][\w./@+-]*"
#: Strings that need no quotes in any place.
_PLAIN = re.compile(rf"(?:{_WORD}(?: {_WORD})*|[A-Za-z][A-Za-z0-9+.-]*://[\w./@+-]+)\Z")
#: Words that readers do not read as strings.
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
#: A key of more than 1,024 characters must be marked as one.
_LONGEST_KEY = 1000
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def to_yaml(value: Mapping[str, Any]) -> str:
    """Return the lines of a mapping of strings, booleans, integers, None, lists and mappings."""
    return "".join(f"{line}\n" for line in _mapping(value, 0))


def scalar(value: Any) -> str:
    """Return a string, a boolean, an integer or None in a form that is valid in any place."""
    if value is None or isinstance(value, int):
        return "null" if value is None else str(value).lower()
    text = str(value)
    return text if _PLAIN.match(text) and text.isprintable() and text.lower() not in _WORDS else _quoted(text)


def comment(text: str) -> str:
    """Return lines of a comment; characters that are not printable are escaped."""
    return "".join(f"# {_quoted(line)[1:-1] if not line.isprintable() else line}\n" for line in text.split("\n"))


def _mapping(value: Mapping[str, Any], indent: int) -> Iterator[str]:
    space = " " * indent
    for key, held in value.items():
        name = scalar(key)
        room = WIDTH - indent - len(name) - 2
        flow = _flow(held)
        begin = f"{space}? {name}\n{space}:" if len(name) > _LONGEST_KEY else f"{space}{name}:"
        if not held or isinstance(held, str) or not isinstance(held, (dict, list)):
            yield f"{begin} {flow}"
        elif isinstance(held, dict):
            yield begin
            yield from _mapping(held, indent + 2)
        elif not any(isinstance(item, (dict, list)) for item in held) and len(flow) <= room:
            yield f"{begin} {flow}"
        else:
            yield begin
            yield from _list(held, indent + 2)


def _list(value: list[Any], indent: int) -> Iterator[str]:
    for item in value:
        flow = _flow(item)
        nested = isinstance(item, dict) and any(isinstance(held, (dict, list)) for held in item.values())
        if not isinstance(item, dict) or (not nested and len(flow) + indent + 2 <= WIDTH) or not item:
            yield f"{' ' * indent}- {flow}"
            continue
        lines = _mapping(item, indent + 2)
        yield f"{' ' * indent}- {next(lines).lstrip(' ')}"
        yield from lines


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(key)}: {_flow(held)}' for key, held in value.items())}}}"
    return f"[{', '.join(map(_flow, value))}]" if isinstance(value, list) else scalar(value)


def _key(key: str) -> str:
    name = scalar(key)
    return f"? {name} " if len(name) > _LONGEST_KEY else name


def _quoted(text: str) -> str:
    return f'"{"".join(map(_character, text))}"'


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
