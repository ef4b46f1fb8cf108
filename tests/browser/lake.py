"""The tables that the browser is shown."""

from __future__ import annotations

from pathlib import Path

from tests.unit.local_table import OnDisk
from tests.unit.log_builder import WIDENING, Table
from tests.unit.mapped_tables import MODE
from tests.unit.states import field

COLUMN = "<script>document.title='run'</script>"


def make_lake(lake: Path) -> None:
    """Make the logs of tables: one with a history and two violations, one sound, one with a malicious name."""
    orders = Table(
        field("id", "integer"),
        field("amount", "decimal(10,2)"),
        field("market", "string"),
        field("note", "string"),
        features=["columnMapping"],
        properties={MODE: "name"},
    )
    orders.append().support("typeWidening", delta__enableTypeWidening="true").append().widen("id", "long").append(2)
    orders.rename_column("market", "store").append().add_column(field("fax", "string")).append().drop_column("fax")
    orders.append().append()
    broken = orders.version
    orders.append().append()
    metadata = {"metaData": orders.state(broken).metadata}
    orders.commits[broken].extend([metadata, metadata])
    OnDisk(lake / "orders", orders)
    OnDisk(lake / "returns", Table(field("id", "long")).append().append())
    nasty = Table(field("id", "integer"), properties={WIDENING: "true"}, features=["typeWidening"]).append()
    OnDisk(lake / "nasty", nasty.add_column(field(COLUMN, "string")).append())
