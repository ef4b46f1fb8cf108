"""A reference model of column mapping with usage tracking: what a table is after any changes of its columns.

Made after the RFC alone, and importing nothing of the package, so that both can be compared. A column is known by a
number of its own, whatever it is called and wherever it lies: a row has the values that it was written with.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Parts = tuple[str, ...]
Json = dict[str, Any]

FEATURE = "columnMappingUsageTracking"
PROPERTY = "delta.columnMapping.hasDroppedOrRenamed"
MODE = "delta.columnMapping.mode"
MAX = "delta.columnMapping.maxColumnId"
ID = "delta.columnMapping.id"
NAME = "delta.columnMapping.physicalName"

PARTITION = "p"
UNIQUE = re.compile(r"col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CHANGE_DATA = ("_change_type", "_commit_version", "_commit_timestamp")
_BAD = set(" ,;{}()\n\t=")
#: Types that columns may have: their SQL, with the names of the fields in them.
TYPES = {"int": (), "struct": ("x", "y"), "array": ("x",)}


class Refused(Exception):
    """What the model does not allow."""


@dataclass
class Column:
    """A column.

    :param kind: one of ``TYPES``
    :param physical: None while the table is not mapped, "" for a UUID that was not seen yet
    """

    number: int
    name: str
    kind: str
    children: list[Column] = field(default_factory=list)
    id: int | None = None
    physical: str | None = None

    @property
    def sql(self) -> str:
        inner = ",".join(f"{quote(child.name)}:{child.sql}" for child in self.children)
        return {"int": "int", "struct": f"struct<{inner}>", "array": f"array<struct<{inner}>>"}[self.kind]

    @property
    def between(self) -> Parts:
        """What lies between its path and those of its children."""
        return ("element",) if self.kind == "array" else ()


@dataclass
class Change:
    """A request: paths as the table has them when their turn comes; drops, renames, adds."""

    drop: list[Parts] = field(default_factory=list)
    rename: list[tuple[Parts, str]] = field(default_factory=list)
    add: list[tuple[Parts, str]] = field(default_factory=list)

    @property
    def arguments(self) -> Json:
        """As the options of the package take them."""
        return {
            "drop": [text(parts) for parts in self.drop],
            "rename": {text(parts): quote(new) for parts, new in self.rename},
            "add": {text(parts): sql_of(kind) for parts, kind in self.add},
        }


class Model:
    """A table with usage tracking, partitioned by a column that nobody touches."""

    def __init__(self) -> None:
        self._numbers = 0
        self._values = 0
        self.columns = [self._new(PARTITION, "int"), self._new("a", "int"), self._new("b", "int")]
        self.columns += [self._new("s", "struct"), self._new("l", "array")]
        self.used = False
        self.dropped = False
        self.mapped = False
        self.max_id = 0
        self.ever: set[Parts] = set()
        self.files: list[dict[int, int]] = []

    # -- what there is ----------------------------------------------------------------------------

    def walk(self) -> Iterator[tuple[Parts, Parts, Column]]:
        """Yield logical path, physical path and column, parents first."""

        def down(columns: Sequence[Column], logical: Parts, physical: Parts) -> Iterator[tuple[Parts, Parts, Column]]:
            for column in columns:
                here = (*logical, column.name)
                lies = (*physical, column.name if column.physical is None else column.physical)
                yield here, lies, column
                yield from down(column.children, (*here, *column.between), (*lies, *column.between))

        yield from down(self.columns, (), ())

    @property
    def leaves(self) -> list[tuple[Parts, Parts, Column]]:
        return [entry for entry in self.walk() if entry[2].kind == "int"]

    def rows(self) -> list[dict[Parts, int | None]]:
        """Each file's one row, as it has to be read now: values by logical path."""
        return [{logical: file.get(column.number) for logical, _, column in self.leaves} for file in self.files]

    # -- what is done -----------------------------------------------------------------------------

    def write(self) -> dict[Parts, int]:
        """Write a file with one row; return its values by physical path."""
        values = {}
        written = {}
        for _, physical, column in self.leaves:
            self._values += 1
            values[column.number] = written[physical] = 1 if column.name == PARTITION else self._values
        self.files.append(values)
        return written

    def map(self) -> None:
        """An existing table that is mapped: physical names are the logical names, ids begin at one."""
        if self.mapped:
            raise Refused
        self.mapped = True
        self.max_id = 0
        for _, _, column in self.walk():
            self.max_id += 1
            column.id, column.physical = self.max_id, column.name
        self._remember()

    def unmap(self) -> None:
        """The mode goes to none, if every column lies under its own name, and none was ever dropped."""
        if not self.mapped or self.dropped or any(logical != physical for logical, physical, _ in self.walk()):
            raise Refused
        if any(_BAD & set(column.name) for _, _, column in self.walk()):
            raise Refused
        self.mapped = False
        self.max_id = 0
        for _, _, column in self.walk():
            column.id = column.physical = None

    def track_again(self) -> None:
        """The feature is dropped, and enabled again: as used where it ever was so, or where the table is mapped."""
        self.used = self.used or self.mapped

    def alter(self, change: Change) -> bool:
        """Change the columns in one commit; return whether there was anything to do.

        :raises Refused: if it must not be; then nothing has changed
        """
        tried = self.copy()
        done = tried._alter(change)
        self.__dict__ = tried.__dict__
        return done

    def copy(self) -> Model:
        """A model whose columns can be changed without this one's."""

        def of(columns: list[Column]) -> list[Column]:
            return [replace(column, children=of(column.children)) for column in columns]

        other = copy.copy(self)
        other.columns = of(self.columns)
        return other

    def settle(self, names: dict[Parts, str]) -> None:
        """Take the UUIDs that the package gave, by logical path, for those that the model left open."""
        for logical, _, column in self.walk():
            if column.physical == "":
                column.physical = names[logical]
        self._remember()

    def _alter(self, change: Change) -> bool:
        if (change.drop or change.rename) and not self.mapped:
            raise Refused
        self._check_once(change)
        for parts in change.drop:
            if parts == (PARTITION,):
                raise Refused
            self.siblings(parts).remove(self.at(parts))
        for parts in change.drop:
            rest = self.siblings(parts)
            if all(column.name == PARTITION and len(parts) == 1 for column in rest):
                raise Refused
        new_names: set[Parts] = set()
        for parts, new in sorted(change.rename, key=lambda rename: -len(rename[0])):
            if parts == (PARTITION,) or self._taken((*parts[:-1], new)):
                raise Refused
            self.at(parts).name = new
            new_names.add((*parts[:-1], new.lower()))
        self.used = self.used or bool(change.drop or change.rename)
        self.dropped = self.dropped or bool(change.drop)
        added = [(parts, kind) for parts, kind in change.add if self._is_new(parts, kind, new_names)]
        for parts, kind in added:
            self._add(parts, kind)
        return bool(change.drop or change.rename or added)

    def _is_new(self, parts: Parts, kind: str, new_names: set[Parts]) -> bool:
        """Whether there is not the very column already."""
        there = self._taken(parts)
        if there is not None:
            if (*parts[:-1], parts[-1].lower()) in new_names or there.sql != sql_of(kind):
                raise Refused
            return False
        if not self.mapped and _BAD & set(parts[-1]):
            raise Refused
        return True

    def _add(self, parts: Parts, kind: str) -> None:
        column = self._new(parts[-1], kind)
        above = self.physical(parts[:-1])
        self.siblings(parts).append(column)
        if self.mapped:
            self._name(column, above)

    def _name(self, column: Column, above: Parts) -> None:
        self.max_id += 1
        column.id = self.max_id
        path = tuple(part.lower() for part in (*above, column.name))
        reserved = {(name,) for name in (PARTITION, *_CHANGE_DATA)}
        unique = self.used or path in self.ever | reserved or bool(_BAD & set(column.name))
        column.physical = "" if unique else column.name
        # Below a UUID that is yet unknown nothing can ever have been.
        inner = (f"?{column.number}" if unique else column.name,)
        for child in column.children:
            self._name(child, (*above, *inner, *column.between))

    def _check_once(self, change: Change) -> None:
        changed = [*change.drop, *(parts for parts, _ in change.rename)]
        if len(set(changed)) < len(changed):
            raise Refused
        for gone in change.drop:
            if any(other != gone and other[: len(gone)] == gone for other in changed):
                raise Refused
        added = [tuple(part.lower() for part in parts) for parts, _ in change.add]
        if len(set(added)) < len(added):
            raise Refused

    # -- finding ----------------------------------------------------------------------------------

    def siblings(self, parts: Parts) -> list[Column]:
        """The columns among which that of ``parts`` is, or would be."""
        columns, rest = self.columns, list(parts[:-1])
        while rest:
            column = next((column for column in columns if column.name == rest[0]), None)
            if column is None or not column.children:
                raise Refused
            del rest[: 1 + len(column.between)]
            columns = column.children
        return columns

    def at(self, parts: Parts) -> Column:
        for column in self.siblings(parts):
            if column.name == parts[-1]:
                return column
        raise Refused

    def physical(self, parts: Parts) -> Parts:
        """Where what lies below ``parts`` lies in data files."""
        for logical, physical, column in self.walk():
            if parts and (*logical, *column.between) == parts:
                return (*physical, *column.between)
        return ()

    def _taken(self, parts: Parts) -> Column | None:
        for column in self.siblings(parts):
            if column.name.lower() == parts[-1].lower():
                return column
        return None

    def _new(self, name: str, kind: str) -> Column:
        self._numbers += 1
        return Column(self._numbers, name, kind, [self._new(child, "int") for child in TYPES[kind]])

    def _remember(self) -> None:
        self.ever = self.ever | {tuple(part.lower() for part in physical) for _, physical, _ in self.walk()}


