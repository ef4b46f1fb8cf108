"""Options that list names."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow_delta_provider.domain.delta.features.registry import FEATURES, is_feature_name, meant_by
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


class FeatureNames(Names):
    """A list of names of table features, of which an engine may know more than this package."""

    def check_names(self, option: str, value: Any) -> None:
        """Refuse what cannot be the name of a feature, and what is likely a mistyped one."""
        for name in value:
            if not is_feature_name(name):
                raise RequestError(
                    "{option} has {name!r}, which is not the name of a table feature, such as 'typeWidening'.{hint}",
                    option=option,
                    name=name,
                    hint=did_you_mean(name.rpartition(".")[2], FEATURES),
                )
            if meant := meant_by(name):
                raise RequestError(
                    "There is no table feature {name!r}. Did you mean {meant!r}?", option=option, name=name, meant=meant
                )
