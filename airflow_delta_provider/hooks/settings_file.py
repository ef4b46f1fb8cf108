"""Spark's settings in a file, not in arguments: everybody on the machine can read a process' arguments."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

from airflow_delta_provider.domain.engine.secret_settings import REDACTION_REGEX, is_secret
from airflow_delta_provider.domain.engine.spark_library import parse_defaults
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.hooks.command import hide_secrets

#: Environment variables that name the folder.
FOLDERS = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_FILES = ("core-site.xml", "hdfs-site.xml", "yarn-site.xml")
_NAME_NODE = "dfs.namenode.http-address"
_SECURE_NAME_NODE = "dfs.namenode.https-address"
_MANAGER = "yarn.resourcemanager.webapp.address"
_SECURE_MANAGER = "yarn.resourcemanager.webapp.https.address"
_HTTPS_ONLY = "HTTPS_ONLY"
#: A name node's default port for WebHDFS.
WEB_HDFS_PORT = 9870


class HadoopConfiguration:
    """Settings by name. Files that are missing or unreadable contribute none."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._settings: dict[str, str] = {}
        for variable in FOLDERS:
            folder = Path(environment.get(variable) or os.devnull)
            for name in _FILES:
                with suppress(OSError, ElementTree.ParseError):
                    self._settings |= dict(_settings(folder / name))

    def web_hdfs(self, authority: str) -> list[str]:
        """Return possible WebHDFS addresses, such as ``http://host:9870``, for an authority of ``hdfs://`` URIs.

        :param authority: host and port of a name node, or the name of several; empty for the default file system's
        """
        default = self._settings.get("fs.defaultFS", "").partition("://")[2].partition("/")[0]
        authority = authority or default
        secure = self._settings.get("dfs.http.policy") == _HTTPS_ONLY
        key, scheme = (_SECURE_NAME_NODE, "https") if secure else (_NAME_NODE, "http")
        nodes = self._settings.get(f"dfs.ha.namenodes.{authority}")
        if nodes:
            addresses = (self._settings.get(f"{key}.{authority}.{node.strip()}") for node in nodes.split(","))
            return [f"{scheme}://{address}" for address in addresses if address]
        host = authority.partition(":")[0]
        address = self._settings.get(key, "") if authority == default else ""
        port = address.partition(":")[2] or WEB_HDFS_PORT
        return [f"{scheme}://{host}:{port}"] if host else []

    def resource_manager(self) -> str | None:
        """Return the address of YARN's resource manager for its REST API; None if no setting has it."""
        secure = self._settings.get("yarn.http.policy") == _HTTPS_ONLY
        key, scheme = (_SECURE_MANAGER, "https") if secure else (_MANAGER, "http")
        names = [
            key,
            *(f"{key}.{each.strip()}" for each in self._settings.get("yarn.resourcemanager.ha.rm-ids", "").split(",")),
        ]
        address = next(filter(None, map(self._settings.get, names)), None)
        if address is None and (host := self._settings.get("yarn.resourcemanager.hostname")):
            address = f"{host}:8090" if secure else f"{host}:8088"
        return None if address is None or "${" in address else f"{scheme}://{address}"


def _settings(file: Path) -> Iterator[tuple[str, str]]:
    for entry in ElementTree.parse(file).getroot().iter("property"):
        name, value = entry.findtext("name"), entry.findtext("value")
        if name and value:
            yield name.strip(), value.strip()


_CORE = re.compile(r"spark-core_[\d.]+-(\d[\w.]*?)\.jar")
_PRINTED = re.compile(r"version (\d+\.\d+\.\d+)")


class NoSparkError(Exception):
    """There is no usable spark-submit; the message says what to install or set."""


def find_spark_submit(binary: str, environment: Mapping[str, str]) -> str:
    """Return the full path of the command.

    :raises NoSparkError: if it is missing or not executable
    """
    found = shutil.which(binary, path=environment.get("PATH"))
    if found is None and (file := _not_executable(binary, environment)):
        raise NoSparkError(f"{file} is not executable for this worker's user. Give it the right to run it.")
    if found is None:
        raise NoSparkError(
            f"There is no {binary} on the worker's PATH. Install Spark there (pip install "
            "'airflow-delta-provider[local]' brings it), or name its spark-submit with spark_binary."
        )
    return found


