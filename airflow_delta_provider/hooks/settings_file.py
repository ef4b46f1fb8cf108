"""Spark's settings in a file, not in arguments: everybody on the machine can read a process' arguments."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from airflow_delta_provider.domain.engine.secret_settings import REDACTION_REGEX, is_secret
from airflow_delta_provider.domain.engine.session_profile import parse_defaults
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.hooks.masked_command import hide_secrets
from airflow_delta_provider.hooks.spark_installation import NoSparkError, configuration_folder, spark_version

log = logging.getLogger(__name__)

#: First major version of Spark that can read both its defaults and a properties file.
_LOADS_DEFAULTS = 4
_REDACTION = "spark.redaction.regex"
#: Options of spark-submit whose values may contain a password, and the equivalent settings.
_AS_SETTINGS = {"--repositories": "spark.jars.repositories"}
_ESCAPED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
_SPECIAL = re.compile(r"[\\\n\r\t\f]|[^\x20-\x7e]")


def take_settings(arguments: Iterable[str]) -> tuple[list[str], dict[str, str], str | None]:
    """Take the settings out of arguments of spark-submit.

    :return: the other arguments, the settings, and the properties file that was named
    """
    rest: list[str] = []
    settings: dict[str, str] = {}
    named: str | None = None
    words = iter(arguments)
    for word in words:
        if word == "--conf":
            name, _, value = next(words).partition("=")
            settings[name] = value
        elif word == "--properties-file":
            named = next(words)
        elif word in _AS_SETTINGS:
            settings[_AS_SETTINGS[word]] = next(words)
        else:
            rest.append(word)
    return rest, settings, named


def settings_options(
    name: str,
    settings: Mapping[str, str],
    named: str | None,
    binary: str,
    environment: Mapping[str, str],
    keep: Callable[[str, str], Path],
) -> list[str]:
    """Return options that make spark-submit read settings from a file; none if there is nothing to set.

    :param name: name of the file
    :param keep: function that writes a file that nobody else can read
    """
    if not settings and named is None:
        return []
    file = SettingsFile(settings, named, binary, environment)
    hide_secrets(file.settings)
    options = ["--properties-file", str(keep(name, file.text()))]
    if not file.is_whole:
        if _loads_defaults(binary, environment):
            options.append("--load-spark-defaults")
        else:
            log.warning(
                "spark-defaults.conf is not read: its folder does not follow from %s. Set SPARK_HOME or "
                "SPARK_CONF_DIR on the worker if there is one.",
                binary,
            )
    return options


def _loads_defaults(binary: str, environment: Mapping[str, str]) -> bool:
    """Return True if spark-submit can read ``spark-defaults.conf`` in addition to a properties file."""
    try:
        return int(spark_version(binary, environment).partition(".")[0]) >= _LOADS_DEFAULTS
    except NoSparkError:
        return False


class SettingsFile:
    """A properties file for spark-submit: the settings without it, overridden by the given settings.

    With a properties file, Spark does not read ``spark-defaults.conf``, so its text is copied.

    :param settings: settings that take precedence
    :param named: the user's own properties file, used instead of ``spark-defaults.conf``
    :raises DeltaRequestError: if the user's file cannot be read
    """

    def __init__(
        self, settings: Mapping[str, str], named: str | None, binary: str, environment: Mapping[str, str]
    ) -> None:
        self._base = _read_named(named) if named else _read_defaults(binary, environment)
        known = parse_defaults(self._base or "")
        self.settings = {**known, **settings}
        self._own = dict(settings)
        if any(map(is_secret, self.settings)) and _REDACTION not in self.settings:
            self._own[_REDACTION] = REDACTION_REGEX

    @property
    def is_whole(self) -> bool:
        """True if ``spark-defaults.conf`` was found or is not needed; otherwise Spark itself has to read it."""
        return self._base is not None

    def text(self) -> str:
        """Return the text of the file. If a name occurs twice, Java uses the last value."""
        own = "".join(f"{_escaped(name, key=True)}={_escaped(value)}\n" for name, value in self._own.items())
        return f"{self._base or ''}\n\n{own}"


def _read_named(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DeltaRequestError(f"properties_file: {path} cannot be read: {why}.") from None


def _read_defaults(binary: str, environment: Mapping[str, str]) -> str | None:
    """Return the text of ``spark-defaults.conf``, empty if there is none; None if its place is unknown."""
    folder = configuration_folder(binary, environment)
    if folder is None:
        return None
    try:
        return (folder / "spark-defaults.conf").read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def _escaped(text: str, *, key: bool = False) -> str:
    escaped = _SPECIAL.sub(_escape, text)
    if key:
        return re.sub(r"[ =:#!]", r"\\\g<0>", escaped)
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    codes = (f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
    return _ESCAPED.get(match[0]) or "".join(codes)
