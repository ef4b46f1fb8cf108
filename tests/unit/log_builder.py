"""Histories of tables, commit by commit as Delta Spark writes them; any commit may be damaged on its way.

A table knows its state from the actions that it has written alone, so that a damage lives on in what later
commits carry along, as it does with engines.
"""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.past import (
    Addition,
    FirstAdd,
    PastLog,
    additions_in,
    first_adds_in,
    stored_paths_in,
)
from airflow_delta_provider.domain.checks.rule import FileAspect
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.data_type import StructField, StructType
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile, RowIds
from airflow_delta_provider.domain.delta.metadata import PhysicalPath
from airflow_delta_provider.domain.delta.protocol import Protocol, weakest_protocol
from airflow_delta_provider.domain.delta.snapshot import file_key
from airflow_delta_provider.domain.delta.table_state import Replay, TableState
from airflow_delta_provider.domain.report.report import Finding
from tests.unit.mapped_tables import ID, MAX, MODE, NAME, Json, fields_of
from tests.unit.states import LEGACY, type_to_json

Action = dict[str, Any]
Actions = list[Action]
#: Changes the actions of a commit in place.
Damage = Callable[[Actions], None]

ENGINE = "Apache-Spark/4.2.0 Delta-Lake/4.4.0"
#: What a damaged commit is signed with.
CULPRIT = "Apache-Spark/3.5.1 Delta-Lake/3.2.0"
DOMAIN = "delta.rowTracking"
TRACKING = "delta.enableRowTracking"
WIDENING = "delta.enableTypeWidening"
CHANGES = "delta.typeChanges"
ROW_ID = "delta.rowTracking.materializedRowIdColumnName"
COMMIT_VERSION = "delta.rowTracking.materializedRowCommitVersionColumnName"
SUSPENDED = "delta.rowTrackingSuspended"
INDEXED = "delta.dataSkippingNumIndexedCols"
TIMESTAMPS = "delta.enableInCommitTimestamps"
_START = 1_790_000_000_000
_PRESERVED = {"delta.rowTracking.preserved": "true"}


