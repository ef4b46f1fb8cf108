"""Hadoop's settings on the worker, from the folder named by HADOOP_CONF_DIR or YARN_CONF_DIR."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

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
            named = (self._settings.get(f"{key}.{authority}.{node.strip()}") for node in nodes.split(","))
            return [f"{scheme}://{address}" for address in named if address]
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
