"""The table properties that a spec can set.

Properties with a spec key of their own, and properties that writers maintain, cannot be set.
"""

from __future__ import annotations

import difflib

from airflow_delta_provider.domain.delta.features.feature import SUPPORT_PREFIX
from airflow_delta_provider.domain.delta.features.registry import FEATURES, WRITER_OWNED_PROPERTIES
from airflow_delta_provider.domain.delta.property_values import FORMS
from airflow_delta_provider.domain.delta.table_properties import (
    CHECKPOINT_POLICY,
    COLUMN_MAPPING_MODE,
    CONSTRAINT_PREFIX,
    RESERVED_PROPERTIES,
    STATISTICS_COLUMNS,
)

_OWNED = {name.casefold() for name in WRITER_OWNED_PROPERTIES}
_VERSIONS = {"delta.minreaderversion", "delta.minwriterversion"}
_KNOWN = {
    name.casefold(): name
    for name in (
        *FORMS,
        *filter(None, (feature.enabling_property for feature in FEATURES.values())),
        CHECKPOINT_POLICY,
        COLUMN_MAPPING_MODE,
        STATISTICS_COLUMNS,
    )
}
#: Minimum similarity of a mistyped name and the known one (:func:`difflib.get_close_matches`).
_ALIKE = 0.9


def why_not_settable(name: str) -> str | None:
    """Return why a spec cannot set a property, with the alternative; None if it can."""
    folded = name.casefold()
    if name in RESERVED_PROPERTIES:
        return f"SQL does not store {name} as a property: {RESERVED_PROPERTIES[name]}"
    if folded in _OWNED:
        return f"writers maintain {name} themselves, and setting it damages the table"
    if folded.startswith(SUPPORT_PREFIX):
        return f"{name} adds a feature. List {name[len(SUPPORT_PREFIX) :]!r} under features"
    if folded in _VERSIONS:
        return f"{name} follows from the features. List those under features"
    if folded.startswith(CONSTRAINT_PREFIX):
        return f"{name} is a CHECK constraint. Write {name[len(CONSTRAINT_PREFIX) :]!r} under constraints"
    if folded.startswith("delta.") and folded not in _KNOWN and (meant := _meant(folded)):
        return f"there is no property {name!r}. Did you mean {meant!r}?"
    return None


def _meant(folded: str) -> str | None:
    """Return the property whose name was mistyped; None if there is none.

    A name that differs from a known one only by a trailing number is not a typing error.
    """
    near = difflib.get_close_matches(folded, _KNOWN, n=1, cutoff=_ALIKE)
    if not near or near[0].rstrip("0123456789") == folded.rstrip("0123456789"):
        return None
    return _KNOWN[near[0]]