@dataclass
class State:
    """What the actions add up to, each as it stands in the log."""

    protocol: Json = field(default_factory=dict)
    metadata: Json = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)
    files: dict[FileKey, Json] = field(default_factory=dict)

    def take(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if "protocol" in action:
                self.protocol = action["protocol"]
            elif "metaData" in action:
                self.metadata = action["metaData"]
            elif "domainMetadata" in action:
                body = action["domainMetadata"]
                self.domains.pop(body["domain"], None)
                if not body.get("removed"):
                    self.domains[body["domain"]] = body["configuration"]
            elif "add" in action:
                self.files[_key(action["add"])] = action["add"]
            elif "remove" in action:
                self.files.pop(_key(action["remove"]), None)


class Table:
    """A table and its history.

    :param columns: its columns when it is created
    :param features: of its protocol, as far as they are not those of every table
    :param properties: table properties; a mapping mode gives the columns ids and physical names
    """

    def __init__(
        self,
        *columns: StructField,
        features: Sequence[str] = (),
        partition_by: Sequence[str] = (),
        properties: dict[str, str] | None = None,
        protocol: Json | None = None,
        damage: Damage | None = None,
    ) -> None:
        self.commits: list[Actions] = []
        self.now = State()
        self._states: list[State] = []
        self._counter = 0
        self._damage = damage
        configuration = dict(properties or {})
        if TRACKING in configuration:
            configuration |= {ROW_ID: f"_row-id-col-{self._uuid()}", COMMIT_VERSION: f"_row-cv-col-{self._uuid()}"}
        schema: Json = type_to_json(StructType(columns))
        if configuration.get(MODE, "none") != "none":
            self._map(schema, 0, new=True)
            configuration[MAX] = str(len(fields_of(schema)))
        metadata = self._metadata(schema, partition_by, configuration)
        listed = protocol or LEGACY.supporting(features).to_json()
        self.commit("CREATE TABLE", {"metaData": metadata}, {"protocol": listed})

    @classmethod
    def of(cls, commits: Sequence[Actions]) -> Table:
        """The table of these commits, to be gone on with."""
        table = cls.__new__(cls)
        table.commits, table._states, table.now = [], [], State()
        table._counter, table._damage = 1_000_000, None
        for actions in commits:
            table._take(copy.deepcopy(actions))
        return table

    # -- what is there ----------------------------------------------------------------------------

    @property
    def version(self) -> int:
        return len(self.commits) - 1

    @property
    def schema(self) -> Json:
        """A copy of the schema."""
        schema: Json = json.loads(self.now.metadata["schemaString"])
        return schema

    @property
    def configuration(self) -> dict[str, str]:
        """A copy of the properties."""
        return dict(self.now.metadata["configuration"])

    @property
    def is_mapped(self) -> bool:
        return self.configuration.get(MODE, "none") != "none"

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.now.files]

    @property
    def mark(self) -> int:
        return int(json.loads(self.now.domains.get(DOMAIN, "{}")).get("rowIdHighWaterMark", -1))

    def supports(self, feature: str) -> bool:
        return feature in Protocol.from_json(self.now.protocol).features

    def state(self, version: int) -> State:
        return self._states[version]

    # -- commits ----------------------------------------------------------------------------------

    def damaged(self, damage: Damage) -> Table:
        """Damage the next commit, which another engine signs."""
        self._damage = damage
        return self

    def commit(self, operation: str, *actions: Action, tags: dict[str, str] | None = None, **parameters: Any) -> None:
        """Write the next commit."""
        version = len(self.commits)
        info = {
            "timestamp": _START + 1000 * version,
            "operation": operation,
            "operationParameters": parameters,
            "readVersion": version - 1,
            "isolationLevel": "Serializable",
            "isBlindAppend": False,
            "engineInfo": ENGINE if self._damage is None else CULPRIT,
            "txnId": self._uuid(),
        }
        if tags:
            info["tags"] = tags
        written = copy.deepcopy([{"commitInfo": info}, *actions])
        metadata = next((a["metaData"] for a in written if "metaData" in a), self.now.metadata)
        if metadata["configuration"].get(TIMESTAMPS) == "true":
            if version and self.configuration.get(TIMESTAMPS) != "true":
                since = {"Version": str(version), "Timestamp": str(info["timestamp"])}
                metadata["configuration"] |= {
                    f"delta.inCommitTimestampEnablement{name}": value for name, value in since.items()
                }
            written[0]["commitInfo"] = {"inCommitTimestamp": info["timestamp"], **info}
        if self._damage is not None:
            self._damage(written)
            self._damage = None
        self._take(written)

    def append(self, files: int = 1, rows: int = 10) -> Table:
        self.commit("WRITE", *self._written([rows] * files), mode="Append")
        return self

    def delete(self, *paths: str) -> Table:
        """Delete all rows of files."""
        self.commit("DELETE", *(self._removed(key) for key in self._keys(paths)), tags=self._tags())
        return self

    def delete_all(self) -> Table:
        return self.delete(*self.paths)

    def mark_deleted(self, path: str) -> Table:
        """Delete a row by a deletion vector, the last one with its file."""
        key = next(iter(self._keys([path])))
        if self._rows([key]) == 1:
            return self.delete(path)
        self._counter += 1
        vector = {
            "storageType": "u",
            "pathOrInlineDv": f"ab^-aqEH.-t@S}}K{{vb[{self._counter % 1000:03d}",
            "offset": 1,
            "sizeInBytes": 36,
            "cardinality": 1 + int(self.now.files[key].get("deletionVector", {}).get("cardinality", 0)),
        }
        add = {**self.now.files[key], "deletionVector": vector, "dataChange": True}
        self.commit("DELETE", {"add": add}, self._removed(key), tags=self._tags())
        return self

    def update(self, path: str) -> Table:
        """Rewrite a file."""
        key = next(iter(self._keys([path])))
        rows = json.loads(self.now.files[key].get("stats") or '{"numRecords":10}')["numRecords"]
        self.commit("UPDATE", *self._written([rows]), self._removed(key), tags=self._tags())
        return self

    def optimize(self) -> Table:
        """Rewrite all files into one."""
        self.commit("OPTIMIZE", *self._moved(), tags=self._tags())
        return self

    def overwrite(self, schema: Json | None = None) -> Table:
        """Replace all rows, and the schema where one is given."""
        removed = [self._removed(key) for key in self.now.files]
        changed = [] if schema is None else [self._changed(schema)]
        written = self._written_under(changed[0]["metaData"]) if changed else self._written([10])
        self.commit("WRITE", *changed, *written, *removed, mode="Overwrite")
        return self

    def replace(self, *columns: StructField) -> Table:
        """CREATE OR REPLACE TABLE AS SELECT: another table under the same features and properties."""
        removed = [self._removed(key) for key in self.now.files]
        schema: Json = type_to_json(StructType(columns)) if columns else self.schema
        configuration = self.configuration
        for wire in fields_of(schema):
            wire["metadata"] = {}
        if self.is_mapped:
            highest = int(configuration.get(MAX, 0))
            self._map(schema, highest, new=True)
            configuration[MAX] = str(highest + len(fields_of(schema)))
        metadata = self._metadata(schema, (), configuration)
        written = self._written_under(metadata)
        self.commit("CREATE OR REPLACE TABLE AS SELECT", {"metaData": metadata}, *written, *removed)
        return self

    def _written_under(self, metadata: Json) -> Actions:
        """Ten rows, as a commit writes them that changes the metadata, too."""
        before, self.now = self.now, copy.deepcopy(self.now)
        self.now.metadata = metadata
        written = self._written([10])
        self.now = before
        return written

    def restore(self, version: int) -> Table:
        then = self._states[version]
        metadata = copy.deepcopy(then.metadata)
        highest = max(int(state.metadata["configuration"].get(MAX, 0)) for state in (then, self.now))
        if metadata["configuration"].get(MODE, "none") != "none":
            metadata["configuration"][MAX] = str(highest)
        base = self.mark + 1
        adds = []
        for add in (add for key, add in then.files.items() if not _is_same(add, self.now.files.get(key))):
            ids = {}
            if self.supports("rowTracking") and "baseRowId" not in add:
                ids = {"baseRowId": base, "defaultRowCommitVersion": len(self.commits)}
                base += json.loads(add["stats"])["numRecords"]
            adds.append({"add": {**add, **ids, "dataChange": True}})
        removes = [self._removed(key) for key in self.now.files if key not in then.files]
        mark = [self._mark(base - 1)] if self.supports("rowTracking") else []
        listed, lost = (Protocol.from_json(state.protocol).features for state in (self.now, then))
        protocol = self.now.protocol if lost <= listed else weakest_protocol(listed | lost).to_json()
        actions = [{"metaData": metadata}, *adds, *removes, *mark, {"protocol": protocol}]
        self.commit("RESTORE", *actions, version=version, timestamp=None)
        return self

    def set_properties(self, **properties: str | None) -> Table:
        """Set properties, and unset those that are None; ``__`` stands for a dot."""
        changed = {key.replace("__", "."): value for key, value in properties.items()}
        configuration = {k: v for k, v in {**self.configuration, **changed}.items() if v is not None}
        self.commit("SET TBLPROPERTIES", self._changed(configuration=configuration), properties=json.dumps(changed))
        return self

    def support(self, *features: str, **properties: str) -> Table:
        """Add features to the protocol, with properties where they are given."""
        protocol = Protocol.from_json(self.now.protocol).supporting(features).to_json()
        configuration = self.configuration | {key.replace("__", "."): value for key, value in properties.items()}
        changed = [self._changed(configuration=configuration)] if properties else []
        self.commit("SET TBLPROPERTIES", *changed, {"protocol": protocol})
        return self

    def drop_feature(self, feature: str) -> Table:
        """The last commit of DROP FEATURE: the protocol without it."""
        lists = {key: value for key, value in self.now.protocol.items() if isinstance(value, list)}
        protocol = self.now.protocol | {key: [n for n in names if n != feature] for key, names in lists.items()}
        tombstone = (
            [_domain(DOMAIN, self.now.domains.get(DOMAIN, "{}"), removed=True)] if feature == "rowTracking" else []
        )
        self.commit("DROP FEATURE", *tombstone, {"protocol": protocol}, featureName=feature)
        return self

    def enable_row_tracking(self) -> Table:
        """Three commits: the feature, ids for the files that are there, the property."""
        protocol = Protocol.from_json(self.now.protocol).supporting(["rowTracking"]).to_json()
        self.commit("UPGRADE PROTOCOL", {"protocol": protocol})
        if missing := [add for add in self.now.files.values() if "baseRowId" not in add]:
            base, version = self.mark + 1, len(self.commits)
            adds = []
            for add in missing:
                ids = {"baseRowId": base, "defaultRowCommitVersion": version, "dataChange": False}
                adds.append({"add": {**add, **ids}})
                base += json.loads(add["stats"])["numRecords"]
            self.commit("ROW TRACKING BACKFILL", *adds, self._mark(base - 1))
        names = {ROW_ID: f"_row-id-col-{self._uuid()}", COMMIT_VERSION: f"_row-cv-col-{self._uuid()}"}
        configuration = {**names, **self.configuration, TRACKING: "true"}
        self.commit("SET TBLPROPERTIES", self._changed(configuration=configuration))
        return self

    def drop_row_tracking(self) -> Table:
        """Suspend it, take the ids away, drop the feature."""
        configuration = {k: v for k, v in self.configuration.items() if k not in (TRACKING, ROW_ID, COMMIT_VERSION)}
        self.commit("SET TBLPROPERTIES", self._changed(configuration={**configuration, SUSPENDED: "true"}))
        gone = ("baseRowId", "defaultRowCommitVersion")
        adds = [
            {"add": {key: value for key, value in {**add, "dataChange": False}.items() if key not in gone}}
            for add in self.now.files.values()
        ]
        if adds:
            self.commit("ROW TRACKING UNBACKFILL", *adds)
        self.commit("UNSET TBLPROPERTIES", self._changed(configuration=configuration))
        return self.drop_feature("rowTracking")

    def enable_mapping(self) -> Table:
        """Map the columns by name, each under its own."""
        schema = self.schema
        self._map(schema, 0, new=False)
        configuration = self.configuration | {MODE: "name", MAX: str(len(fields_of(schema)))}
        protocol = Protocol.from_json(self.now.protocol).supporting(["columnMapping"]).to_json()
        self.commit("SET TBLPROPERTIES", self._changed(schema, configuration), {"protocol": protocol})
        return self

    def remove_mapping(self) -> Table:
        """Write every file anew, without the mapping."""
        schema = self.schema
        for wire in fields_of(schema):
            wire["metadata"].pop(ID, None)
            wire["metadata"].pop(NAME, None)
        configuration = {k: v for k, v in self.configuration.items() if k != MAX} | {MODE: "none"}
        changed = self._changed(schema, configuration)
        before, self.now = self.now, copy.deepcopy(self.now)
        self.now.metadata = changed["metaData"]
        moved = self._moved()
        self.now = before
        self.commit("REMOVE COLUMN MAPPING", changed, *moved, tags=self._tags())
        return self

    def add_column(self, column: StructField) -> Table:
        schema, configuration = self.schema, self.configuration
        added: Json = type_to_json(StructType((column,)))
        if self.is_mapped:
            highest = int(configuration.get(MAX, 0))
            self._map(added, highest, new=True)
            configuration[MAX] = str(highest + len(fields_of(added)))
        schema["fields"] += added["fields"]
        self.commit("ADD COLUMNS", self._changed(schema, configuration))
        return self

    def rename_column(self, name: str, other: str) -> Table:
        schema = self.schema
        next(wire for wire in schema["fields"] if wire["name"] == name)["name"] = other
        changed = self._changed(schema)
        partitions = [other if column == name else column for column in self.now.metadata["partitionColumns"]]
        changed["metaData"]["partitionColumns"] = partitions
        self.commit("RENAME COLUMN", changed)
        return self

    def drop_column(self, name: str, **properties: str) -> Table:
        schema = self.schema
        schema["fields"] = [wire for wire in schema["fields"] if wire["name"] != name]
        configuration = self.configuration | {key.replace("__", "."): value for key, value in properties.items()}
        self.commit("DROP COLUMNS", self._changed(schema, configuration))
        return self

    def widen(self, name: str, wider: str) -> Table:
        schema = self.schema
        wire = next(wire for wire in schema["fields"] if wire["name"] == name)
        wire["metadata"].setdefault(CHANGES, []).append({"fromType": wire["type"], "toType": wider})
        wire["type"] = wider
        self.commit("CHANGE COLUMN", self._changed(schema))
        return self

    def drop_type_widening(self) -> Table:
        """Unset the property, rewrite the files, forget the changes, drop the feature."""
        configuration = {key: value for key, value in self.configuration.items() if key != WIDENING}
        if WIDENING in self.configuration:
            self.commit("UNSET TBLPROPERTIES", self._changed(configuration=configuration))
        if self.now.files:
            self.commit("REORG", *self._moved(), tags=self._tags())
        schema = self.schema
        forgotten = [wire["metadata"].pop(CHANGES, None) for wire in fields_of(schema)]
        if any(forgotten):
            self.commit("UPGRADE SCHEMA", self._changed(schema))
        return self.drop_feature("typeWidening")

    def _take(self, actions: Actions) -> None:
        self.commits.append(actions)
        self.now = State(self.now.protocol, self.now.metadata, dict(self.now.domains), dict(self.now.files))
        self.now.take(actions)
        self._states.append(self.now)

    # -- parts of commits -------------------------------------------------------------------------

    def _uuid(self) -> str:
        self._counter += 1
        return str(uuid.UUID(int=self._counter << 80, version=4))

    def _metadata(self, schema: Json, partition_by: Sequence[str], configuration: dict[str, str]) -> Json:
        return {
            "id": self._uuid(),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(schema),
            "partitionColumns": list(partition_by),
            "configuration": configuration,
            "createdTime": _START + len(self.commits),
        }

    def _changed(self, schema: Json | None = None, configuration: dict[str, str] | None = None) -> Action:
        metadata = dict(self.now.metadata)
        if schema is not None:
            metadata["schemaString"] = json.dumps(schema)
        if configuration is not None:
            metadata["configuration"] = configuration
        return {"metaData": metadata}

    def _map(self, schema: Json, highest: int, *, new: bool) -> None:
        for number, wire in enumerate(fields_of(schema), start=highest + 1):
            wire["metadata"] |= {ID: number, NAME: f"col-{self._uuid()}" if new else wire["name"]}

    def _tags(self) -> dict[str, str] | None:
        return _PRESERVED if self.configuration.get(TRACKING) == "true" else None

    def _mark(self, mark: int) -> Action:
        return _domain(DOMAIN, json.dumps({"rowIdHighWaterMark": mark, "domainName": DOMAIN}))

    def _written(self, rows: Sequence[int], *, data_change: bool = True) -> Actions:
        """New files of so many rows, with ids where the table gives them."""
        numbered = self.supports("rowTracking") and self.configuration.get(SUSPENDED) != "true"
        base = self.mark + 1
        adds: Actions = []
        for count in rows:
            add = {
                "path": f"part-00000-{self._uuid()}-c000.snappy.parquet",
                "partitionValues": self._partition_values(),
                "size": 1000 + self._counter,
                "modificationTime": _START + 1000 * len(self.commits),
                "dataChange": data_change,
                "stats": json.dumps({"numRecords": count, **self._bounds()}),
            }
            if numbered:
                add |= {"baseRowId": base, "defaultRowCommitVersion": len(self.commits)}
                base += count
            adds.append({"add": add})
        return adds + ([self._mark(base - 1)] if numbered and rows else [])

    def _moved(self) -> Actions:
        """All rows in one file, in place of those that they are in."""
        rows = self._rows(self.now.files)
        written = self._written([rows] if rows else [], data_change=False)
        return written + [self._removed(key, data_change=False) for key in self.now.files]

    def _rows(self, keys: Iterable[FileKey]) -> int:
        """How many rows files have that are not deleted; a file that does not say has ten."""
        adds = [self.now.files[key] for key in keys]
        rows = sum(json.loads(add.get("stats") or "{}").get("numRecords", 10) for add in adds)
        return int(rows) - sum(int((add.get("deletionVector") or {}).get("cardinality", 0)) for add in adds)

    def _partition_values(self) -> dict[str, str]:
        fields = {wire["name"]: wire for wire in self.schema["fields"]}
        return {
            self._name(fields[name]) if name in fields else name: _PARTITIONS.get(fields[name]["type"], "1")
            if name in fields and isinstance(fields[name]["type"], str)
            else "1"
            for name in self.now.metadata["partitionColumns"]
        }

    def _bounds(self) -> Json:
        partitions = self.now.metadata["partitionColumns"]
        fields = [wire for wire in self.schema["fields"] if wire["name"] not in partitions and not _is_identity(wire)]
        fields = fields[: int(self.configuration.get(INDEXED, len(fields)))]
        return {
            bound: self._values(fields, value)
            for bound, value in (("minValues", 1), ("maxValues", 9), ("nullCount", 0))
        }

    def _values(self, fields: Sequence[Json], value: int) -> Json:
        values: Json = {}
        for wire in fields:
            of = wire["type"]
            if isinstance(of, str):
                values[self._name(wire)] = _of_type(of, value)
            elif of["type"] == "struct":
                values[self._name(wire)] = self._values(of["fields"], value)
        return values

    def _name(self, wire: Json) -> str:
        return str(wire["metadata"].get(NAME, wire["name"]) if self.is_mapped else wire["name"])

    def _keys(self, paths: Iterable[str]) -> list[FileKey]:
        wanted = set(paths)
        return [key for key in self.now.files if key[0] in wanted]

    def _removed(self, key: FileKey, *, data_change: bool = True) -> Action:
        add = self.now.files[key]
        kept = ("baseRowId", "defaultRowCommitVersion", "deletionVector", "size", "partitionValues")
        remove = {
            "path": add["path"],
            "deletionTimestamp": _START + 1000 * len(self.commits),
            "dataChange": data_change,
            "extendedFileMetadata": True,
        }
        return {"remove": remove | {name: add[name] for name in kept if name in add}}


