"""The valid URLs of a Spark master, according to Spark's own parsing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

_LOCAL = re.compile(r"local(?:\[\s*([0-9]+|\*)\s*(?:,\s*[0-9]+\s*)?\])?")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*[0-9]+\s*,\s*[0-9]+\s*,\s*[0-9]+\s*\]")
#: Host names valid in Java's URIs: no underscore, and the last part begins with a letter; or an IP address.
_HOST = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.?"
    r"|[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9A-Fa-f:.%]+\]"
)
_ADDRESS = re.compile(r"(?P<host>\[[^\]]*\]|[^:/?#@]*):(?P<port>[0-9]{1,5})")
_KUBERNETES = re.compile(r"(?:(?P<scheme>[^:/]*)://)?(?P<host>\[[^\]]*\]|[^:/?#]+)(?::(?P<port>[0-9]{1,5}))?(?:/.*)?")
_PORTS = {"https": 443, "http": 80}
_FORMS = (
    "Spark knows local, local[N], local[*], local[N,FAILURES], local-cluster[N,CORES,MEMORY], "
    "spark://HOST:PORT[,HOST:PORT], yarn and k8s://https://HOST:PORT."
)


class MasterError(ValueError):
    """A string that Spark does not accept as a master; the message lists the valid forms."""


class MasterKind(Enum):
    """The system that runs the executors."""

    LOCAL = "local"
    STANDALONE = "spark"
    YARN = "yarn"
    KUBERNETES = "k8s"
    MESOS = "mesos"


@dataclass(frozen=True)
class SparkMaster:
    """A Spark master.

    :param text: its URL
    :param addresses: hosts with ports; at least one must be reachable
    """

    text: str
    kind: MasterKind
    addresses: tuple[tuple[str, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> SparkMaster:
        """Read the URL of a master.

        :raises MasterError: if it is not one
        """
        if match := _LOCAL.fullmatch(text):
            if match[1] and match[1] != "*" and not int(match[1]):
                raise MasterError(f"The Spark master {text!r} has no thread. Use local[1] or more.")
            return cls(text, MasterKind.LOCAL)
        if _LOCAL_CLUSTER.fullmatch(text):
            return cls(text, MasterKind.LOCAL)
        if text == "yarn":
            return cls(text, MasterKind.YARN)
        scheme, separator, rest = text.partition("://")
        if separator and scheme == "spark":
            return cls(text, MasterKind.STANDALONE, tuple(_standalone(text, part) for part in rest.split(",")))
        if separator and scheme == "k8s":
            return cls(text, MasterKind.KUBERNETES, (_kubernetes(text, rest),))
        if separator and scheme == "mesos":
            return cls(text, MasterKind.MESOS)
        raise MasterError(f"The Spark master {text!r} is malformed. {_FORMS}")


def _standalone(text: str, part: str) -> tuple[str, int]:
    address = _ADDRESS.fullmatch(part)
    if address is None or not address["host"]:
        raise MasterError(
            f"The Spark master {text!r} is malformed: {part!r} is not HOST:PORT. Name host and port of each master, "
            "for instance spark://master:7077."
        )
    return _host(text, address["host"]), _port(text, address["port"])


def _kubernetes(text: str, rest: str) -> tuple[str, int]:
    match = _KUBERNETES.fullmatch(rest)
    scheme = (match["scheme"] or "https").lower() if match else ""
    if match is None or scheme not in _PORTS:
        raise MasterError(
            f"The Spark master {text!r} is malformed. Name the API server as k8s://https://HOST:PORT; http also works."
        )
    return match["host"].strip("[]"), _port(text, match["port"] or str(_PORTS[scheme]))


def _host(text: str, host: str) -> str:
    if _HOST.fullmatch(host):
        return host.strip("[]")
    why = "a host name with an underscore" if "_" in host else "that host name"
    raise MasterError(
        f"The Spark master {text!r} is malformed: Spark does not accept {why}. Use another, or an IP address."
    )


def _port(text: str, port: str) -> int:
    if not 0 < int(port) < 65536:
        raise MasterError(f"The Spark master {text!r} is malformed: there is no port {port}.")
    return int(port)


def is_local(master: str) -> bool:
    """Return True if the master is a thread pool inside the driver."""
    return master == "local" or master.startswith("local[")
