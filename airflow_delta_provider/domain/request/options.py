"""What a job may be asked for, one dataclass a kind, with the checks that need no table.

The operators, the command line and the wire format share these; ``OPTIONS`` maps a kind to its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

from airflow_delta_provider.domain.suggestion import did_you_mean


class RequestError(ValueError):
    """A request that is wrong whatever the table; the message names the argument and the remedy."""


@dataclass(frozen=True)
class EnableFeatureOptions:
    """Enable table features.

    :param features: names as in the protocol, in any case
    :param properties: further table properties to set in the same commit
    :param allow_protocol_upgrade: allow what locks older readers and writers out
    :param allow_special: allow previews, ``catalogManaged``, ``checkpointProtection``, ``icebergCompat*``
    """

    kind: ClassVar[str] = "enable-feature"

    features: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    allow_protocol_upgrade: bool = False
    allow_special: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", _names("features", self.features))
        object.__setattr__(self, "properties", _properties(self.properties))
        _check_flags(self, "allow_protocol_upgrade", "allow_special")
        if not self.features:
            raise RequestError("features is empty. Name at least one table feature, for instance 'typeWidening'.")


@dataclass(frozen=True)
class WidenTypesOptions:
    """Widen the types of columns.

    :param columns: new SQL type by column path
    :param enable_type_widening: set ``delta.enableTypeWidening`` first where it is off
    :param allow_protocol_upgrade: allow the features that this needs to be added to the protocol
    :param verify: ``data`` compares the widened columns before and after, ``log`` reads the log only
    """

    kind: ClassVar[str] = "widen-types"

    columns: Mapping[str, str] = field(default_factory=dict)
    enable_type_widening: bool = False
    allow_protocol_upgrade: bool = False
    verify: str = "data"

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise RequestError("columns has to map column paths to types, for instance {'quantity': 'bigint'}.")
        for path, data_type in self.columns.items():
            if not (isinstance(path, str) and isinstance(data_type, str) and path and data_type):
                raise RequestError(f"columns has {path!r}: {data_type!r}; both have to be texts that are not empty.")
        object.__setattr__(self, "columns", dict(self.columns))
        _check_flags(self, "enable_type_widening", "allow_protocol_upgrade")
        if not self.columns:
            raise RequestError("columns is empty. Name at least one column with its new type.")
        if self.verify not in ("data", "log"):
            raise RequestError(f"verify is {self.verify!r}; it has to be 'data' or 'log'.")


Options = EnableFeatureOptions | WidenTypesOptions

OPTIONS: dict[str, type[Options]] = {options.kind: options for options in (EnableFeatureOptions, WidenTypesOptions)}


def options_to_json(options: Options) -> dict[str, Any]:
    """Return the wire form."""
    return asdict(options)


def options_from_json(kind: str, wire: Mapping[str, Any]) -> Options:
    """Read the wire form.

    :raises RequestError: on an unknown kind or option
    """
    if kind not in OPTIONS:
        raise RequestError(f"There is no job kind {kind!r}.{did_you_mean(kind, OPTIONS)} Kinds: {', '.join(OPTIONS)}.")
    options = OPTIONS[kind]
    known = [option.name for option in fields(options)]
    for name in wire:
        if name not in known:
            raise RequestError(f"{kind} has no option {name!r}.{did_you_mean(name, known)}")
    return options(**wire)


def _names(argument: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) and name for name in value):
        raise RequestError(f"{argument} has to be a list of names, not {value!r}.")
    return tuple(dict.fromkeys(value))


def _properties(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise RequestError(f"properties has to map names to values, not {value!r}.")
    texts = {}
    for key, setting in value.items():
        if not isinstance(key, str) or not key or not isinstance(setting, (str, bool, int, float)):
            raise RequestError(
                f"properties has {key!r}: {setting!r}; names are texts, values texts, numbers or booleans."
            )
        texts[key] = str(setting).lower() if isinstance(setting, bool) else str(setting)
    return texts


def _check_flags(options: Any, *names: str) -> None:
    for name in names:
        if not isinstance(getattr(options, name), bool):
            raise RequestError(f"{name} is {getattr(options, name)!r}; it has to be True or False.")
