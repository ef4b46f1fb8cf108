"""The Python client of Delta Sharing, and a server in this process that answers it.

The reference server signs URLs of cloud providers only: its client of S3 does not know the endpoint that Hadoop's
configuration names. So a server of this module answers, by the rules of the reference server 1.3.9: it reads the log
by the same release of Delta Kernel, refuses the same tables, and signs URLs of the S3 server in this process.

The client has no predicates for rows, so predicates are applied to all rows that it returns.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from decimal import Context, Decimal
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.parse import unquote

from scripts.measure_engines import java_kernel
from scripts.measure_engines.store import fields_of, store

_CAPABILITIES = "delta-sharing-capabilities"
#: Properties that the server accepts without a feature of the client only if they are unset or have this value.
_PLAIN = {
    "delta.columnMapping.mode": ("columnmapping", "none"),
    "delta.enableDeletionVectors": ("deletionvectors", "false"),
}
#: Types of columns that the server cannot describe in format ``parquet``: it reads schemas by Spark 2.4.
_UNKNOWN = ("timestamp_ntz", "variant", "void")
_WHOLE, _FLOATING = ("byte", "short", "integer", "long"), ("float", "double")
#: For decimals of 38 digits, of any scale.
_EXACT = Context(prec=76)


class SharingError(Exception):
    """A request that the server refuses, with its reason."""


class Sharing:
    """A running server, and the profile file that the client needs."""

    def __init__(self) -> None:
        """Start it."""
        self.prefixes: dict[str, str] = {}
        self.paths: dict[str, str] = {}
        self.refusal = ""
        self.lock = Lock()  # the gateway of Java has one connection
        sharing = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(with_files=False)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self._answer(with_files=True)

            def _answer(self, *, with_files: bool) -> None:
                asked = self.headers.get(_CAPABILITIES, "").lower()
                capabilities = dict(each.split("=", 1) for each in asked.split(";") if "=" in each)
                try:
                    with sharing.lock:
                        version, form, lines = sharing.answer(self.path.split("/")[-2], capabilities, with_files)
                    status, body = 200, "".join(f"{json.dumps(line)}\n" for line in lines)
                    headers = {"Delta-Table-Version": str(version), _CAPABILITIES: f"responseformat={form}"}
                except Exception as error:  # 400 also for faults of the server: the client repeats others for 100 s
                    sharing.refusal = str(error)
                    status, headers, body = 400, {}, "{}"
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body.encode()))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format: str, *args: Any) -> None:
                del format, args

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, daemon=True).start()
        self._profile = Path(tempfile.mkdtemp(), "profile.share")
        endpoint = f"http://127.0.0.1:{server.server_address[1]}/delta-sharing/"
        profile = {"shareCredentialsVersion": 1, "endpoint": endpoint, "bearerToken": ""}
        self._profile.write_text(json.dumps(profile), encoding="utf-8")

    def table(self, path: str) -> str:
        """Return the URL of a table, which is shared when it is first needed."""
        if path not in self.prefixes:
            prefix = store().copy(path)
            self.prefixes[path], self.paths[prefix] = prefix, path
        return f"{self._profile}#measured.measured.{self.prefixes[path]}"

    def answer(
        self, table: str, capabilities: Mapping[str, str], with_files: bool
    ) -> tuple[int, str, list[dict[str, Any]]]:
        """Return the version of a table, the format of the answer, and its lines.

        :raises SharingError: if the reference server refuses the table
        """
        version, protocol, metadata, files = java_kernel.log_entries(self.paths[table])
        features = set(filter(None, capabilities.get("readerfeatures", "").split(",")))
        for name, (feature, plain) in _PLAIN.items():
            if feature not in features and metadata["configuration"].get(name, plain) != plain:
                raise SharingError("Unsupported Delta Table Properties")
        if not features:
            protocol = {"minReaderVersion": 1, "minWriterVersion": min(protocol["minWriterVersion"], 2)}
        formats = set(capabilities.get("responseformat", "parquet").split(","))
        if len(formats) > 1:
            formats = {"parquet" if protocol["minReaderVersion"] == 1 else "delta"}
        (form,) = formats
        lines = [_first_lines_delta, _first_lines_parquet][form == "parquet"](protocol, metadata)
        for file in files if with_files else ():
            lines.append(self._file(table, file, form, features))
        return version, form, lines

    def _file(self, table: str, file: Mapping[str, Any], form: str, features: set[str]) -> dict[str, Any]:
        key = f"{table}/{unquote(file['path'])}"
        url, vector = store().signed(key), file.get("deletionVector")
        if vector:
            if "deletionvectors" not in features:
                raise SharingError("Deletion Vector property disabled")
            name = java_kernel.vector_file(vector)
            vector = {**vector, "storageType": "p", "pathOrInlineDv": store().signed(f"{table}/{name}")}
            vector = {key: value for key, value in vector.items() if value is not None}
        more = {"partitionValues": file["partitionValues"], "size": file["size"], "stats": file.get("stats")}
        described = {"id": key, "expirationTimestamp": 2**42}
        if form == "parquet":
            return {"file": {**described, "url": url, **more}}
        add = {"path": url, "modificationTime": file["modificationTime"], "dataChange": file["dataChange"], **more}
        if vector:
            add["deletionVector"] = vector
        return {"file": {**described, "deltaSingleAction": {"add": add}}}


def _first_lines_delta(protocol: dict[str, Any], metadata: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"protocol": {"deltaProtocol": protocol}}, {"metaData": {"deltaMetadata": metadata}}]


def _first_lines_parquet(protocol: dict[str, Any], metadata: dict[str, Any]) -> list[dict[str, Any]]:
    schema = json.loads(metadata["schemaString"])
    for field in schema["fields"]:
        field["metadata"] = {}
        for kind in _UNKNOWN:
            if f'"{kind}"' in json.dumps(field["type"]):
                raise SharingError(f"Spark 2.4 does not know the type {kind}")
    listed = {"schemaString": json.dumps(schema), "partitionColumns": metadata["partitionColumns"]}
    plain = {"id": metadata["id"], "format": {"provider": "parquet"}, **listed, "configuration": {}}
    return [{"protocol": {"minReaderVersion": protocol["minReaderVersion"]}}, {"metaData": plain}]


@cache
def _started() -> Sharing:
    return Sharing()


@cache
def _all_rows(path: str, delta: bool | None) -> tuple[dict[str, Any], ...]:
    """Return the rows that the client gives for a table, with the values that pandas shows for NULL as None.

    :param delta: True to ask for format ``delta``, False for ``parquet``, None to let the client choose
    """
    import delta_sharing
    from requests import HTTPError

    try:
        frame = delta_sharing.load_as_pandas(_started().table(path), use_delta_format=delta)
    except HTTPError as error:
        raise SharingError(_started().refusal) from error
    types = {field["name"]: field["type"] for field in fields_of(path)}
    columns = {name: [_value(value, types.get(name)) for value in frame[name]] for name in frame.columns}
    return tuple(dict(zip(columns, row)) for row in zip(*columns.values(), strict=True))


def _value(value: Any, kind: Any) -> Any:
    """Return a value of a column as Python has it.

    Equal numbers in another type of Python count as the same.

    :param kind: type by the table's schema
    """
    if isinstance(kind, Mapping):
        return _nested(value, kind)
    if type(value).__name__ == "datetime64":  # in arrays and structs
        from pandas import Timestamp

        value = Timestamp(value)
    with suppress(AttributeError):
        value = value.item()  # a number of numpy
    if value is None or str(value) in ("NaT", "<NA>"):
        return None
    if isinstance(value, float) and kind not in _FLOATING and math.isnan(value):
        return None
    if isinstance(value, float) and kind in _WHOLE and value.is_integer():
        return int(value)
    if kind == "timestamp" and isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=timezone.utc)  # INT96 has no zone
    if kind.startswith("decimal") and isinstance(value, (int, Decimal)):
        exact = Decimal(value).quantize(Decimal(1).scaleb(-int(kind.rstrip(")").partition(",")[2])), context=_EXACT)
        return exact if exact == value else value
    return value


def _nested(value: Any, kind: Mapping[str, Any]) -> Any:
    if value is None or isinstance(value, float):
        return None  # pandas shows NaN for NULL
    if kind["type"] == "struct":
        return {field["name"]: _value(value.get(field["name"]), field["type"]) for field in kind["fields"]}
    if kind["type"] == "map":
        pairs = value.items() if isinstance(value, Mapping) else value
        return {_value(key, kind["keyType"]): _value(each, kind["valueType"]) for key, each in pairs}
    return [_value(each, kind["elementType"]) for each in value]


def _reader(delta: bool | None) -> Callable[[str, Any], Iterable[Mapping[str, Any]]]:
    def rows(path: str, predicate: Any) -> Iterable[dict[str, Any]]:
        found = _all_rows(path, delta)
        if not predicate:
            return found
        name, comparison, value = predicate
        (kind,) = (field["type"] for field in fields_of(path) if field["name"] == name)
        wanted = java_kernel.python_value(value, kind)
        return [row for row in found if java_kernel.meets(row[name], comparison, wanted)]

    return rows


#: Ways to read a table in full or by a predicate: as the client chooses, and by each format of the answer.
READERS = {"read": _reader(None), "parquet": _reader(False), "delta": _reader(True)}
