"""The pointer to the last checkpoint, ``_last_checkpoint``. PROTOCOL.md, Last Checkpoint File Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from airflow_delta_provider.domain.formats.json_values import integer_of, integer_or_none, map_of, parse_json, text_of

POINTER = "_last_checkpoint"
_UNRESERVED = "-._~"


class _Number(str):
    """A number in its original spelling."""


_AS_WRITTEN = json.JSONDecoder(parse_int=_Number, parse_float=_Number)


@dataclass(frozen=True)
class LastCheckpoint:
    """The content of the file; missing values are None.

    :param v2: part of a V2 checkpoint that the file repeats
    :param checksum: checksum recorded in the file; ``computed`` is the actual one
    """

    version: int
    size: int | None = None
    parts: int | None = None
    size_in_bytes: int | None = None
    num_of_add_files: int | None = None
    v2: V2Pointer | None = None
    checksum: str | None = None
    computed: str | None = None

    @classmethod
    def parse(cls, content: bytes) -> LastCheckpoint:
        """Read the file.

        :raises ValueError: if it cannot be used; KeyError, TypeError and AttributeError likewise
        """
        wire = parse_json(content, unique=True)
        checksum = wire.get("checksum")
        return cls(
            integer_of(wire, "version"),
            integer_or_none(wire, "size"),
            integer_or_none(wire, "parts"),
            integer_or_none(wire, "sizeInBytes"),
            integer_or_none(wire, "numOfAddFiles"),
            V2Pointer.from_json(map_of(wire, "v2Checkpoint")) if wire.get("v2Checkpoint") else None,
            None if checksum is None else text_of(wire, "checksum"),
            None if checksum is None else json_checksum(content.decode("utf-8-sig")),
        )


@dataclass(frozen=True)
class V2Pointer:
    """The part of a V2 checkpoint that the pointer repeats, so that readers need not open it.

    :param sidecars: names of its sidecar files; None if they are not repeated
    :param actions: its actions that do not describe files, as in the checkpoint; None if they are not repeated
    """

    path: str
    size_in_bytes: int | None
    sidecars: tuple[str, ...] | None
    actions: tuple[Mapping[str, Any], ...] | None

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> V2Pointer:
        """Read the JSON form.

        :raises ValueError: if it cannot be used; KeyError, TypeError and AttributeError likewise
        """
        sidecars, actions = wire.get("sidecarFiles"), wire.get("nonFileActions")
        return cls(
            text_of(wire, "path").rsplit("/", 1)[-1],
            integer_or_none(wire, "sizeInBytes"),
            None if sidecars is None else tuple(text_of(sidecar, "path") for sidecar in sidecars),
            None if actions is None else tuple(dict(action.items()) for action in actions),
        )


def json_checksum(text: str) -> str:
    """Return the checksum of a JSON object in its canonical form. PROTOCOL.md, JSON checksum."""
    from hashlib import md5  # late: it loads OpenSSL, and few logs need it

    return md5(canonical_form(text).encode(), usedforsecurity=False).hexdigest()


def canonical_form(text: str) -> str:
    """Return the canonical form of a JSON object, without its ``checksum``.

    :raises ValueError: if it is not JSON
    """
    wire = _AS_WRITTEN.decode(text)
    leaves = _leaves({key: value for key, value in wire.items() if key != "checksum"}, ())
    return ",".join(f"{path}={value}" for path, value in sorted(leaves, key=lambda leaf: leaf[0].encode()))


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, _encoded(key)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, str(index)))
    elif isinstance(value, _Number):
        yield "+".join(path), str(value)
    elif isinstance(value, str):
        yield "+".join(path), _encoded(value)
    else:
        yield "+".join(path), json.dumps(value)


def _encoded(text: str) -> str:
    return f'"{quote(text, safe=_UNRESERVED)}"'