def differences(model: Model, metadata: Json) -> Iterator[str]:
    """Yield how a metaData action is not what the model says; where they agree, the model learns the UUIDs."""
    configuration = metadata["configuration"]
    expected = {PROPERTY: str(model.used).lower()}
    if model.mapped:
        expected |= {MODE: "name", MAX: str(model.max_id)}
    actual = {key: configuration[key] for key in (PROPERTY, MODE, MAX) if configuration.get(key, "none") != "none"}
    if actual != expected:
        yield f"the properties are {actual}, not {expected}"
    fields = list(_fields(metadata))
    columns = list(model.walk())
    if [parts for parts, _ in fields] != [logical for logical, _, _ in columns]:
        yield f"the columns are {[parts for parts, _ in fields]}, not {[logical for logical, _, _ in columns]}"
        return
    known = {part for path in model.ever for part in path}
    names: dict[Any, Any] = {}
    for (parts, wire), (_, _, column) in zip(fields, columns):
        number, name = wire["metadata"].get(ID), wire["metadata"].get(NAME)
        if number != column.id:
            yield f"the id of {parts} is {number}, not {column.id}"
        if column.physical != "":
            if name != column.physical:
                yield f"the physical name of {parts} is {name!r}, not {column.physical!r}"
        elif not UNIQUE.fullmatch(name or "") or name in known or name in names.values():
            yield f"the physical name of {parts} is {name!r}, not a new UUID"
        names[parts] = name
        if wire["nullable"] is not True or ("type" in wire and _kind(wire["type"]) != column.kind):
            yield f"{parts} is {wire}"
    model.settle(names)


