"""Corrections of protocol, metadata and domains that may fix a finding. The planner tries them, one after another."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any
from typing import Protocol as Interface

from airflow_delta_provider.domain.checks.actions.deletion_vectors import DELETION_VECTOR_WITHOUT_FEATURE
from airflow_delta_provider.domain.checks.actions.fields import DOMAIN_WITHOUT_FEATURE
from airflow_delta_provider.domain.checks.column_mapping.state import UNSUPPORTED_MODE
from airflow_delta_provider.domain.checks.metadata.state import UNREADABLE_VALUE
from airflow_delta_provider.domain.checks.registry import rule_of
from airflow_delta_provider.domain.checks.row_tracking.state import ENABLED_WITHOUT_FEATURE
from airflow_delta_provider.domain.checks.rule import RepairMethod, Rule
from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    MapType,
    PrimitiveType,
    StructType,
    UnknownColumnError,
    parse_path,
)
from airflow_delta_provider.domain.delta.features.columns import (
    COLUMN_MAPPING,
    TYPE_CHANGES_KEY,
    TYPE_WIDENING,
    TypeChange,
    recorded_changes,
)
from airflow_delta_provider.domain.delta.features.feature import Feature, FeatureKind
from airflow_delta_provider.domain.delta.features.log import (
    CLUSTERING_DOMAIN,
    DELETION_VECTORS,
    DOMAIN_METADATA,
    ROW_TRACKING,
)
from airflow_delta_provider.domain.delta.features.log import DOMAIN as ROW_TRACKING_DOMAIN
from airflow_delta_provider.domain.delta.features.registry import feature_named, with_requirements
from airflow_delta_provider.domain.delta.live_file import FileKey
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata, physical_parts
from airflow_delta_provider.domain.delta.protocol import (
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    Protocol,
    weakest_protocol,
)
from airflow_delta_provider.domain.delta.row_tracking import HIGH_WATER_MARK, high_water_mark_of
from airflow_delta_provider.domain.delta.table_properties import (
    ENABLE_IN_COMMIT_TIMESTAMPS,
    ENABLE_TYPE_WIDENING,
    ENABLEMENT_TIMESTAMP,
    ENABLEMENT_VERSION,
    MAX_COLUMN_ID,
)
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.repair.logged_table import (
    CONFIGURATION,
    DOMAIN,
    FIELDS,
    METADATA,
    PROTOCOL,
    SCHEMA,
    Change,
    Json,
    LoggedTable,
    Place,
    changes_between,
    rows_text,
    set_back,
    value_at,
)
from airflow_delta_provider.domain.report.answers import RightStatistics
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.text import visible


class Past(Interface):
    """The earlier versions of a table, as far as the log still has them."""

    def heads(self, version: int) -> LoggedTable | None:
        """Return a version without its files; None if the log cannot reconstruct it."""

    def version(self, version: int) -> LoggedTable | None:
        """Return a version with all its files; None if the log cannot reconstruct it."""

    def added(self, path: str, version: int) -> Json | None:
        """Return the body of the last ``add`` action of a path up to a version; None if there is none."""

    def commit_of(self, version: int) -> Sequence[Mapping[str, Any]]:
        """Return the actions of a commit; empty if it is no longer kept."""

    def paths_of(self, finding: Finding, *, of_rule: bool) -> Collection[str]:
        """Return the paths of the files that a finding is about.

        :param of_rule: True for all files that break its rule, by whichever commit
        """

    def stored(self, path: str) -> StoredFile | None:
        """Return what the storage knows of a data file; None if it is missing, or if nothing is read."""


@dataclass(frozen=True)
class StoredFile:
    """A data file in the storage.

    :param size: size in bytes
    :param written_at: time of the last write, in milliseconds since 1970
    :param rows: number of rows by the footer; None if it cannot be read
    :param statistics: right statistics, as in the log; None if they are not known
    :param right: right statistics of the columns whose statistics are wrong; None if an audit did not find them
    """

    size: int
    written_at: int
    rows: int | None = None
    statistics: Mapping[str, Any] | None = None
    right: RightStatistics | None = None


@dataclass(frozen=True)
class Situation:
    """A finding and the table that has it.

    :param state: newest version with its files
    :param table: the same as logged, with the corrections so far
    """

    finding: Finding
    state: TableState
    table: LoggedTable
    past: Past

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.finding.facts or {}

    @property
    def version(self) -> int:
        """Version of the commit that repairs the table."""
        return self.state.version + 1


@dataclass(frozen=True)
class Correction:
    """A correction that may fix a finding.

    :param method: kind of the correction
    :param changes: values that change
    :param removed: keys of files whose reference is removed
    :param copied: keys of files that are copied under a new path
    :param again: keys of files that are committed again as they are
    :param back_to: earlier version that the table goes back to, and the table then
    :param loses: information that is lost: sentences
    :param sees: differences that readers see afterwards: sentences
    """

    method: RepairMethod
    changes: tuple[Change, ...] = ()
    removed: tuple[FileKey, ...] = ()
    copied: tuple[FileKey, ...] = ()
    again: tuple[FileKey, ...] = ()
    back_to: tuple[int, LoggedTable] | None = None
    loses: tuple[str, ...] = ()
    sees: tuple[str, ...] = ()

    def applied(self, table: LoggedTable) -> LoggedTable:
        """Return a table with the correction.

        :raises KeyError: if the table does not have a value that the correction starts from
        """
        if self.back_to is not None:
            return self.back_to[1]
        changed = table.changed(self.changes)
        copied = {key: changed.files[key] for key in self.copied}
        return replace(
            changed,
            removed=changed.removed.union(self.removed),
            copied={**changed.copied, **copied},
            again=changed.again.union(self.again),
        )

    def and_then(self, more: Correction) -> Correction:
        """Return a correction with the changes of both."""
        return replace(
            self,
            changes=(*self.changes, *more.changes),
            removed=(*self.removed, *more.removed),
            copied=(*self.copied, *more.copied),
            again=(*self.again, *more.again),
            loses=(*self.loses, *more.loses),
            sees=(*self.sees, *more.sees),
        )


Proposals = Callable[[Situation], Iterator[Correction]]
_PROPOSALS: dict[RepairMethod, Proposals] = {}


def proposes(method: RepairMethod) -> Callable[[Proposals], Proposals]:
    """Register the function that proposes corrections of a kind."""

    def register(propose: Proposals) -> Proposals:
        _PROPOSALS[method] = propose
        return propose

    return register


def proposals(method: RepairMethod, situation: Situation) -> Iterator[Correction]:
    """Yield the corrections of a kind that may fix a finding, the smallest first; none if the fix is no commit."""
    return _PROPOSALS[method](situation) if method in _PROPOSALS else iter(())


@proposes(RepairMethod.EARLIER_VALUES)
def _earlier(situation: Situation) -> Iterator[Correction]:
    """Set back the values that the commit changed and that are still as it left them."""
    finding = situation.finding
    if finding.version is None or finding.at_or_before:
        return
    before, broken = (situation.past.heads(version) for version in (finding.version - 1, finding.version))
    if before is None or broken is None:
        return
    found = tuple(set_back(before.values(), broken.values(), situation.table.values()))
    words = set(_words(finding))
    narrow = tuple(change for change in found if not words.isdisjoint(change.place))
    settings = tuple(change for change in found if change.place[:2] != (METADATA, SCHEMA))
    single = ((change,) for change in found) if len(found) <= _MOST_SINGLE else ()
    for changes in _distinct((narrow, settings, *single, found)):
        removed = (c.place[1] for c in changes if c.place[0] == DOMAIN and not c.after)
        loses = tuple(f"The metadata domain {name} is removed." for name in removed)
        yield Correction(RepairMethod.EARLIER_VALUES, changes, loses=loses)


#: Maximum number of values of a commit that are set back one by one.
_MOST_SINGLE = 12


def _distinct(found: Iterable[tuple[Change, ...]]) -> Iterator[tuple[Change, ...]]:
    """Yield the changes that are not empty, each once."""
    known: list[tuple[Change, ...]] = []
    for changes in found:
        if changes and changes not in known:
            known.append(changes)
            yield changes


def _words(finding: Finding) -> Iterator[str]:
    """Yield the names of properties, columns, domains and features that a finding is about."""
    if finding.column is not None:
        yield finding.column
        with suppress(UnknownColumnError, ValueError):
            yield from parse_path(finding.column)
    if finding.subject is not None:
        yield finding.subject
    yield from _facts(finding, ("property", *_OF_FEATURES, "key"))


#: Facts that name features.
_OF_FEATURES = ("feature", "required", "lost", "used", "only")


def _facts(finding: Finding, names: Iterable[str]) -> Iterator[str]:
    """Yield the texts of facts, each of which is a text or a list of texts."""
    for name in names:
        value = (finding.facts or {}).get(name, ())
        yield from [value] if isinstance(value, str) else value


@proposes(RepairMethod.LISTED_FEATURES)
def _listed(situation: Situation) -> Iterator[Correction]:
    """List the features that the table has and uses where they belong, with the features that they require."""
    needed = set(_facts(situation.finding, _OF_FEATURES))
    if (feature := _OF_RULES.get(rule_of(situation.finding))) is not None:
        needed.add(feature.name)
    if changes := _protocol_changes(situation.table, needed):
        yield Correction(RepairMethod.LISTED_FEATURES, changes)


#: Features that a rule is about whose findings do not name them.
_OF_RULES: Mapping[Rule, Feature] = {
    UNSUPPORTED_MODE: COLUMN_MAPPING,
    ENABLED_WITHOUT_FEATURE: ROW_TRACKING,
    DOMAIN_WITHOUT_FEATURE: DOMAIN_METADATA,
    DELETION_VECTOR_WITHOUT_FEATURE: DELETION_VECTORS,
}


def _protocol_changes(table: LoggedTable, names: Iterable[str]) -> tuple[Change, ...]:
    """Return the changes after which the protocol lists its features and others where they belong."""
    try:
        protocol = Protocol.from_json(table.protocol)
    except (KeyError, ValueError):
        return ()
    listed = {*(protocol.reader_features or ()), *(protocol.writer_features or ()), *protocol.features, *names}
    after = replace(table, protocol=_with_features(protocol, frozenset(listed)).to_json())
    extra = {key: value for key, value in table.protocol.items() if key not in _OF_PROTOCOL}
    after = replace(after, protocol={**extra, **after.protocol})
    return tuple(changes_between({PROTOCOL: table.values()[PROTOCOL]}, {PROTOCOL: after.values()[PROTOCOL]}))


_OF_PROTOCOL = ("minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures")


def _with_features(protocol: Protocol, names: frozenset[str]) -> Protocol:
    """Return the lowest protocol that supports features and whose versions are not lowered."""
    features = with_requirements(names)
    weakest = weakest_protocol(features)
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if writer < WRITER_FEATURES_VERSION and weakest.min_writer_version < WRITER_FEATURES_VERSION:
        return Protocol(max(reader, weakest.min_reader_version), max(writer, weakest.min_writer_version))
    reader = max(reader, weakest.min_reader_version)
    if reader < READER_FEATURES_VERSION:
        return Protocol(reader, WRITER_FEATURES_VERSION, None, features)
    of_readers = frozenset(name for name in features if feature_named(name).kind is FeatureKind.READER_WRITER)
    return Protocol(READER_FEATURES_VERSION, WRITER_FEATURES_VERSION, of_readers, features)


@proposes(RepairMethod.UNSET_PROPERTY)
def _unset(situation: Situation) -> Iterator[Correction]:
    """Remove the property that the finding is about."""
    name = situation.facts.get("property") or situation.finding.subject
    present = value_at(situation.table.metadata, (CONFIGURATION, str(name)))
    if present:
        loses = () if situation.finding.code == UNREADABLE_VALUE.code else (f"{name} = {present[0]!r} is removed.",)
        yield Correction(
            RepairMethod.UNSET_PROPERTY, (Change((METADATA, CONFIGURATION, str(name)), present, ()),), loses=loses
        )


@proposes(RepairMethod.GREATEST_COLUMN_ID)
def _column_id(situation: Situation) -> Iterator[Correction]:
    """Raise ``maxColumnId`` to the greatest id that a column has or had."""
    configuration = _properties(situation.table)
    known = [_integer(configuration.get(MAX_COLUMN_ID)), *_ids_in(situation.table.values()[METADATA])]
    version = situation.finding.version
    if version is not None and not situation.finding.at_or_before:
        for heads in filter(None, map(situation.past.heads, (version - 1, version))):
            known.append(_integer(_properties(heads).get(MAX_COLUMN_ID)))
            known += _ids_in(heads.values()[METADATA])
    greatest = max((number for number in known if number is not None), default=None)
    place = (METADATA, CONFIGURATION, MAX_COLUMN_ID)
    if greatest is not None and configuration.get(MAX_COLUMN_ID) != str(greatest):
        change = Change(place, value_at(situation.table.metadata, place[1:]), (str(greatest),))
        yield Correction(RepairMethod.GREATEST_COLUMN_ID, (change,))


def _integer(value: Any) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() else None


def _ids_in(values: Any) -> Iterator[int]:
    for key, value in values.items() if isinstance(values, Mapping) else ():
        if key == "delta.columnMapping.id" and type(value) is int:
            yield value
        elif key == "delta.columnMapping.nested.ids" and isinstance(value, Mapping):
            yield from (number for number in value.values() if type(number) is int)
        else:
            yield from _ids_in(value)


def known_mark(situation: Situation) -> int:
    """Return the highest row id that is known to be assigned; -1 if there is none."""
    version = situation.finding.version
    marks = [-1, high_water_mark_of(situation.table.domains.get(ROW_TRACKING_DOMAIN))]
    if version is not None and not situation.finding.at_or_before:
        heads = filter(None, map(situation.past.heads, (version - 1, version)))
        marks += [high_water_mark_of(head.domains.get(ROW_TRACKING_DOMAIN)) for head in heads]
    for file in situation.state.live_files:
        if file.base_row_id is not None and file.num_records is not None:
            marks.append(file.base_row_id + file.num_records - 1)
    return max(number for number in marks if number is not None)


def mark_change(situation: Situation, mark: int, *, again: bool = False) -> tuple[Change, ...]:
    """Return the change that sets the high water mark of row ids, if it is not that; none for -1.

    :param again: True to set it also if it is that already
    """
    domains = situation.table.domains
    if mark < 0 or (mark == high_water_mark_of(domains.get(ROW_TRACKING_DOMAIN)) and not again):
        return ()
    text = json.dumps({HIGH_WATER_MARK: mark}, separators=(",", ":"))
    return (Change((DOMAIN, ROW_TRACKING_DOMAIN), value_at(domains, (ROW_TRACKING_DOMAIN,)), (text,)),)


@proposes(RepairMethod.HIGH_WATER_MARK)
def _mark(situation: Situation) -> Iterator[Correction]:
    """Raise the high water mark of row ids to the highest id that was ever assigned."""
    again = situation.finding.subject == ROW_TRACKING_DOMAIN
    changes = mark_change(situation, known_mark(situation), again=again)
    if changes:
        yield Correction(RepairMethod.HIGH_WATER_MARK, changes)


@proposes(RepairMethod.TYPE_CHANGES)
def _type_changes(situation: Situation) -> Iterator[Correction]:
    """Record the types that a column had before the commit, after it and now; enable type widening if needed."""
    finding, table = situation.finding, situation.table
    if finding.version is None or finding.at_or_before:
        return
    heads = [situation.past.heads(version) for version in (finding.version - 1, finding.version)]
    metadata = [Metadata.from_json(head.metadata) for head in (*filter(None, heads), table)]
    if len(metadata) < 3 or any(known.readable_columns is None for known in metadata):
        return
    changes = tuple(_records(metadata, finding.column, table))
    if changes:
        yield Correction(RepairMethod.TYPE_CHANGES, changes)
    enabled = tuple(_enabled_widening(table))
    if enabled:
        yield Correction(RepairMethod.TYPE_CHANGES, (*changes, *enabled))


def _records(versions: Sequence[Metadata], column: str | None, table: LoggedTable) -> Iterator[Change]:
    """Yield the changes of the records of columns whose types differ between versions, oldest first."""
    types = [{place.parts: place for place in known.readable_columns or ()} for known in versions]
    records: dict[Place, list[Json]] = {}
    for place in versions[-1].readable_columns or ():
        root = place.parts[: len(place.parts) - len(place.field_path)]
        if column is not None and parse_path(column)[: len(root)] != root:
            continue
        at = field_place(place.parts[: len(root)], place.kinds[: len(root)])
        if at not in records:
            before = types[0].get(root)
            known = () if before is None else recorded_changes(before.field.metadata)
            records[at] = [_entry(change) for change in known]
        steps = [known[place.parts].data_type for known in types if place.parts in known]
        for old, new in pairwise(steps):
            if old != new and isinstance(old, PrimitiveType) and isinstance(new, PrimitiveType):
                records[at].append(_entry(TypeChange(str(old), str(new), ".".join(place.field_path) or None)))
    values = table.values()
    for at, record in records.items():
        whole = (*at, "metadata", TYPE_CHANGES_KEY)
        present = value_at(values, whole)
        after = (record,) if record else ()
        if present != after:
            yield Change(whole, present, after)


def _entry(change: TypeChange) -> Json:
    entry = {"fromType": change.from_type, "toType": change.to_type}
    return entry if change.field_path is None else {**entry, "fieldPath": change.field_path}


def field_place(parts: Sequence[str], kinds: Sequence[str]) -> Place:
    """Return the place of a column in :meth:`LoggedTable.values`.

    :param kinds: ``field``, ``element``, ``key`` or ``value`` for each part
    """
    place: list[str] = [METADATA, SCHEMA]
    above = "element"
    for part, kind in zip(parts, kinds):
        if above == "field":
            place.append("type")
        place += ["fields", part] if kind == "field" else [f"{kind}Type"]
        above = kind
    return tuple(place)


def _enabled_widening(table: LoggedTable) -> Iterator[Change]:
    place = (METADATA, CONFIGURATION, ENABLE_TYPE_WIDENING)
    present = value_at(table.metadata, place[1:])
    if present != ("true",):
        yield Change(place, present, ("true",))
    yield from _protocol_changes(table, [TYPE_WIDENING.name])


@proposes(RepairMethod.REQUIRED_FIELDS)
def _required(situation: Situation) -> Iterator[Correction]:
    """Add the fields that a schema lacks, with the values that readers assume."""
    values = situation.table.values()[METADATA].get(SCHEMA)
    changes = tuple(_missing_fields(values, (METADATA, SCHEMA)))
    if changes:
        yield Correction(RepairMethod.REQUIRED_FIELDS, changes)


def _missing_fields(value: Any, place: Place) -> Iterator[Change]:
    if not isinstance(value, Mapping):
        return
    assumed: Json = {"array": {"containsNull": True}, "map": {"valueContainsNull": True}}.get(
        str(value.get("type")), {}
    )
    if place[-2:-1] == (FIELDS,):
        assumed = {"nullable": True, "metadata": {}}
    for key, default in assumed.items():
        if key not in value:
            yield Change((*place, key), (), (default,))
    for key, below in value.items():
        if key != "metadata":
            yield from _missing_fields(below, (*place, key))


@proposes(RepairMethod.CLUSTERING_NAMES)
def _clustering(situation: Situation) -> Iterator[Correction]:
    """Name the clustering columns as data files do."""
    table = situation.table
    present = table.domains.get(CLUSTERING_DOMAIN)
    schema = Metadata.from_json(table.metadata).readable_mapped_schema
    try:
        wire = json.loads(present or "")
        named = [tuple(path) for path in wire["clusteringColumns"]]
    except (KeyError, TypeError, ValueError):
        return
    if schema is None:
        return
    physical = {field.column.parts: field.path for field in schema.fields if field.path is not None}
    stored = set(physical.values())
    found = [path if path in stored else physical.get(path, path) for path in named]
    unknown = [".".join(map(str, path)) for path in found if path not in stored]
    after = {**wire, "clusteringColumns": [list(path) for path in found if path in stored]}
    text = json.dumps(after, ensure_ascii=False, separators=(",", ":"))
    if after != wire:
        loses = (f"The table is no longer clustered by {', '.join(unknown)}.",) if unknown else ()
        change = Change((DOMAIN, CLUSTERING_DOMAIN), (present,), (text,))
        yield Correction(RepairMethod.CLUSTERING_NAMES, (change,), loses=loses)


def _properties(head: LoggedTable | None) -> Mapping[str, Any]:
    return {} if head is None else head.metadata.get(CONFIGURATION) or {}


@proposes(RepairMethod.TIMESTAMP_START)
def _timestamp_start(situation: Situation) -> Iterator[Correction]:
    """Record the version and the time at which in-commit timestamps were enabled, as that commit states them."""
    table = situation.table
    for version in range(situation.finding.version or 0, 0, -1):
        heads = [situation.past.heads(number) for number in (version - 1, version)]
        before, after = (_properties(head).get(ENABLE_IN_COMMIT_TIMESTAMPS) for head in heads)
        if after == "true" and before != "true":
            break
    else:
        return
    infos = (action.get("commitInfo") or {} for action in situation.past.commit_of(version))
    time = next((info["inCommitTimestamp"] for info in infos if type(info.get("inCommitTimestamp")) is int), None)
    if time is None:
        return
    due = {ENABLEMENT_VERSION: str(version), ENABLEMENT_TIMESTAMP: str(time)}
    places = {name: (METADATA, CONFIGURATION, name) for name in due}
    changes = (Change(place, value_at(table.metadata, place[1:]), (due[name],)) for name, place in places.items())
    if wrong := tuple(change for change in changes if change.before != change.after):
        yield Correction(RepairMethod.TIMESTAMP_START, wrong)


@proposes(RepairMethod.IDENTITY_MARK)
def _identity_mark(situation: Situation) -> Iterator[Correction]:
    """Set the high water mark of an identity column to the next value of its sequence past a known one."""
    value, column = situation.facts.get("value"), situation.finding.column
    if column is None or type(value) is not int:
        return
    place = (*field_place(parse_path(column), ["field"] * len(parse_path(column))), "metadata")
    keys = value_at(situation.table.values(), place)
    known = keys[0] if keys and isinstance(keys[0], Mapping) else {}
    start, step, mark = (known.get(f"delta.identity.{key}") for key in ("start", "step", "highWaterMark"))
    if type(start) is not int or type(step) is not int or step == 0:
        return
    values = [value, *([mark] if type(mark) is int else [])]
    furthest = max(values) if step > 0 else min(values)
    after = start + -(-(furthest - start) // step) * step
    if after != mark:
        whole = (*place, "delta.identity.highWaterMark")
        change = Change(whole, value_at(situation.table.values(), whole), (after,))
        yield Correction(RepairMethod.IDENTITY_MARK, (change,))


def version_before(situation: Situation) -> LoggedTable | str:
    """Return the version before a finding, or the reason why the table cannot go back to it."""
    finding, now = situation.finding, situation.table
    if finding.version is None or finding.at_or_before:
        return "The table cannot go back: the commit that broke the rule is not known."
    if not finding.version:
        return "The table cannot go back: its first commit broke the rule."
    number = finding.version - 1
    before = situation.past.version(number)
    if before is None:
        return f"The table cannot go back: the log no longer has all of version {number}."
    known = {path for path, _ in now.files.keys() - now.removed}
    lost = sorted(path for path, _ in before.files if path not in known and situation.past.stored(path) is None)
    if lost:
        more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
        return visible(f"The table cannot go back: version {number} needs a data file that is gone: {lost[0]}{more}.")
    return before


#: Maximum number of files whose rows are named, of those that an earlier version lacks.
_MOST_LOST = 10


@proposes(RepairMethod.EARLIER_VERSION)
def _earlier_version(situation: Situation) -> Iterator[Correction]:
    """Go back to the version before the finding. Protocol and high water marks stay, as RESTORE leaves them."""
    finding, now = situation.finding, situation.table
    before = version_before(situation)
    if isinstance(before, str) or not finding.version:
        return
    live = now.files.keys() - now.removed
    try:
        features = [Protocol.from_json(table.protocol).features for table in (before, now)]
        protocol = _with_features(Protocol.from_json(now.protocol), features[0] | features[1]).to_json()
    except (KeyError, ValueError):
        return
    metadata = {**before.metadata, CONFIGURATION: {**_properties(before)}}
    ids = [_integer(_properties(table).get(MAX_COLUMN_ID)) for table in (before, now)]
    if MAX_COLUMN_ID in metadata[CONFIGURATION]:
        metadata[CONFIGURATION][MAX_COLUMN_ID] = str(max(number for number in ids if number is not None))
    marks = {ROW_TRACKING_DOMAIN: now.domains[ROW_TRACKING_DOMAIN]} if ROW_TRACKING_DOMAIN in now.domains else {}
    removed = frozenset(live - before.files.keys())
    after = LoggedTable(protocol, metadata, {**before.domains, **marks}, {**now.files, **before.files}, removed)
    last, files = situation.state.version, len(removed)
    kept = {path for path, _ in before.files}
    lost = [rows_text(now.files[key], now.metadata) for key in sorted(removed) if key[0] not in kept]
    more = [f"{len(lost) - _MOST_LOST} more files"] if len(lost) > _MOST_LOST else []
    details = f" ({'; '.join([*lost[:_MOST_LOST], *more])})" if lost else ""
    loses = f"All rows that versions {finding.version} to {last} wrote: {files} data file{'s' * (files != 1)}{details}."
    sees = f"The table is as in version {finding.version - 1}."
    yield Correction(RepairMethod.EARLIER_VERSION, back_to=(finding.version - 1, after), loses=(loses,), sees=(sees,))


def visible_columns(metadata: Json) -> dict[str, tuple[str, ...]]:
    """Return the type of each leaf column, and the path that its values have in data files; empty if unreadable."""
    known = Metadata.from_json(metadata)
    mode = known.properties.mapping_mode
    leaves = [c for c in known.readable_columns or () if not isinstance(c.data_type, (StructType, ArrayType, MapType))]
    try:
        return {str(leaf): (str(leaf.data_type), *physical_parts(leaf, known.schema, mode)) for leaf in leaves}
    except (BrokenLogError, KeyError, TypeError):
        return {}
