"""Names of table features that this package does not know: new ones, and mistyped ones."""

from __future__ import annotations

import re

from airflow_delta_provider.domain.delta.features.feature import FeatureKind
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_named

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
