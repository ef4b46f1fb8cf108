"""The version checksum file, ``NNN.crc``: protocol and metadata of a version in one small read.

PROTOCOL.md, Version Checksum File. It is optional, and nothing stops one that belongs to another
version of history from lying next to a commit, so it is believed only where its commit agrees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.commit import Action, commit_info
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.metadata_comparison import metadata_differences
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.formats.json_values import parse_json


class BrokenChecksumError(Exception):
    """The checksum file cannot be used; the message says why."""


@dataclass(frozen=True)
class Checksum:
    """What a ``.crc`` file says of its version, as far as it is used here.

    :param transaction_id: ``txnId`` of the commit it was made for, or None
    """

    protocol: Protocol
    metadata: Metadata
    transaction_id: str | None = None


def checksum_name(version: int) -> str:
    """Return the file name of a version's checksum."""
    return f"{version:020d}.crc"


def lists_files(content: bytes) -> bool:
    """Whether a checksum file lists the live files, as those of small tables do, and as engines write it."""
    return b'"allFiles":[{' in content


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
    """Return how a checksum contradicts the commit of its own version, or None where it does not.

    :param actions: the actions of that commit
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
