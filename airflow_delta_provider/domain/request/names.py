"""Options that list names."""

from __future__ import annotations

import difflib
import re
from typing import Any, ClassVar

from airflow_delta_provider.domain.delta.features.feature import FeatureKind
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_named
from airflow_delta_provider.domain.request import rendered
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.value import Value
from airflow_delta_provider.domain.suggestion import did_you_mean


class Names(Value):
    """A list of names, each once."""

    default: ClassVar[tuple[str, ...]] = ()
    repeatable: ClassVar[bool] = True

    def checked(self, option: str, value: Any) -> tuple[str, ...]:
        """Return the names, each once, in their order."""
        if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) and name for name in value):
            raise RequestError("{option} has to be a list of names, not {value!r}.", option=option, value=value)
        return tuple(dict.fromkeys(value))

    def from_template(self, option: str, value: Any) -> Any:
        """Return the list; a text is read as one if it is written as one, else it is the only name."""
        return tuple(rendered.as_list(option, value or ()))


class DistinctNames(Names):
    """A list of names in which none may be repeated, since the last one would then do something else."""

    def checked(self, option: str, value: Any) -> tuple[str, ...]:
        """Return the names, in their order."""
        names = super().checked(option, value)
        for name in names:
            if list(value).count(name) > 1:
                raise RequestError("{option} names {name!r} more than once. Name it once.", option=option, name=name)
        return names


_FEATURE = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*")
#: How alike a mistyped name and its own are.
_ALIKE = 0.85
#: What distinguishes a future feature from the one that it follows: its number, or a stage.
_EDITION = re.compile(r"v?\d+$|-[a-z0-9]+$", re.IGNORECASE)


class FeatureNames(Names):
    """A list of names of table features, of which an engine may know more than this package."""

    def check_names(self, option: str, value: Any) -> None:
        """Refuse what cannot be the name of a feature, and what is likely a mistyped one."""
        for name in value:
            if not _FEATURE.fullmatch(name):
                raise RequestError(
                    "{option} has {name!r}, which is not the name of a table feature, such as 'typeWidening'.{hint}",
                    option=option,
                    name=name,
                    hint=did_you_mean(name.rpartition(".")[2], FEATURES),
                )
            if is_unknown(name) and (meant := _meant(name)):
                raise RequestError(
                    "There is no table feature {name!r}. Did you mean {meant!r}?", option=option, name=name, meant=meant
                )


def is_unknown(feature: str) -> bool:
    """Whether this package does not know a table feature of this name; an engine may."""
    return feature_named(feature).kind is FeatureKind.UNKNOWN


def _meant(name: str) -> str | None:
    """Return the feature whose name was mistyped; None for a name of its own, which an engine may know."""
    folded = name.casefold()
    for known in FEATURES:
        other = known.casefold()
        if _EDITION.sub("", folded) == _EDITION.sub("", other):
            return None
        if difflib.SequenceMatcher(None, folded, other).ratio() >= _ALIKE:
            return known
    return None
