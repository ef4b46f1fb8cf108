"""Short digests that identify texts."""

from __future__ import annotations


def short_digest(text: str) -> str:
    """Return the first 16 hexadecimal digits of a text's SHA-256; any characters are allowed."""
    from hashlib import sha256  # late: it loads OpenSSL, and a sound table needs none

    return sha256(text.encode(errors="backslashreplace")).hexdigest()[:16]
