"""Documents sent through the output of a Spark driver.

The driver's standard output is shared: lines of Spark, the JVM and this package meet in one pipe, and one line may cut
another. A document is therefore compressed and sent as numbered lines, each with a checksum, and may be sent more than
once; :class:`MarkerReader` uses any good copy of each line. Every line contains the nonce of its submission, so no
other text is mistaken for it, and the checksum of its document, so lines of two documents are never joined.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: Payload characters per line: with its frame, a line stays well below PIPE_BUF (4096 bytes).
_CHUNK = 2000
_LINE = re.compile(
    r"@@delta-provider:(?P<head>(?P<channel>[a-z]+):(?P<nonce>[0-9a-f]+):(?P<document>[0-9a-f]{8})"
    r":(?P<index>\d+)/(?P<total>\d+)):(?P<crc>[0-9a-f]{8}):(?P<payload>[A-Za-z0-9+/=]*)@@"
)
#: Start of every marker line, whole or torn.
PREFIX = "@@delta-provider:"


def marker_lines(channel: str, nonce: str, document: Any) -> Iterator[str]:
    """Yield the lines that carry ``document`` (JSON-serialisable) on ``channel``.

    :param channel: kind of document: ``report``, ``error`` or ``progress``
    :param nonce: submission id, hexadecimal
    """
    packed = base64.b64encode(zlib.compress(json.dumps(document).encode(), 6)).decode()
    total, whole = -(-len(packed) // _CHUNK), _crc(packed)
    for index in range(total):
        payload = packed[index * _CHUNK : (index + 1) * _CHUNK]
        head = f"{channel}:{nonce}:{whole}:{index}/{total}"
        yield f"{PREFIX}{head}:{_crc(head + payload)}:{payload}@@"


def is_marker(line: str) -> bool:
    """Return True if ``line`` is a marker line, or contains the torn rest of one."""
    return PREFIX in line


def _crc(payload: str) -> str:
    return f"{zlib.crc32(payload.encode()):08x}"


class MarkerReader:
    """Collects the lines of one submission and returns the complete documents."""

    def __init__(self, nonce: str) -> None:
        self._nonce = nonce
        self._chunks: dict[tuple[str, str], dict[int, str]] = {}
        self.foreign = 0
        """Lines that carried another submission's nonce."""
        self.torn = 0
        """Lines of ours that arrived damaged."""

    def feed(self, line: str) -> list[tuple[str, Any]]:
        """Read one line. Return the ``(channel, document)`` pairs that it completes."""
        completed = []
        matches = list(_LINE.finditer(line))
        if PREFIX in line and len(matches) < line.count(PREFIX):
            self.torn += 1
        for match in matches:
            if _crc(match["head"] + match["payload"]) != match["crc"]:
                self.torn += 1
                continue
            if match["nonce"] != self._nonce:
                self.foreign += 1
                continue
            key = (match["channel"], match["document"])
            chunks = self._chunks.setdefault(key, {})
            chunks[int(match["index"])] = match["payload"]
            if len(chunks) == int(match["total"]):
                del self._chunks[key]
                packed = "".join(chunks[index] for index in sorted(chunks))
                completed.append((key[0], json.loads(zlib.decompress(base64.b64decode(packed)))))
        return completed


_SUBMISSION = "submission"


@dataclass(frozen=True)
class AnswerFile:
    """The answer of one submission, in a folder that only one task instance uses.

    :param folder: path or URI of the folder
    :param submission: nonce of the submission
    """

    folder: str
    submission: str

    @property
    def path(self) -> str:
        """The file with the report or the error."""
        return f"{self.folder}/{self.submission}.json"

    @property
    def begun(self) -> str:
        """The file that shows that the driver started and was able to write."""
        return f"{self.folder}/{self.submission}.begun"

    def content(self, channel: str, document: Any) -> dict[str, Any]:
        """Return the content of the file.

        :param channel: ``report`` or ``error``
        """
        return {_SUBMISSION: self.submission, channel: document}

    def document(self, content: Any) -> tuple[str, dict[str, Any]]:
        """Return the channel and the document of a file's content.

        :raises ValueError: if it is not an answer, or is the answer of another submission
        """
        if not isinstance(content, dict) or _SUBMISSION not in content:
            raise ValueError("it is not an answer of a job")
        if content[_SUBMISSION] != self.submission:
            raise ValueError(f"it answers submission {content[_SUBMISSION]!r}, not {self.submission!r}")
        for channel in ("report", "error"):
            if isinstance(content.get(channel), dict):
                return channel, content[channel]
        raise ValueError("it holds neither a report nor an error")
