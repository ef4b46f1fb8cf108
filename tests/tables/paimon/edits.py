"""Tables of the archive with some of their files edited: data files rewritten by PyArrow, manifests by fastavro.

Whoever edits a file calls :func:`mend` at the end, which puts the real sizes where they are recorded, from data files
up to snapshots: Paimon takes a file of another size for an empty one.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow
import pyarrow.parquet as parquet

from tests.tables.avro_files import avro_file

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class _AvroFile:
    path: Path
    schema: Any

    def write(self, records: list[dict[str, Any]]) -> None:
        self.path.write_bytes(avro_file(self.schema, records, "zstandard"))


def data_file(root: Path, prefix: str) -> Path:
    """Return the only data file whose name begins with ``data-`` and ``prefix``."""
    [found] = root.rglob(f"data-{prefix}*")
    return found


def edit_rows(root: Path, prefix: str, change: Callable[[Rows], None]) -> None:
    """Change the rows of a data file in place; its columns stay, and take null."""
    path = data_file(root, prefix)
    schema = pyarrow.schema([field.with_nullable(True) for field in parquet.ParquetFile(path).schema_arrow])
    rows = parquet.ParquetFile(path).read().to_pylist()
    change(rows)
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), path)


def edit_entry(root: Path, prefix: str, **fields: Any) -> None:
    """Change what manifests say of a data file, as ``row_count=4`` for ``_ROW_COUNT``."""

    def change(record: dict[str, Any]) -> None:
        if record["_FILE"]["_FILE_NAME"].startswith(f"data-{prefix}"):
            record["_FILE"] |= {f"_{name.upper()}": value for name, value in fields.items()}

    edit_entries(root, change)


def edit_entries(root: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change each entry of each manifest."""
    for file, records in _avro_files(root, "manifest-", "_FILE"):
        for record in records:
            change(record)
        file.write(records)


def forget_after(root: Path, snapshot_id: int, keep: Path | None = None) -> None:
    """Take later snapshots away: into ``keep``, from which :func:`bring_back` brings them."""
    for path in list((root / "snapshot").iterdir()):
        number = path.name.removeprefix("snapshot-")
        if number.isdigit() and int(number) > snapshot_id:
            if keep is not None:
                keep.mkdir(exist_ok=True)
                shutil.move(path, keep / path.name)
            else:
                path.unlink()
    (root / "snapshot" / "LATEST").write_text(str(snapshot_id))


def bring_back(root: Path, keep: Path) -> None:
    """Bring snapshots back."""
    numbers = []
    for path in list(keep.iterdir()):
        shutil.move(path, root / "snapshot" / path.name)
        numbers.append(int(path.name.removeprefix("snapshot-")))
    (root / "snapshot" / "LATEST").write_text(str(max(numbers)))


def mend(root: Path) -> None:
    """Record the sizes that files have, from data files up to snapshots."""
    sizes = {path.name: path.stat().st_size for path in root.rglob("data-*.parquet")}
    for file, records in _avro_files(root, "manifest-", "_FILE"):
        for record in records:
            entry = record["_FILE"]
            entry["_FILE_SIZE"] = sizes.get(entry["_FILE_NAME"], entry["_FILE_SIZE"])
        file.write(records)
    sizes = {path.name: path.stat().st_size for path in (root / "manifest").iterdir()}
    for file, records in _avro_files(root, "manifest-list-", "_FILE_NAME"):
        for record in records:
            record["_FILE_SIZE"] = sizes.get(record["_FILE_NAME"], record["_FILE_SIZE"])
        file.write(records)
    sizes = {path.name: path.stat().st_size for path in (root / "manifest").iterdir()}
    for path in (root / "snapshot").glob("snapshot-*"):
        body = json.loads(path.read_text())
        for name in ("baseManifestList", "deltaManifestList"):
            body[f"{name}Size"] = sizes[body[name]]
        path.write_text(json.dumps(body))


def _avro_files(root: Path, prefix: str, field: str) -> Iterator[tuple[_AvroFile, list[dict[str, Any]]]]:
    """Yield the Avro files of a prefix whose records have a field."""
    for path in sorted((root / "manifest").glob(f"{prefix}*")):
        reader = fastavro.reader(io.BytesIO(path.read_bytes()))
        schema: Any = reader.writer_schema
        if field in {one["name"] for one in schema["fields"]}:
            yield _AvroFile(path, schema), [dict(record) for record in reader if isinstance(record, dict)]
