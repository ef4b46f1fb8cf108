"""Files derived from the log: checksum files, and the pointer to the last checkpoint, ``_last_checkpoint``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from airflow_delta_provider.domain.delta.checkpoint_comparison import metadata_differences
from airflow_delta_provider.domain.delta.commit import Action, commit_info
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.formats.json_values import integer_of, integer_or_none, map_of, parse_json, text_of


class BrokenChecksumError(Exception):
    """A checksum file that cannot be used; the message gives the reason."""


_SIZES = re.compile(rb'"(?:fileSizeHistogram|histogramOpt)"\s*:\s*\{')


class Checksum(NamedTuple):
    """The used part of a ``.crc`` file.

    :param transaction_id: ``txnId`` of the commit it was made for, or None
    """

    protocol: Protocol
    metadata: Metadata
    transaction_id: str | None = None


def checksum_name(version: int) -> str:
    return f"{version:020d}.crc"


def lists_files(content: bytes) -> bool:
    """Return True if a checksum file lists the live files, in the form that engines write.

    Checksum files of small tables do.
    """
    return b'"allFiles":[{' in content


def counts_sizes(content: bytes) -> bool:
    """Return True if a checksum file counts files by size."""
    return _SIZES.search(content) is not None


def parse_checksum(content: bytes) -> Checksum:
    """Read a checksum file.

    :raises BrokenChecksumError: if it is damaged, or lacks protocol or metadata
    """
    try:
        wire = parse_json(content)
        return Checksum(
            Protocol.from_json(wire["protocol"]),
            Metadata.from_json(wire["metadata"]),
            wire.get("txnId"),
        )
    except KeyError as error:
        raise BrokenChecksumError(f"it lacks {error}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise BrokenChecksumError(f"it is damaged ({error})") from error


def disagreement(checksum: Checksum, actions: Iterable[Action]) -> str | None:
    """Return the contradiction between a checksum and the commit of its version, or None if they agree.

    :param actions: actions of that commit
    """
    actions = list(actions)
    committed = commit_info(actions).get("txnId")
    if committed and checksum.transaction_id and committed != checksum.transaction_id:
        return f"it was made for transaction {checksum.transaction_id}, the commit is of {committed}"
    for action in actions:
        if action.get("protocol") and Protocol.from_json(action["protocol"]) != checksum.protocol:
            return "its protocol is not the one that the commit sets"
        if action.get("metaData") and metadata_differences(Metadata.from_json(action["metaData"]), checksum.metadata):
            return "its metadata is not the one that the commit sets"
    return None


POINTER = "_last_checkpoint"
_UNRESERVED = "-._~"


class _Number(str):
    """A number in its original spelling."""


_AS_WRITTEN = json.JSONDecoder(parse_int=_Number, parse_float=_Number)


class LastCheckpoint(NamedTuple):
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


class V2Pointer(NamedTuple):
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