class History(PastLog):
    """A history that is kept whole, though it is judged from a later version on."""

    def __init__(self, commits: Sequence[Actions]) -> None:
        self._commits = commits

    @property
    def root(self) -> str:
        return "file:/t"

    def commit_at(self, version: int) -> Commit | None:
        return Commit.from_actions(version, self._commits[version])

    def actions_at(self, version: int) -> Actions:
        return self._commits[version]

    def state_at(self, version: int) -> TableState | None:
        replay = Replay(with_files=True)
        for actions in self._commits[: version + 1]:
            replay.take(actions)
        return replay.state(version)

    def paths_seen_before(self, version: int, paths: Sequence[str]) -> frozenset[str]:
        named = {
            action[kind]["path"]
            for actions in self._commits[:version]
            for action in actions
            for kind in ("add", "remove")
            if kind in action
        }
        return frozenset(paths) & named

    def row_ids_before(self, version: int, paths: Collection[str]) -> dict[str, RowIds]:
        commits = [Commit.from_actions(number, actions) for number, actions in enumerate(self._commits[:version])]
        return {file.path: file.row_ids for commit in commits for file in commit.adds if file.path in paths}

    def first_adds(self, version: int, paths: Collection[str]) -> dict[str, FirstAdd]:
        return first_adds_in(self._commits[: version + 1], paths, None)

    def stored_paths(self, version: int) -> frozenset[PhysicalPath] | None:
        return stored_paths_in(self._commits[: version + 1])

    def adds_between(self, after: int, version: int) -> Iterable[Json]:
        commits = self._commits[after + 1 : version + 1]
        return [action["add"] for actions in commits for action in actions if "add" in action]

    def last_adds(self, version: int, keys: Collection[FileKey]) -> dict[FileKey, Json]:
        added = (action["add"] for actions in self._commits[: version + 1] for action in actions if "add" in action)
        return {key: add for add in added if (key := file_key(add)) in keys}

    def commit_that_enabled(self, version: int, name: str) -> Commit | None:
        found = None
        for number in range(version, -1, -1):
            for metadata in (action["metaData"] for action in self._commits[number] if "metaData" in action):
                if metadata["configuration"].get(name) != "true":
                    return found
                found = self.commit_at(number)
        return found

    def commits_that_added(
        self, files: Sequence[LiveFile], aspect: FileAspect = FileAspect.ROW_IDS
    ) -> dict[str, Addition]:
        wanted = {file.path: file for file in files}
        found: dict[str, Addition] = {}
        for version, actions in enumerate(self._commits if wanted else ()):
            found = {**additions_in(version, actions, wanted, aspect), **found}
        return found


