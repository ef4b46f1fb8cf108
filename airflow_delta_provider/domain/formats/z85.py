"""Z85, the Base85 encoding of UUIDs and of deletion vectors' bytes in the log.

https://rfc.zeromq.org/spec/32/; PROTOCOL.md, Deletion Vector Descriptor Schema.
"""

from __future__ import annotations

import re

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = {character: digit for digit, character in enumerate(_ALPHABET)}
#: Matches only encodings of 16 bytes: no block begins with one of the last digits, which could make it too large.
_IS_UUID = re.compile(rf"(?:[{re.escape(_ALPHABET[:82])}][{re.escape(_ALPHABET)}]{{4}}){{4}}").fullmatch


def is_uuid(text: str) -> bool:
    """Return True if a string encodes 16 bytes, as of a UUID. May return False for a few that do. Fast."""
    return _IS_UUID(text) is not None


def decode_z85(text: str) -> bytes:
    """Decode a string: four bytes for each five characters.

    If the number of bytes was not a multiple of four, they were padded before encoding. The padding is returned with
    them; only a caller that knows their number can cut it off.

    :raises ValueError: if the string is not Z85
    """
    if len(text) % 5:
        raise ValueError(f"it has {len(text)} characters, which is not a multiple of five")
    try:
        digits = [_DIGITS[character] for character in text]
    except KeyError as error:
        raise ValueError(f"it has the character {error}, which Z85 does not have") from None
    decoded = bytearray()
    for start in range(0, len(digits), 5):
        a, b, c, d, e = digits[start : start + 5]
        block = (((a * 85 + b) * 85 + c) * 85 + d) * 85 + e
        if block >> 32:
            raise ValueError(f"its block {text[start : start + 5]!r} is greater than four bytes can be")
        decoded += block.to_bytes(4, "big")
    return bytes(decoded)
