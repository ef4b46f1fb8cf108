"""Settings of a Spark session for Delta jobs, each set only if the platform or its defaults file does not set it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

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


Version = tuple[int, ...]

#: First Delta release with the whole matrix of type changes, and the changes in earlier releases: names of types.
WIDENING_SINCE: Version = (4, 0)
FIRST_WIDENINGS = (("byte", "short"), ("byte", "integer"), ("short", "integer"))
#: First Delta release that can enable a feature on an existing table, if an earlier release already knows the feature.
_ENABLED_SINCE: Mapping[str, Version] = {"columnmapping": (3, 3), "rowtracking": (3, 3)}
#: First Delta release that can set the mode of column mapping back to none.
_UNMAPPING_SINCE: Version = (3, 3)
#: First Spark release whose ALTER COLUMN accepts several columns, measured with Delta 4.4.
_MANY_COLUMNS_SINCE: Version = (4, 2)


@dataclass(frozen=True)
class Engine:
    """Delta Spark in a session.

    :param spark: Spark's version
    :param delta: Delta's version
    :param features: names of the table features that it knows, case-folded
    """

    spark: str
    delta: str
    features: frozenset[str]

    def __str__(self) -> str:
        return f"Delta {self.delta} on Spark {self.spark}"

    def knows(self, feature: str) -> bool:
        """Return True if this engine reads and writes tables with the feature."""
        return feature.casefold() in self.features

    def widens(self, old: str, new: str) -> bool:
        """Return True if it makes this change of the type-widening matrix, and reads tables with it.

        :param old: name of the old type, as in a schema
        :param new: name of the new type, as in a schema
        """
        return version_of(self.delta) >= WIDENING_SINCE or (old, new) in FIRST_WIDENINGS

    @property
    def prefers_preview(self) -> bool:
        """Return True if setting the property of type widening alone adds the preview of the feature."""
        return version_of(self.delta) < WIDENING_SINCE

    def enabled_since(self, feature: str) -> str | None:
        """Return the first Delta release that enables a feature on an existing table; None if this one does."""
        since = _ENABLED_SINCE.get(feature.casefold(), ())
        return ".".join(map(str, since)) if version_of(self.delta) < since else None

    @property
    def rewrites_without_mapping(self) -> bool:
        """Return True if it disables column mapping by rewriting the files."""
        return version_of(self.delta) >= _UNMAPPING_SINCE

    @property
    def alters_many_columns(self) -> bool:
        """Return True if one ALTER TABLE, and so one commit, can change the types of several columns."""
        return version_of(self.spark) >= _MANY_COLUMNS_SINCE


def version_of(text: str) -> Version:
    """Return the numbers at the start of a version: ``4.2.0-SNAPSHOT`` gives (4, 2, 0)."""
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(number) for number in match[0].split(".")) if match else ()


DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
#: Origins of Delta's jars: Maven, or the platform.
PACKAGES, PROVIDED = "packages", "provided"


def default_delta_jars(master: str) -> str:
    """Return the default origin of Delta's jars: a platform has its own, a local master has none."""
    return PACKAGES if is_local(master) else PROVIDED


#: The Delta release for a Spark release: by Spark's minor version and the first patch release that it works with, as
#: tested by `make matrix`. On Spark 4.1.4, Delta 4.1 and 4.2 lack a class in every change; so does Delta 3.3 on Spark
#: 3.5.0.
_DELTA_FOR_SPARK: Mapping[str, Mapping[int, str]] = {
    "4.2": {0: "4.4.0"},
    "4.1": {0: "4.3.1"},
    "4.0": {0: "4.0.1"},
    "3.5": {2: "3.3.3"},
}
#: The oldest Delta release that this provider's jobs work with.
OLDEST_DELTA: Version = (3, 2)
#: First Spark whose minor version is part of the artifact's name.
_NAMED_SINCE = (4, 1)


class UnknownSparkError(ValueError):
    """A Spark release without a known Delta release."""


def delta_coordinates(spark: str) -> str:
    """Return the Maven coordinates of the Delta release for a Spark release.

    :raises UnknownSparkError: if none is known
    """
    minor = ".".join(spark.split(".")[:2])
    patch = next(iter(version_of(spark)[2:]), 0)
    fitting = [delta for first, delta in _DELTA_FOR_SPARK.get(minor, {}).items() if first <= patch]
    if not fitting:
        known = ", ".join(f"{line} from {line}.{min(releases)}" for line, releases in _DELTA_FOR_SPARK.items())
        raise UnknownSparkError(
            f"No Delta release is known for Spark {spark}. The known releases of Spark are {known}; for another one, "
            "name Delta's jars in delta_jars (--delta-jars), by path or by Maven coordinates "
            "(group:artifact:version), or set it to 'provided'."
        )
    return coordinates_of(fitting[-1], spark)


