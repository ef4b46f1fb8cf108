"""The version checksum file, ``NNN.crc``: protocol and metadata of a version in one small read.

PROTOCOL.md, Version Checksum File. The file is optional. A file from another history of the table may lie next to a
commit, so it is used only if its commit agrees with it.
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
    """A checksum file that cannot be used; the message gives the reason."""


@dataclass(frozen=True)
class Checksum:
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
