"""The engine that wrote a commit, identified by its signature.

No specification defines these signatures; they are taken from real commits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: Key in ``commitInfo``, pattern of the signature, and name of the engine. The first match counts.
_SIGNATURES: tuple[tuple[str, re.Pattern[str], str], ...] = tuple(
    (key, re.compile(pattern), name)
    for key, pattern, name in (
        ("engineInfo", r"Databricks-Runtime/(?P<version>\S+)", "Databricks Runtime"),
        ("engineInfo", r"Apache-Spark/\S+ Delta-Lake/(?P<version>\S+)", "Delta Spark"),
        ("engineInfo", r"delta-rs:(?:py-)?(?P<version>\S+)", "delta-rs"),
        ("clientVersion", r"delta-rs\.(?:py-)?(?P<version>\S+)", "delta-rs"),
        ("engineInfo", r"DuckDB(?:[ /](?P<version>\S+))?", "DuckDB"),
        ("engineInfo", r"Kernel-(?P<version>[^/\s]+)/?.*", "Delta Kernel"),
        ("engineInfo", r"(?P<name>[A-Za-z][\w .-]*?)[/: ]v?(?P<version>\d\S*).*", ""),
        ("clusterId", r"trino-(?P<version>[^-]+)-.*", "Trino"),
    )
)
#: Engines whose commits are recognised by their signature.
ENGINES = tuple(dict.fromkeys(name for *_, name in _SIGNATURES if name))


def signature_of(info: Mapping[str, Any]) -> str | None:
    """Return the signature of the engine that made a commit; None if it did not sign.

    :param info: ``commitInfo`` of the commit
    """
    for key in ("engineInfo", "clientVersion"):
        if isinstance(info.get(key), str) and info[key]:
            return str(info[key])
    cluster = info.get("clusterId")
    return cluster if isinstance(cluster, str) and cluster.startswith("trino-") else None


def writer_of(info: Mapping[str, Any]) -> str | None:
    """Return name and version of the engine that made a commit.

    None if its signature is unknown or missing. For delta-rs, it is the version of the Rust crate, not of the Python
    package.

    :param info: ``commitInfo`` of the commit
    """
    for key, pattern, name in _SIGNATURES:
        value = info.get(key)
        match = pattern.fullmatch(value) if isinstance(value, str) else None
        if match:
            found = match.groupdict()
            return " ".join(filter(None, (name or found["name"], found["version"])))
    return None
