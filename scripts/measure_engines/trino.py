"""A server of Trino that this process starts, and its tables, which a server of S3 in this process has.

Trino reads no plain files before release 475, so that tables are copied to this store. Answers come by its HTTP API.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from scripts.measure_engines.store import BUCKET, KEY, fields_of, store

#: Folder in an environment that has the unpacked server.
SERVER = "trino"
#: The first release of Java that all measured releases of Trino accept.
_LEAST_JAVA = 24
#: Folder in which Linux installs releases of Java.
_INSTALLED = Path("/usr/lib/jvm")
_SECONDS_TO_START = 300
_CONFIG = """\
coordinator=true
node-scheduler.include-coordinator=true
http-server.http.port={port}
discovery.uri=http://127.0.0.1:{port}
query.max-memory=500MB
query.max-memory-per-node=400MB
"""
_CATALOG = f"""\
connector.name=delta_lake
hive.metastore=file
hive.metastore.catalog.dir=s3://{BUCKET}/metastore
fs.native-s3.enabled=true
s3.endpoint={{store}}
s3.region=us-east-1
s3.path-style-access=true
s3.aws-access-key={KEY}
s3.aws-secret-key={KEY}
delta.register-table-procedure.enabled=true
"""


class TrinoError(Exception):
    """An error of Trino: its name and message."""


def java() -> str:
    """Return the oldest Java of this machine that Trino accepts: in JAVA_HOME, PATH, or where Linux installs it."""
    homes = [Path(home) for home in filter(None, [os.environ.get("JAVA_HOME")])]
    if found := shutil.which("java"):
        homes.append(Path(found).resolve().parents[1])
    homes += sorted(_INSTALLED.glob("*"))
    known = {release: home for home in reversed(homes) if (release := _java_release(home)) >= _LEAST_JAVA}
    if not known:
        raise RuntimeError(f"Trino needs Java {_LEAST_JAVA} or later, in JAVA_HOME, PATH or {_INSTALLED}.")
    return str(known[min(known)] / "bin" / "java")


def _java_release(home: Path) -> int:
    try:
        said = home.joinpath("release").read_text(encoding="utf-8")
    except OSError:
        return 0
    found = re.search(r'^JAVA_VERSION="(\d+)', said, re.MULTILINE)
    return int(found[1]) if found else 0


def install(artifact: str, place: Path) -> None:
    """Download a server by Maven, and unpack it without the connectors that are not needed.

    :param artifact: Maven coordinates
    :param place: environment that gets it
    """
    name, version = artifact.split(":")[1:3]
    copied = place / "downloaded"
    options = [f"-Dmaven.repo.local={place / 'maven'}", f"-Dartifact={artifact}", f"-DoutputDirectory={copied}"]
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
    subprocess.run(["mvn", "--quiet", "--batch-mode", *options, goal], check=True)
    unpacked = place / f"{name}-{version}"
    subprocess.run(["tar", "xzf", str(copied / f"{name}-{version}.tar.gz"), "-C", str(place)], check=True)
    for plugin in unpacked.joinpath("plugin").iterdir():  # afterwards: plugins have hard links to files of others
        if plugin.name != "delta-lake":
            shutil.rmtree(plugin)
    unpacked.rename(place / SERVER)
    for needless in (copied, place / "maven"):
        shutil.rmtree(needless)


class Trino:
    """A running server; the program that started this process ends it too."""

    def __init__(self, home: Path) -> None:
        """Start it.

        :param home: unpacked server
        """
        self._store = store()
        self._tables: dict[str, tuple[str, str]] = {}
        self._address = self._start(home, self._store.address)
        self.query(f"CREATE SCHEMA delta.measured WITH (location = 's3://{BUCKET}/schema')")

    def _start(self, home: Path, store: str) -> str:
        port = _free_port()
        folder = home / "etc"
        folder.joinpath("catalog").mkdir(parents=True, exist_ok=True)
        folder.joinpath("config.properties").write_text(_CONFIG.format(port=port), encoding="utf-8")
        folder.joinpath("catalog", "delta.properties").write_text(_CATALOG.format(store=store), encoding="utf-8")
        options = ["-Xmx1500m", "--add-modules=jdk.incubator.vector", "--sun-misc-unsafe-memory-access=allow"]
        node = {"environment": "measured", "id": "measured", "data-dir": str(home / "data")}
        options += [f"-Dnode.{name}={value}" for name, value in node.items()]
        options += [f"-Dconfig={folder / 'config.properties'}", f"-Dplugin.dir={home / 'plugin'}"]
        with open(home / "log", "wb") as log:
            process = subprocess.Popen(
                [java(), *options, "-cp", str(home / "lib" / "*"), "io.trino.server.TrinoServer"],
                cwd=home,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        until = time.monotonic() + _SECONDS_TO_START
        address = f"http://127.0.0.1:{port}"
        while process.poll() is None and time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"{address}/v1/info") as answer:
                    if json.load(answer)["starting"] is False:
                        return address
            except OSError:
                pass
            time.sleep(0.5)
        raise RuntimeError(f"Trino did not start: see {home / 'log'}.")

    def query(self, statement: str) -> tuple[list[Any], list[list[Any]]]:
        """Run a statement; return columns, as the API describes them, and rows."""
        headers = {
            "X-Trino-User": "measured",
            "X-Trino-Time-Zone": "UTC",
            "X-Trino-Client-Capabilities": "PARAMETRIC_DATETIME",  # else timestamps are rounded to milliseconds
        }
        asked: Any = urllib.request.Request(f"{self._address}/v1/statement", statement.encode(), headers)
        columns: list[Any] = []
        rows: list[list[Any]] = []
        while asked:
            with urllib.request.urlopen(asked) as opened:
                answer = json.load(opened)
            if "error" in answer:
                raise TrinoError(f"{answer['error']['errorName']}: {answer['error']['message']}")
            columns = answer.get("columns") or columns
            rows += answer.get("data") or []
            asked = answer.get("nextUri")
        return columns, rows

    def table(self, path: str) -> str:
        """Return the name of a table, which is registered when it is first needed.

        :param path: local directory of the table
        """
        if path not in self._tables:
            prefix = self._store.copy(path)
            name = f"delta.measured.{prefix}"
            self.query(f"CALL delta.system.register_table('measured', '{prefix}', 's3://{BUCKET}/{prefix}')")
            self._tables[path] = name, prefix
        return self._tables[path][0]

    def commits(self, path: str) -> int:
        """Return the number of commits in the log of a registered table."""
        keys = self._store.keys(f"{self._tables[path][1]}/_delta_log/")
        return sum(key.rpartition("/")[2].removesuffix(".json").isdigit() for key in keys)


@cache
def started() -> Trino:
    """Return the server of this environment."""
    return Trino(Path(sys.prefix, SERVER))


def rows(path: str, where: str = "") -> list[dict[str, Any]]:
    """Return rows of a table as Python's values, with the names of columns as in its log.

    :param path: local directory of the table
    :param where: end of the statement
    """
    server = started()
    found, rows = server.query(f"SELECT * FROM {server.table(path)}{where}")
    names, readers = _names(path), [_reader(each["typeSignature"]) for each in found]
    keys = [names.get(each["name"], each["name"]) for each in found]
    return [{key: read(value) for key, read, value in zip(keys, readers, row, strict=True)} for row in rows]


def append(path: str, columns: list[str], literals: Iterable[str]) -> int:
    """Append a row; return the number of new commits."""
    server = started()
    name = server.table(path)
    before = server.commits(path)
    named = ", ".join(f'"{column}"' for column in columns)
    server.query(f"INSERT INTO {name} ({named}) VALUES ({', '.join(literals)})")
    return server.commits(path) - before


def _names(path: str) -> dict[str, str]:
    """Return the names of a table's columns by those of Trino, which are in lower case."""
    return {field["name"].lower(): field["name"] for field in fields_of(path)}


