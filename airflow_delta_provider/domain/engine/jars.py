"""Jars as users name them: by paths or URIs, or by Maven coordinates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

#: Maven coordinates: a path may have colons, too, but names a jar.
_COORDINATES = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")


def is_coordinates(jar: str) -> bool:
    """Whether a text names a jar by Maven coordinates, ``group:artifact:version``."""
    return bool(_COORDINATES.fullmatch(jar)) and not jar.endswith(".jar")


def split_jars(jars: str | Iterable[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths or URIs among jars, and the Maven coordinates; a text holds them separated by commas."""
    named = [jar.strip() for jar in jars.split(",")] if isinstance(jars, str) else [str(jar) for jar in jars]
    present = [jar for jar in named if jar]
    return (
        tuple(jar for jar in present if not is_coordinates(jar)),
        tuple(jar for jar in present if is_coordinates(jar)),
    )
