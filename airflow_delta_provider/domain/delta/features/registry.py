"""All table features by their names. A new one is a new record in a module of this folder; nothing else lists it."""

from __future__ import annotations

import re

from airflow_delta_provider.domain.delta.features import (
    column_mapping,
    columns,
    commits,
    data_files,
    log,
    owners,
    row_tracking,
    types,
)
from airflow_delta_provider.domain.delta.features.feature import Feature, FeatureKind

#: In the order in which one is named where several would do: a stable feature before its preview. A module imports
#: features of the ones before it only.
FEATURES: dict[str, Feature] = {
    feature.name: feature
    for module in (columns, commits, column_mapping, row_tracking, data_files, types, log, owners)
    for feature in vars(module).values()
    if isinstance(feature, Feature)
}
_BY_FOLDED_NAME = {feature.name.casefold(): feature for feature in FEATURES.values()}

#: Features whose tables are read and written through a catalog, not through their directory.
CATALOG_MANAGED = frozenset(feature.name for feature in FEATURES.values() if feature.catalog_managed)
#: Properties that writers keep for themselves; setting one directly breaks the table.
WRITER_OWNED_PROPERTIES = tuple(name for feature in FEATURES.values() for name in feature.writer_owned)


def feature_named(name: str) -> Feature:
    """Return the feature of that name, in any case; a name that is not listed is an unknown feature."""
    return _BY_FOLDED_NAME.get(name.casefold()) or Feature.unknown(name)


def feature_meant_by(name: str) -> Feature:
    """Return the feature that a writer means which lists ``name``: like :func:`feature_named`, aliases included."""
    return next((feature for feature in FEATURES.values() if feature.is_alias(name)), None) or feature_named(name)


def with_requirements(names: frozenset[str]) -> frozenset[str]:
    """Return ``names`` with all that they require, directly or not."""
    closed = set(names)
    pending = list(names)
    while pending:
        for required in feature_named(pending.pop()).all_required:
            if required.name not in closed:
                closed.add(required.name)
                pending.append(required.name)
    return frozenset(closed)


def dependents(feature: str, present: frozenset[str]) -> tuple[str, ...]:
    """Return those features of ``present`` that require ``feature``, sorted."""
    return tuple(
        sorted(
            name
            for name in present & FEATURES.keys()
            if any(required.name == feature for required in FEATURES[name].all_required)
        )
    )


_FEATURE = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*")
#: How alike a mistyped name and its own are.
_ALIKE = 0.85
#: What distinguishes a future feature from the one that it follows: its number, or a stage.
_EDITION = re.compile(r"v?\d+$|-[a-z0-9]+$", re.IGNORECASE)


def is_feature_name(name: str) -> bool:
    """Whether a table feature could be called so."""
    return _FEATURE.fullmatch(name) is not None


def is_unknown(feature: str) -> bool:
    """Whether this package does not know a table feature of this name; an engine may."""
    return feature_named(feature).kind is FeatureKind.UNKNOWN


def meant_by(name: str) -> str | None:
    """Return the feature whose name was mistyped; None for a name of its own, which an engine may know."""
    from difflib import SequenceMatcher  # late: few names are mistyped

    folded = name.casefold()
    if not is_unknown(name):
        return None
    for known in FEATURES:
        other = known.casefold()
        if _EDITION.sub("", folded) == _EDITION.sub("", other):
            return None
        if SequenceMatcher(None, folded, other).ratio() >= _ALIKE:
            return known
    return None