def audited(commits: Sequence[Actions], since: int | None = None) -> list[Finding]:
    """Judge a history.

    :param since: only what the commits after this version did wrong
    """
    replay, log = Replay(with_files=True), History(commits)
    if since is None:
        audit = HistoryAudit(replay, log=log)
    else:
        for actions in commits[: since + 1]:
            replay.take(actions)
        audit = HistoryAudit(replay, replay.state(since), log, known=True)
    first = 0 if since is None else since + 1
    for version, actions in enumerate(commits[first:], start=first):
        audit.take(version, actions)
    return audit.findings()


def roots(findings: Iterable[Finding]) -> list[Finding]:
    """Those that follow from no other."""
    return [finding for finding in findings if finding.caused_by is None]


def body(actions: Actions, kind: str, number: int = 0) -> Json:
    """The action of a kind, to be changed in place."""
    found: Json = [action[kind] for action in actions if kind in action][number]
    return found


def _is_same(add: Json, now: Json | None) -> bool:
    """Whether a file that is restored is live with the row ids that it had, if it had any."""
    return now is not None and add.get("baseRowId") in (None, now.get("baseRowId"))


#: Values of partition columns, by types of which "1" is none.
_PARTITIONS = {
    "boolean": "true",
    "date": "2024-01-01",
    "timestamp": "2024-01-01T00:00:00.000000Z",
    "timestamp_ntz": "2024-01-01 00:00:00",
}


def _of_type(data_type: str, number: int) -> Any:
    """A bound of a column, or, if it is zero, the number of its nulls."""
    if data_type == "string" and number:
        return f"v{number}"
    if data_type == "variant" and number:
        return "00000"
    if data_type in ("date", "timestamp", "timestamp_ntz") and number:
        zone = "Z" if data_type == "timestamp" else ""
        return f"2024-01-0{number}" + ("" if data_type == "date" else f"T00:00:00.000{zone}")
    return number > 1 if data_type == "boolean" and number else number


def _domain(name: str, configuration: str, *, removed: bool = False) -> Action:
    return {"domainMetadata": {"domain": name, "configuration": configuration, "removed": removed}}


def _key(wire: Json) -> FileKey:
    vector = wire.get("deletionVector")
    return wire[
        "path"
    ], "" if not vector else f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset')}"


def _is_identity(wire: Json) -> bool:
    """Whether a column assigns values, which statistics would have to be of."""
    return any(key.startswith("delta.identity") for key in wire.get("metadata") or {})
