"""Damages of the usage tracking of column mapping: codes UT."""

from __future__ import annotations

from tests.unit.damages.case import KEPT, UNDO, Case
from tests.unit.damages.edits import column, configured
from tests.unit.damages.histories import DROPPED, USAGE, mapped, mapped_late, tracking_usage, tracking_usage_empty, used
from tests.unit.damages.steps import add_column, set_property
from tests.unit.mapped_tables import MODE, NAME

CASES = (
    Case(
        "UT01",
        mapped,
        lambda t: t.support(USAGE, **{DROPPED: "true"}),
        configured(**{DROPPED: None}),
        MODE,
        healed_by=UNDO,
    ),
    Case("UT02", mapped, set_property, configured(**{DROPPED: "false"}), "hasDropped", healed_by=KEPT),
    Case(
        "UT03",
        tracking_usage,
        add_column,
        column("extra", metadata={NAME: "elsewhere"}),
        "schemaString",
        column="extra",
        healed_by=KEPT,
    ),
    Case("UT04", used, set_property, configured(**{DROPPED: "false"}), "hasDropped", healed_by=KEPT),
    Case(
        "UT04",
        used,
        lambda t: t.overwrite(t.schema),
        configured(**{DROPPED: "false"}),
        "hasDropped",
        healed_by=KEPT,
        name="overwritten",
    ),
    Case(
        "UT05",
        mapped_late,
        lambda t: t.support(USAGE, **{DROPPED: "true"}),
        configured(**{DROPPED: "false"}),
        "hasDropped",
        healed_by=UNDO,
    ),
    Case(
        "UT06",
        tracking_usage,
        lambda t: t.drop_column("v", **{DROPPED: "true"}),
        configured(**{DROPPED: "false"}),
        "hasDropped",
        column="v",
        healed_by=KEPT,
    ),
    Case(
        "UT04",
        lambda: used().delete_all(),
        set_property,
        configured(**{DROPPED: "false"}),
        "hasDropped",
        healed_by=KEPT,
        name="without files",
    ),
    Case(
        "UT05",
        lambda: mapped_late().delete_all(),
        lambda t: t.support(USAGE, **{DROPPED: "true"}),
        configured(**{DROPPED: "false"}),
        "hasDropped",
        healed_by=UNDO,
        name="without files",
    ),
    Case(
        "UT06",
        tracking_usage_empty,
        lambda t: t.drop_column("v", **{DROPPED: "true"}),
        configured(**{DROPPED: "false"}),
        "hasDropped",
        column="v",
        healed_by=KEPT,
        name="without files",
    ),
    Case(
        "UT07",
        lambda: used().delete_all(),
        add_column,
        column("extra", metadata={NAME: "extra"}),
        "schemaString",
        column="extra",
        name="without files",
    ),
    Case(
        "UT07",
        used,
        add_column,
        column("extra", metadata={NAME: "extra"}),
        "schemaString",
        column="extra",
    ),
)
