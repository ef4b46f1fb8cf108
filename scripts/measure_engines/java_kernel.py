"""Delta Kernel for Java with its default engine, in a JVM that this process starts.

Kernel leaves a part of a predicate to the program that uses it; here, that part is applied in Python.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from struct import pack, unpack
from typing import Any

#: File in an environment that lists the jars.
CLASSPATH = "classpath"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_COMPARISONS = {"=": operator.eq, "<": operator.lt, ">": operator.gt, ">=": operator.ge}
#: Getters of vectors, by the name of the type.
_GETTERS = {
    "boolean": "getBoolean",
    "byte": "getByte",
    "short": "getShort",
    "integer": "getInt",
    "long": "getLong",
    "float": "getFloat",
    "double": "getDouble",
    "string": "getString",
    "binary": "getBinary",
    "decimal": "getDecimal",
    "date": "getInt",
    "timestamp": "getLong",
    "timestamp_ntz": "getLong",
}
#: Values as Python has them, where py4j gives others.
_CONVERTED: Mapping[str, Callable[[Any], Any]] = {
    "float": lambda value: unpack("f", pack("f", value))[0],
    "date": lambda days: _EPOCH.date() + timedelta(days=days),
    "timestamp": lambda micros: _EPOCH + timedelta(microseconds=micros),
    "timestamp_ntz": lambda micros: (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None),
}
_WHOLE = {"byte": "ofByte", "short": "ofShort", "integer": "ofInt", "long": "ofLong"}


@cache
def _kernel() -> tuple[Any, Any, Any]:
    """Start a JVM; return its gateway, the package of Kernel, and an engine."""
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    jars = Path(sys.prefix, CLASSPATH).read_text(encoding="utf-8").strip()
    port = launch_gateway(classpath=jars, die_on_exit=True, javaopts=["-Xmx1g"])
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    package = gateway.jvm.io.delta.kernel
    engine = package.defaults.engine.DefaultEngine.create(gateway.jvm.org.apache.hadoop.conf.Configuration())
    return gateway, package, engine


class KernelError(Exception):
    """An exception of Java: its class and message."""


@contextmanager
def _exceptions() -> Iterator[None]:
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        raise KernelError(error.java_exception.toString()) from error


def _each(iterator: Any) -> Iterator[Any]:
    from py4j.java_gateway import JavaMember

    # The method of py4j itself takes each exception of Java for the end.
    following = JavaMember("next", iterator, iterator._target_id, iterator._gateway_client)
    while iterator.hasNext():
        yield following()
    iterator.close()


@_exceptions()
def rows(path: str, predicate: Any) -> list[dict[str, Any]]:
    """Return the rows of a table, or those of a predicate: column, comparison, value."""
    gateway, kernel, engine = _kernel()
    snapshot = kernel.Table.forPath(engine, path).getLatestSnapshot(engine)
    builder, wanted = _asked(snapshot.getScanBuilder, engine), None
    if predicate:
        name, comparison, value = predicate
        kind = _asked(snapshot.getSchema, engine).get(name).getDataType()
        wanted = python_value(value, str(kind).lower())
        column = kernel.expressions.Column(name)
        if value is None:
            columns = gateway.jvm.java.util.ArrayList()
            columns.add(column)
            test = comparison.upper().replace(" ", "_")
            builder = _asked(builder.withFilter, engine, kernel.expressions.Predicate(test, columns))
        elif (literal := _literal(kernel, str(kind).lower(), wanted)) is not None:
            builder = _asked(builder.withFilter, engine, kernel.expressions.Predicate(comparison, column, literal))
    scan = builder.build()
    state, found = scan.getScanState(engine), []
    for files in _each(scan.getScanFiles(engine)):
        for file in _each(files.getRows()):
            for batch in _each(_batches(gateway, kernel, engine, state, file)):
                found += _selected(batch)
    return [row for row in found if not predicate or meets(row[predicate[0]], predicate[1], wanted)]


@_exceptions()
def log_entries(path: str) -> tuple[int, dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    """Return version, protocol, metadata and live files of a table, as its log has them; for Kernel before 4.0."""
    _, kernel, engine = _kernel()
    snapshot = kernel.Table.forPath(engine, path).getLatestSnapshot(engine)
    protocol, metadata = snapshot.getProtocol(), snapshot.getMetadata()
    lists = {"readerFeatures": protocol.getReaderFeatures(), "writerFeatures": protocol.getWriterFeatures()}
    found = {"minReaderVersion": protocol.getMinReaderVersion(), "minWriterVersion": protocol.getMinWriterVersion()}
    columns = kernel.internal.util.VectorUtils.toJavaList(metadata.getPartitionColumns())
    described = {
        "id": metadata.getId(),
        "format": {"provider": metadata.getFormat().getProvider(), "options": {}},
        "schemaString": metadata.getSchemaString(),
        "partitionColumns": list(columns),
        "configuration": dict(metadata.getConfiguration()),
    }
    snapshot.getSchema(engine)  # which fails for types that it does not know
    scan = snapshot.getScanBuilder(engine).build()
    files = [row["add"] for batch in _each(scan.getScanFiles(engine, True)) for row in _selected(batch)]
    features = {name: list(listed) for name, listed in lists.items() if listed}
    return snapshot.getVersion(engine), found | features, described, files


def vector_file(vector: Mapping[str, Any]) -> str:
    """Return the path of the file with a deletion vector, relative to the table.

    :param vector: descriptor with storage type ``u``
    """
    if vector["storageType"] != "u":
        raise NotImplementedError(f"deletion vectors with storage type {vector['storageType']}")
    _, kernel, _ = _kernel()
    folder, encoded = vector["pathOrInlineDv"][:-20], vector["pathOrInlineDv"][-20:]
    uuid = kernel.internal.deletionvectors.Base85Codec.decodeUUID(encoded).toString()
    name = f"deletion_vector_{uuid}.bin"
    return f"{folder}/{name}" if folder else name


def _asked(method: Any, engine: Any, *arguments: Any) -> Any:
    """Call a method. Before Delta 4.0, it also takes the engine."""
    from py4j.protocol import Py4JError

    try:
        return method(*arguments)
    except Py4JError as error:
        if "does not exist" not in str(error):
            raise
        return method(engine, *arguments)


def _batches(gateway: Any, kernel: Any, engine: Any, state: Any, file: Any) -> Any:
    """Return the logical batches of one data file."""
    internal = kernel.internal
    schema = _asked(internal.data.ScanStateRow.getPhysicalDataReadSchema, engine, state)
    status = internal.util.Utils.singletonCloseableIterator(internal.InternalScanFileUtils.getAddFileStatus(file))
    read = engine.getParquetHandler().readParquetFiles(status, schema, gateway.jvm.java.util.Optional.empty())
    taken = gateway.jvm.java.util.ArrayList()
    for each in _each(read):
        taken.add(each.getData() if "FileReadResult" in each.getClass().getName() else each)
    data = internal.util.Utils.toCloseableIterator(taken.iterator())
    return kernel.Scan.transformPhysicalData(engine, state, file, data)


def _selected(batch: Any) -> Iterator[dict[str, Any]]:
    data, selection = batch.getData(), batch.getSelectionVector()
    fields = list(data.getSchema().fields())
    vectors = [data.getColumnVector(number) for number in range(len(fields))]
    for index in range(data.getSize()):
        if not selection.isPresent() or (not selection.get().isNullAt(index) and selection.get().getBoolean(index)):
            named = zip(fields, vectors)
            yield {field.getName(): _value(vector, index, field.getDataType()) for field, vector in named}


def _value(vector: Any, index: int, kind: Any) -> Any:
    """Return a value of a vector.

    :param kind: type by the logical schema: fields of vectors have physical names
    """
    if vector.isNullAt(index):
        return None
    name = _name(kind)
    if name in _GETTERS:
        value = getattr(vector, _GETTERS[name])(index)
        return _CONVERTED.get(name, lambda same: same)(value)
    if name.startswith("array"):
        array, element = vector.getArray(index), kind.getElementType()
        return [_value(array.getElements(), number, element) for number in range(array.getSize())]
    if name.startswith("map"):
        entries, types = vector.getMap(index), (kind.getKeyType(), kind.getValueType())
        sides = entries.getKeys(), entries.getValues()
        pairs = [
            [_value(side, number, each) for side, each in zip(sides, types)] for number in range(entries.getSize())
        ]
        return dict(pairs)
    if name.startswith("struct"):
        fields = enumerate(kind.fields())
        return {
            field.getName(): _value(vector.getChild(number), index, field.getDataType()) for number, field in fields
        }
    raise NotImplementedError(f"values of type {kind}")


def _name(kind: Any) -> str:
    return str(kind).lower().partition("(")[0]


def python_value(value: Any, kind: str) -> Any:
    """Return the value of a predicate as a column of a type gives it."""
    if isinstance(value, Mapping):
        ((_, value),) = value.items()
    if value is None:
        return None
    if kind.startswith("decimal"):
        return Decimal(str(value))
    if kind == "date":
        return date.fromisoformat(value)
    if kind.startswith("timestamp"):
        return datetime.fromisoformat(value).replace(tzinfo=timezone.utc if kind == "timestamp" else None)
    return float(value) if kind in ("float", "double") else value


def _literal(kernel: Any, kind: str, value: Any) -> Any:
    """Return a literal of a type; None if the type does not have the value: such a predicate skips no files."""
    of = kernel.expressions.Literal
    if kind in _WHOLE:
        return getattr(of, _WHOLE[kind])(value) if isinstance(value, int) else None
    if kind.startswith("decimal"):
        precision, scale = map(int, kind.partition("(")[2].rstrip(")").split(","))
        try:
            exact = value.quantize(Decimal(1).scaleb(-scale))
        except InvalidOperation:
            return None
        return of.ofDecimal(exact, precision, scale) if exact == value else None
    if kind == "date":
        return of.ofDate((value - _EPOCH.date()).days)
    if kind.startswith("timestamp"):
        micros = (value.replace(tzinfo=timezone.utc) - _EPOCH) // timedelta(microseconds=1)
        return (of.ofTimestamp if kind == "timestamp" else of.ofTimestampNtz)(micros)
    makers = {"boolean": of.ofBoolean, "double": of.ofDouble, "string": of.ofString}
    return makers[kind](value) if kind in makers else None


def meets(value: Any, comparison: str, wanted: Any) -> bool:
    """Return True if a value meets a comparison as Spark makes it."""
    if value is None or wanted is None:
        return (comparison == "is null") is (value is None) and wanted is None
    if isinstance(value, float) and math.isnan(value):  # Spark takes NaN as greater than all others
        return comparison in (("=", ">=") if math.isnan(wanted) else (">", ">="))
    return bool(_COMPARISONS[comparison](value, wanted))


@_exceptions()
def append(path: str, columns: list[str], given: list[Any]) -> int:
    """Append a row; return the number of new versions."""
    gateway, kernel, engine = _kernel()
    table = kernel.Table.forPath(engine, path)
    before = _asked(table.getLatestSnapshot(engine).getVersion, engine)
    written = table.createTransactionBuilder(engine, "measured", kernel.Operation.WRITE).build(engine)
    state, schema = written.getTransactionState(engine), written.getSchema(engine)
    one = kernel.defaults.internal.data.DefaultColumnarBatch
    nothing = one(1, kernel.types.StructType(), gateway.new_array(kernel.data.ColumnVector, 0))
    vectors = gateway.new_array(kernel.data.ColumnVector, len(columns))
    kinds = [field.getDataType() for field in schema.fields()]
    for number, (kind, value) in enumerate(zip(kinds, given)):
        vectors[number] = _vector(engine, kernel, nothing, kind, value)
    single = kernel.internal.util.Utils.singletonCloseableIterator
    empty = gateway.jvm.java.util.Optional.empty()
    batch = single(kernel.data.FilteredColumnarBatch(one(1, schema, vectors), empty))
    partition = gateway.jvm.java.util.HashMap()
    physical = kernel.Transaction.transformLogicalData(engine, state, batch, partition)
    context = kernel.Transaction.getWriteContext(engine, state, partition)
    target, statistics = context.getTargetDirectory(), context.getStatisticsColumns()
    files = engine.getParquetHandler().writeParquetFiles(target, physical, statistics)
    actions = kernel.Transaction.generateAppendActions(engine, state, files, context)
    written.commit(engine, kernel.utils.CloseableIterable.inMemoryIterable(actions))
    return int(_asked(table.getLatestSnapshot(engine).getVersion, engine) - before)


def _vector(engine: Any, kernel: Any, nothing: Any, kind: Any, value: Any) -> Any:
    if value is None:
        return kernel.defaults.internal.data.vector.DefaultConstantVector(kind, 1, None)
    literal = _literal(kernel, str(kind).lower(), value)
    return engine.getExpressionHandler().getEvaluator(nothing.getSchema(), literal, kind).eval(nothing)
