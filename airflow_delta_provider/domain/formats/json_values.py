"""JSON in logs: documents, and values of the types that PROTOCOL.md specifies.

Readers do not accept values of other types, not even a number in quotes: Delta Spark fails on it. So these are errors
here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

#: Maximum nesting depth of a document: deeper ones are damage, and no rule needs to follow them.
_MOST_LEVELS = 200
#: Characters of a wrong value in a message.
_MOST_TEXT = 60


def parse_json(text: str | bytes, *, unique: bool = False) -> Any:
    """Read a JSON document.

    :param unique: True if a duplicate key in an object is an error
    :raises ValueError: if it is not JSON, nested too deeply, or has half of a character
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError:  # its message quotes the content
            raise ValueError("it is not UTF-8") from None
    try:
        value = _decoded(_UNIQUE if unique else _DECODER, text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        if type(error) is ValueError:  # raised by int(), with a message for programmers
            raise ValueError("it has a number of thousands of digits") from None
        raise
    if text.count("{") + text.count("[") > _MOST_LEVELS and _levels_exceed(value, _MOST_LEVELS):
        raise ValueError(f"it is nested deeper than {_MOST_LEVELS} levels")
    if "\\u" in text and ("\\ud" in text or "\\uD" in text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it has half of a character (a lone surrogate), which is not text") from None
    return value


def _decoded(decoder: json.JSONDecoder, text: str) -> Any:
    """Decode a document. It is fast for documents without blanks around them.

    :meth:`json.JSONDecoder.decode` first looks for such blanks, which most documents do not have.
    """
    try:
        value, end = decoder.raw_decode(text)
    except json.JSONDecodeError:
        end = -1
    return value if end == len(text) else decoder.decode(text)


def text_of(body: Mapping[str, Any], key: str) -> str:
    """Return a value that must be a string.

    :raises KeyError: if it is missing
    :raises ValueError: if it is not a string
    """
    value = body[key]
    if not isinstance(value, str):
        raise ValueError(f"its {key} is {_shown(value)}, not a string")
    return value


def texts_of(body: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    """Return a value that must be a list of strings, None if it is missing.

    :raises ValueError: if it is not one
    """
    value = body.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"its {key} is {_shown(value)}, not a list of strings")
    return tuple(value)


def map_of(body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a value that must be a map, empty if it is missing. PyArrow returns maps as pairs.

    :raises ValueError: if it is not a map
    """
    value = body.get(key)
    if type(value) is dict:
        return value
    if value is None:
        return {}
    if isinstance(value, list) and all(isinstance(item, tuple) for item in value):
        return dict(value)
    if not isinstance(value, Mapping):
        raise ValueError(f"its {key} is {_shown(value)}, not a map")
    return value


def integer_of(body: Mapping[str, Any], key: str, bits: int = 64) -> int:
    """Return a value that must be an integer of at most ``bits`` bits.

    :raises KeyError: if it is missing
    :raises ValueError: if it is not such an integer
    """
    value = body[key]
    if type(value) is not int or not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"its {key} is {_shown(value)}, not an integer of {bits} bits")
    return value


def integer_or_none(body: Mapping[str, Any], key: str) -> int | None:
    """Return a value that must be an integer, None if it is missing.

    :raises ValueError: if it is not an integer
    """
    return None if body.get(key) is None else integer_of(body, key)


def _shown(value: Any) -> str:
    if isinstance(value, (Mapping, list, tuple)):
        return "a map" if isinstance(value, Mapping) else "a list"
    if value is None:
        return "null"
    text = json.dumps(value[:_MOST_TEXT] if isinstance(value, str) else value, ensure_ascii=False)
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"


def _levels_exceed(value: Any, most: int) -> bool:
    waiting = [(value, 1)]
    while waiting:
        here, level = waiting.pop()
        if not isinstance(here, (dict, list)):
            continue
        if level > most:
            return True
        waiting.extend((item, level + 1) for item in (here.values() if isinstance(here, dict) else here))
    return False


def _no_constant(name: str) -> Any:
    raise _ConstantError(f"{name} is not JSON")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise DuplicateKeyError(f"it has the key {_shown(twice)} twice: some readers fail, others take the last one")
    return found


class _ConstantError(ValueError):
    pass


class DuplicateKeyError(ValueError):
    """An object with a duplicate key; the message names the key."""


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_UNIQUE = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_without_duplicates)
