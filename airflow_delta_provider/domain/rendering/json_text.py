"""A report as JSON: its wire form."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.report.report import JobReport, TableReport

#: End of a report without tables.
_NO_TABLES = '"tables": []\n}'
#: Maximum number of characters of a part of the text.
_PART = 1 << 16
_TABLES, _END = '"tables": [\n', "\n ]\n}\n"


def render(report: JobReport, presentation: Presentation | None = None) -> str:  # noqa: ARG001 - as every format
    """Return the report in the form that its schema describes."""
    return _json(report.to_json()) + "\n"


class JsonTables:
    """The tables of a report that is built table by table.

    A report begins with its verdict, which is known last. So its tables are kept compressed until then, in a twentieth
    of the space for many tables.
    """

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(level=1)
        self._blocks: list[bytes] = []
        self._any = False

    def add(self, table: TableReport) -> None:
        """Add the next table."""
        lines = _json(table.to_json()).replace("\n", "\n  ")
        block = self._compressor.compress(f"{',' + chr(10) if self._any else ''}  {lines}".encode())
        self._any = True
        if block:
            self._blocks.append(block)

    def text(self, report: JobReport) -> Iterator[str]:
        """Yield the text of the whole report, in parts.

        :param report: report with the same tables; only their verdicts are used
        """
        head = _json(replace(report, tables=()).to_json() | {"verdict": report.verdict.value})
        if not self._any:
            yield f"{head}\n"
            return
        yield f"{head.removesuffix(_NO_TABLES)}{_TABLES}"
        decompressor = zlib.decompressobj()
        for block in (*self._blocks, self._compressor.copy().flush()):
            while block:
                yield decompressor.decompress(block, _PART).decode("ascii")
                block = decompressor.unconsumed_tail
        yield _END


def _json(value: Any) -> str:
    """Return JSON in ASCII. Its lines begin with quotes, and no CI finds its ``##[command]`` in it."""
    return json.dumps(value, indent=1).replace("##", "#\\u0023")
