"""The file in which a driver that runs elsewhere leaves its answer: what it is called, and what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_SUBMISSION = "submission"


@dataclass(frozen=True)
class AnswerFile:
    """The answer of one submission, in a folder that only one task instance uses.

    :param folder: the folder, by a path or a URI
    :param submission: nonce of the submission
    """

    folder: str
    submission: str

    @property
    def path(self) -> str:
        """The file."""
        return f"{self.folder}/{self.submission}.json"

    @property
    def begun(self) -> str:
        """A file that says that the driver began, and could write."""
        return f"{self.folder}/{self.submission}.begun"

    def content(self, channel: str, document: Any) -> dict[str, Any]:
        """Return what the file holds.

        :param channel: ``report`` or ``error``
        """
        return {_SUBMISSION: self.submission, channel: document}

    def document(self, content: Any) -> tuple[str, dict[str, Any]]:
        """Return the channel and the document of a content.

        :raises ValueError: if it is not an answer, or that of another submission
        """
        if not isinstance(content, dict) or _SUBMISSION not in content:
            raise ValueError("it is not an answer of a job")
        if content[_SUBMISSION] != self.submission:
            raise ValueError(f"it answers submission {content[_SUBMISSION]!r}, not {self.submission!r}")
        for channel in ("report", "error"):
            if isinstance(content.get(channel), dict):
                return channel, content[channel]
        raise ValueError("it holds neither a report nor an error")