def physical_paths(metadata: Json) -> dict[Parts, Parts]:
    """Where the leaves of a schema lie in data files, by logical path: read from the log's own JSON."""
    mapped = metadata["configuration"].get(MODE, "none") != "none"
    found: dict[Parts, Parts] = {}

    def down(wire: Any, logical: Parts, physical: Parts) -> None:
        if not isinstance(wire, dict):
            found[logical] = physical
        elif wire["type"] == "array":
            down(wire["elementType"], (*logical, "element"), (*physical, "element"))
        else:
            for column in wire["fields"]:
                name = column["metadata"][NAME] if mapped else column["name"]
                down(column["type"], (*logical, column["name"]), (*physical, name))

    down(json.loads(metadata["schemaString"]), (), ())
    return found


def _fields(metadata: Json) -> Iterator[tuple[Parts, Json]]:
    def down(wire: Any, logical: Parts) -> Iterator[tuple[Parts, Json]]:
        if not isinstance(wire, dict):
            return
        if wire["type"] == "array":
            yield from down(wire["elementType"], (*logical, "element"))
            return
        for column in wire["fields"]:
            yield (*logical, column["name"]), column
            yield from down(column["type"], (*logical, column["name"]))

    yield from down(json.loads(metadata["schemaString"]), ())


def _kind(wire: Any) -> str:
    return "int" if wire == "integer" else str(wire["type"])


def sql_of(kind: str) -> str:
    return Column(0, "", kind, [Column(0, child, "int") for child in TYPES[kind]]).sql


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def text(parts: Parts) -> str:
    return ".".join(map(quote, parts))


# -- at random ------------------------------------------------------------------------------------

#: Few names, so that they come back: in other case, and such as Parquet or the change data feed do not leave free.
_NAMES = ("a", "b", "c", "A", "s", "x", "z", "x y", "_change_type", "_COMMIT_VERSION", "a.b", "`", "ü")


def random_change(model: Model, rng: random.Random) -> Change:
    """Return a request; some must be refused."""
    if not model.mapped and rng.random() < 0.8:
        return Change(add=_adds(model, rng, 1 + rng.randrange(2)))
    change = Change()
    paths = [logical for logical, _, _ in model.walk()]
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        change.drop.append(rng.choice(paths))
    renames = {rng.choice(paths): rng.choice(_NAMES) for _ in range(rng.choice((0, 0, 1, 1, 2)))}
    change.rename = list(renames.items())
    after = model.copy()
    try:
        after._alter(Change(change.drop, change.rename))
    except Refused:
        return change if rng.random() < 0.3 else random_change(model, rng)
    change.add = _adds(after, rng, rng.choice((0, 1, 1, 2)))
    if not (change.drop or change.rename or change.add):
        return random_change(model, rng)
    return change


def _adds(model: Model, rng: random.Random, number: int) -> list[tuple[Parts, str]]:
    above: list[Parts] = [()]
    above += [(*logical, *column.between) for logical, _, column in model.walk() if column.children]
    made: dict[Parts, str] = {}
    for _ in range(number):
        made[(*rng.choice(above), rng.choice(_NAMES))] = rng.choice(("int", "int", "struct", "array"))
    return list(made.items())
