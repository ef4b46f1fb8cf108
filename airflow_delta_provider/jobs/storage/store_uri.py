"""The URI of a place in an object store."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from urllib.parse import quote

from airflow_delta_provider.jobs.storage.storage_errors import StorageError

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
#: Characters that Java's URIs do not encode, besides letters, digits and all non-ASCII characters.
_LITERAL = "/:@!$&'()*+,;=-._~"
_ASCII = re.compile(r"[\x00-\x7f]+")


@dataclass(frozen=True)
class StoreUri:
    """A bucket or container, and a key in it. The key is not decoded: a percent sign is literal.

    :param scheme: scheme in lower case, such as ``s3a``
    :param authority: bucket, or ``container@account.host``
    :param key: key without slashes at its ends; empty for the bucket itself
    """

    scheme: str
    authority: str
    key: str

    @classmethod
    def of(cls, uri: str) -> StoreUri:
        """Parse a URI as Hadoop does: repeated slashes count as one, and ``..`` leads up.

        :raises StorageError: if it is not a valid URI
        """
        match = _URI.fullmatch(uri)
        if match is None or not match[2]:
            raise StorageError(f"{uri!r} does not name a bucket", "Give a URI of the form s3://BUCKET/PATH.")
        key = posixpath.normpath(re.sub("/+", "/", f"/{match[3]}")).lstrip("/")
        return cls(match[1].lower(), match[2], key)

    def __str__(self) -> str:
        return f"{self.root}/{self.key}".rstrip("/")

    @property
    def root(self) -> str:
        """The URI of the bucket."""
        return f"{self.scheme}://{self.authority}"

    @property
    def container(self) -> str:
        """Name of the bucket or container."""
        return self.authority.partition("@")[0]


def encoded(uri: str) -> str:
    """Return a URI as Java writes it: percent signs, spaces and similar are encoded, non-ASCII letters are not."""
    return _ASCII.sub(lambda part: quote(part[0], safe=_LITERAL), uri)