def coordinates_of(delta: str, spark: str) -> str:
    """Return the Maven coordinates of a Delta release for a Spark release, even if the two do not fit."""
    minor = ".".join(spark.split(".")[:2])
    named = f"_{minor}" if version_of(minor) >= _NAMED_SINCE else ""
    scala = "2.12" if minor.startswith("3.") else "2.13"
    return f"io.delta:delta-spark{named}_{scala}:{delta}"


#: Maven coordinates. A path may also contain colons, but ends in ``.jar``.
_COORDINATES = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")


def is_coordinates(jar: str) -> bool:
    """Return True if a string gives a jar as Maven coordinates, ``group:artifact:version``."""
    return bool(_COORDINATES.fullmatch(jar)) and not jar.endswith(".jar")


def split_jars(jars: str | Iterable[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths or URIs among jars, and the Maven coordinates; a string separates jars by commas."""
    named = [jar.strip() for jar in jars.split(",")] if isinstance(jars, str) else [str(jar) for jar in jars]
    present = [jar for jar in named if jar]
    return (
        tuple(jar for jar in present if not is_coordinates(jar)),
        tuple(jar for jar in present if is_coordinates(jar)),
    )


EXTENSIONS = "spark.sql.extensions"
SESSION_CATALOG = "spark.sql.catalog.spark_catalog"

_SPARK_JARS, _SPARK_PACKAGES = "spark.jars", "spark.jars.packages"
_DELTA = {EXTENSIONS: DELTA_EXTENSION, SESSION_CATALOG: DELTA_CATALOG}
#: For one driver that runs short jobs on small inputs; measured: saves a third of the wall time.
_LEAN_LOCAL = {
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
#: Only the first compiler: a short job ends before the second one pays off. By default it has room for 48 MiB of code,
#: which some dozens of tables fill; after that nothing is compiled until the end of the job.
LEAN_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=160m -XX:+UseSerialGC -Xshare:auto"


def missing_settings(master: str, present: Mapping[str, str]) -> dict[str, str]:
    """Return the settings to add to ``present`` for a session on ``master``.

    Present settings are not replaced, except that Delta's extension is appended to a list of other extensions.
    """
    wanted = {**_DELTA, **(_LEAN_LOCAL if is_local(master) else {})}
    missing = {key: value for key, value in wanted.items() if key not in present}
    extensions = present.get(EXTENSIONS, "")
    if extensions and DELTA_EXTENSION not in extensions.split(","):
        missing[EXTENSIONS] = f"{extensions},{DELTA_EXTENSION}"
    return missing


def own_settings(master: str, delta_jars: str, present: Mapping[str, str], spark: str) -> dict[str, str]:
    """Return the settings to add to ``present`` for a session that is started here, not by spark-submit.

    :param delta_jars: ``packages``, ``provided``, or jars or Maven coordinates separated by commas
    :param present: settings from the platform's defaults
    :param spark: version of Spark
    :raises UnknownSparkError: if no release of Delta is known for it
    """
    wanted = {"spark.log.level": "ERROR"}
    if is_local(master):
        wanted["spark.driver.extraJavaOptions"] = LEAN_JAVA_OPTIONS
    settings = {key: value for key, value in wanted.items() if key not in present} | missing_settings(master, present)
    if delta_jars == PROVIDED or (delta_jars == PACKAGES and "io.delta:" in present.get(_SPARK_PACKAGES, "")):
        return settings
    paths, coordinates = split_jars(delta_coordinates(spark) if delta_jars == PACKAGES else delta_jars)
    for listed, more in ((_SPARK_JARS, paths), (_SPARK_PACKAGES, coordinates)):
        if more:
            settings[listed] = ",".join(filter(None, [present.get(listed, ""), *more]))
    return settings


_SETTING = re.compile(r"\s*([^\s=:#!][^\s=:]*)(?:\s*[=:]\s*|\s+)(.*)")
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*")


def parse_defaults(text: str) -> dict[str, str]:
    """Return the settings of a Spark defaults file, which is a Java properties file."""
    lines = _CONTINUED.sub(r"\1", text).splitlines()
    return {match[1]: match[2].strip() for match in map(_SETTING.fullmatch, lines) if match}


#: Another writer changed the metadata or protocol that the statement was planned with: plan again.
METADATA_CONFLICTS = frozenset({"DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED"})
#: Another writer changed only files: the same statement may run again.
FILE_CONFLICTS = frozenset(
    {
        "DELTA_CONCURRENT_APPEND",
        "DELTA_CONCURRENT_DELETE_DELETE",
        "DELTA_CONCURRENT_DELETE_READ",
        "DELTA_CONCURRENT_TRANSACTION",
        "DELTA_CONCURRENT_WRITE",
    }
)