def _free_port() -> int:
    from socket import socket

    with socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def _reader(signature: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return a function that reads values of a type from JSON."""
    kind, parts = signature["rawType"], [each["value"] for each in signature["arguments"]]
    if kind == "array":
        element = _reader(parts[0])
        return lambda value: None if value is None else [element(each) for each in value]
    if kind == "map":
        of_keys, of_values = map(_reader, parts)
        return lambda value: None if value is None else {of_keys(k): of_values(v) for k, v in value.items()}
    if kind == "row":
        fields = [(each["fieldName"]["name"], _reader(each["typeSignature"])) for each in parts]
        return lambda value: (
            None if value is None else {name: of(each) for (name, of), each in zip(fields, value, strict=True)}
        )
    reader = _READERS.get(kind)
    return lambda value: value if value is None or reader is None else reader(value)


def _moment(text: str) -> datetime | str:
    """Return a timestamp; Python has none after the year 9999."""
    plain = text.removesuffix(" UTC")
    try:
        found = datetime.fromisoformat(plain)
    except ValueError:
        return text
    return found if plain == text else found.replace(tzinfo=timezone.utc)


#: Readers by the name of the type; values of other types stay as they are, also dates, which are strings.
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "double": float,
    "real": float,
    "decimal": Decimal,
    "varbinary": b64decode,
    "timestamp": _moment,
    "timestamp with time zone": _moment,
}
