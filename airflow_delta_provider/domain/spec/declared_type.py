"""Types as specs write them: in SQL, or as ``struct``, ``array`` and ``map`` with further keys."""

from __future__ import annotations

from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, MapType, StructType, sql_name
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.engine.sql_identifier import quote
from airflow_delta_provider.domain.spec.table_spec import UNSAID, Array, ColumnSpec, Leaf, Map, Shape, Struct


def parse_shape(text: str) -> Shape:
    """Read a type, which may have ``NOT NULL`` and ``COMMENT`` in its structs, or bare ``struct``.

    :raises UnknownTypeError: if it is not a type
    """
    return shape_of(parse_sql_type(text, declared=True))


def shape_of(data_type: DataType) -> Shape:
    """Return the shape that declares a type.

    Nullable fields and fields without a comment leave both undeclared.
    """
    if isinstance(data_type, StructType):
        return Struct(
            tuple(
                ColumnSpec(
                    name=field.name,
                    shape=shape_of(field.data_type),
                    nullable=None if field.nullable else False,
                    comment=field.metadata.get("comment", UNSAID),
                )
                for field in data_type.fields
            )
        )
    if isinstance(data_type, ArrayType):
        return Array(shape_of(data_type.element))
    if isinstance(data_type, MapType):
        return Map(shape_of(data_type.key), shape_of(data_type.value))
    return Leaf(data_type)


def with_fields(shape: Shape, fields: tuple[ColumnSpec, ...]) -> Shape:
    """Return a shape with ``fields`` in its empty struct."""
    if isinstance(shape, Array):
        return Array(with_fields(shape.element, fields))
    if isinstance(shape, Map):
        return Map(with_fields(shape.key, fields), with_fields(shape.value, fields))
    return Struct(fields) if shape == Struct(()) else shape


def structs_in(shape: Shape) -> tuple[Struct, ...]:
    """Return the outermost structs of a shape."""
    if isinstance(shape, Struct):
        return (shape,)
    if isinstance(shape, Array):
        return structs_in(shape.element)
    return (*structs_in(shape.key), *structs_in(shape.value)) if isinstance(shape, Map) else ()


def levels_of(shape: Shape) -> int:
    """Return the depth of nested types in a shape; 0 for a leaf."""
    if isinstance(shape, Leaf):
        return 0
    if isinstance(shape, Struct):
        return 1 + max((levels_of(field.shape) for field in shape.fields if field.shape is not None), default=0)
    if isinstance(shape, Array):
        return 1 + levels_of(shape.element)
    return 1 + max(levels_of(shape.key), levels_of(shape.value))


def outline(shape: Shape) -> str:
    """Return a shape in SQL, with bare ``struct`` for its structs."""
    if isinstance(shape, Leaf):
        return sql_name(shape.data_type, quote)
    if isinstance(shape, Array):
        return f"array<{outline(shape.element)}>"
    return f"map<{outline(shape.key)},{outline(shape.value)}>" if isinstance(shape, Map) else "struct"
