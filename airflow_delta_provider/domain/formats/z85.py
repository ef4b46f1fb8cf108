"""Z85, the Base85 variant in which the log holds the UUIDs and the bytes of deletion vectors.

https://rfc.zeromq.org/spec/32/; PROTOCOL.md, Deletion Vector Descriptor Schema.
"""

from __future__ import annotations

import re

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = {character: digit for digit, character in enumerate(_ALPHABET)}
#: Encodes 16 bytes for certain: no block begins with one of the last digits, with which it could be too great.
_IS_UUID = re.compile(rf"(?:[{re.escape(_ALPHABET[:82])}][{re.escape(_ALPHABET)}]{{4}}){{4}}").fullmatch


def is_uuid(text: str) -> bool:
    """Whether a text stands for 16 bytes, as a UUID has; may say no of some that do. Fast."""
    return _IS_UUID(text) is not None


def decode_z85(text: str) -> bytes:
    """Return the bytes that a text stands for: four for each five characters.

    Bytes that are no multiple of four were padded before they were encoded, and the padding is
    returned with them: only who knows their number can cut it off.

    :raises ValueError: if the text is not Z85
    """
    if len(text) % 5:
        raise ValueError(f"it has {len(text)} characters, which is not a multiple of five")
    try:
        digits = [_DIGITS[character] for character in text]
    except KeyError as error:
        raise ValueError(f"it has the character {error}, which Z85 has not") from None
    decoded = bytearray()
    for start in range(0, len(digits), 5):
        a, b, c, d, e = digits[start : start + 5]
        block = (((a * 85 + b) * 85 + c) * 85 + d) * 85 + e
        if block >> 32:
            raise ValueError(f"its block {text[start : start + 5]!r} is greater than four bytes can be")
        decoded += block.to_bytes(4, "big")
    return bytes(decoded)
