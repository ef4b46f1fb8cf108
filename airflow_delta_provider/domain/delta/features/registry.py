"""All table features by name.

A new one is a new record in a module of this folder; nothing else lists it.
"""

from __future__ import annotations

import re

from airflow_delta_provider.domain.delta.features import columns, log, owners
from airflow_delta_provider.domain.delta.features.feature import Feature, FeatureKind

#: In order of preference if several features would do: a stable feature before its preview.
FEATURES: dict[str, Feature] = {
    feature.name: feature
    for module in (columns, log, owners)
    for feature in vars(module).values()
    if isinstance(feature, Feature)
}
_BY_FOLDED_NAME = {feature.name.casefold(): feature for feature in FEATURES.values()}

#: Features whose tables are read and written through a catalog, not through their directory.
CATALOG_MANAGED = frozenset(feature.name for feature in FEATURES.values() if feature.catalog_managed)
#: Properties that only writers may set; setting one directly breaks the table.
WRITER_OWNED_PROPERTIES = tuple(name for feature in FEATURES.values() for name in feature.writer_owned)


def feature_named(name: str) -> Feature:
    """Return the feature with that name, in any case; for an unlisted name, an unknown feature."""
    return _BY_FOLDED_NAME.get(name.casefold()) or Feature.unknown(name)


def feature_meant_by(name: str) -> Feature:
    """Return the feature that a writer lists as ``name``. Like :func:`feature_named`, but aliases count."""
    return next((feature for feature in FEATURES.values() if feature.is_alias(name)), None) or feature_named(name)


def with_requirements(names: frozenset[str]) -> frozenset[str]:
    """Return ``names`` with all features that they require, directly or not."""
    closed = set(names)
    pending = list(names)
    while pending:
        for required in feature_named(pending.pop()).all_required:
            if required.name not in closed:
                closed.add(required.name)
                pending.append(required.name)
    return frozenset(closed)


def dependents(feature: str, present: frozenset[str]) -> tuple[str, ...]:
    """Return the features of ``present`` that require ``feature``, sorted."""
    return tuple(
        sorted(
            name
            for name in present & FEATURES.keys()
            if any(required.name == feature for required in FEATURES[name].all_required)
        )
    )


_FEATURE = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*")
#: Minimum similarity of a mistyped name and the correct one.
_ALIKE = 0.85
#: Suffix that distinguishes a future feature from its predecessor: its number, or a stage.
_EDITION = re.compile(r"v?\d+$|-[a-z0-9]+$", re.IGNORECASE)


def is_feature_name(name: str) -> bool:
    """Return True if ``name`` has the form of a table feature's name."""
    return _FEATURE.fullmatch(name) is not None


def is_unknown(feature: str) -> bool:
    """Return True if this package does not know the table feature; an engine may know it."""
    return feature_named(feature).kind is FeatureKind.UNKNOWN


def meant_by(name: str) -> str | None:
    """Return the feature whose name was mistyped; None if the name may be a feature that an engine knows."""
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