def _not_executable(binary: str, environment: Mapping[str, str]) -> str | None:
    """Return the file of the command if it exists without the right to run it."""
    if os.path.dirname(binary):
        return binary if os.path.isfile(binary) else None
    files = (os.path.join(folder, binary) for folder in environment.get("PATH", "").split(os.pathsep))
    return next(filter(os.path.isfile, files), None)


def spark_version_of_jars(binary: str, environment: Mapping[str, str]) -> str | None:
    """Return the Spark version of ``binary`` from the names of its jars; None if the jars are not found."""
    for jars in jar_folders(binary, environment):
        for jar in jars.glob("spark-core_*.jar"):
            if match := _CORE.fullmatch(jar.name):
                return match[1]
    return None


def spark_version(binary: str, environment: Mapping[str, str]) -> str:
    """Return the Spark version of ``binary``, from its jars or else by running it.

    :raises NoSparkError: if it does not report one
    """
    if version := spark_version_of_jars(binary, environment):
        return version
    process = subprocess.run(
        [binary, "--version"], capture_output=True, text=True, env=dict(environment), check=False, timeout=120
    )
    if match := _PRINTED.search(process.stdout + process.stderr):
        return match[1]
    raise NoSparkError(
        f"{binary} does not report its Spark version. Set delta_jars to 'provided' or to a list of jars, so that none "
        "has to be chosen."
    )


def jar_folders(binary: str, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield folders that may hold the jars of ``binary``'s Spark."""
    if home := environment.get("SPARK_HOME"):
        yield Path(home) / "jars"
        return
    prefix = Path(os.path.realpath(binary)).parent.parent
    yield prefix / "jars"
    # A pip installation: the command is in the environment's bin, the jars in its pyspark package.
    yield from Path(binary).parent.parent.glob("lib/python*/site-packages/pyspark/jars")


def configuration_folder(binary: str, environment: Mapping[str, str]) -> Path | None:
    """Return the folder of ``spark-defaults.conf`` for ``binary``'s Spark; None if unknown.

    It is unknown for a platform's own scripts, which find Spark in their own way.
    """
    if folder := environment.get("SPARK_CONF_DIR"):
        return Path(folder)
    return next((jars.parent / "conf" for jars in jar_folders(binary, environment) if jars.is_dir()), None)


def class_path_folders(binary: str, environment: Mapping[str, str]) -> list[Path]:
    """Return the folders with files, other than jars, that spark-submit puts on the driver's class path."""
    hadoop = (environment[name] for name in FOLDERS if environment.get(name))
    folders = filter(None, [configuration_folder(binary, environment), *map(Path, hadoop)])
    return [folder for folder in folders if folder.is_dir() and any(folder.iterdir())]


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

    :return: the other arguments, the settings, and the user's properties file
    """
    rest: list[str] = []
    settings: dict[str, str] = {}
    properties_file: str | None = None
    words = iter(arguments)
    for word in words:
        if word == "--conf":
            name, _, value = next(words).partition("=")
            settings[name] = value
        elif word == "--properties-file":
            properties_file = next(words)
        elif word in _AS_SETTINGS:
            settings[_AS_SETTINGS[word]] = next(words)
        else:
            rest.append(word)
    return rest, settings, properties_file


def settings_options(
    name: str,
    settings: Mapping[str, str],
    properties_file: str | None,
    binary: str,
    environment: Mapping[str, str],
    write_file: Callable[[str, str], Path],
) -> list[str]:
    """Return options that make spark-submit read settings from a file; none if there is nothing to set.

    :param name: name of the file
    :param write_file: writes a text to a file of a name, which nobody else can read, and returns its path
    """
    if not settings and properties_file is None:
        return []
    file = SettingsFile(settings, properties_file, binary, environment)
    hide_secrets(file.settings)
    options = ["--properties-file", str(write_file(name, file.text()))]
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
    :param properties_file: the user's own properties file, used instead of ``spark-defaults.conf``
    :raises DeltaRequestError: if the user's file cannot be read
    """

    def __init__(
        self, settings: Mapping[str, str], properties_file: str | None, binary: str, environment: Mapping[str, str]
    ) -> None:
        self._base = _read_properties_file(properties_file) if properties_file else _read_defaults(binary, environment)
        self.settings = {**parse_defaults(self._base or ""), **settings}
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


def _read_properties_file(path: str) -> str:
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
