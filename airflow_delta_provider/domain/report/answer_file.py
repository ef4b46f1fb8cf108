"""The answer file of a driver on another machine: its name and its content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
