from __future__ import annotations

import pytest

from airflow_delta_provider.domain.delta.data_type import UnknownTypeError
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type, render_sql_type


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("INT", "int"),
        (" decimal ( 10 , 2 ) ", "decimal(10,2)"),
        ("timestamp_ltz", "timestamp"),
        ("array< array<long> >", "array<array<bigint>>"),
        ("map<string, decimal(3,1)>", "map<string,decimal(3,1)>"),
        ("struct<a:int,`b c`:string>", "struct<`a`:int,`b c`:string>"),
        ("STRUCT<a INT, b_1: array<struct<`x``y`:date>>>", "struct<`a`:int,`b_1`:array<struct<`x``y`:date>>>"),
        ("struct<größe:int>", "struct<`größe`:int>"),
    ],
)
def test_type_is_read_and_written_so_that_it_is_read_again(text, rendered):
    parsed = parse_sql_type(text)
    assert render_sql_type(parsed) == rendered
    assert parse_sql_type(rendered) == parsed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a SQL type"),
        ("bigit", "Did you mean 'bigint'"),
        ("array<bigit>", "Did you mean 'bigint'"),
        ("array", "'<' is missing at the end"),
        ("array<int", "'>' is missing at the end"),
        ("map<int>", "',' is missing before '>'"),
        ("struct<>", "a field of a struct is written name:type"),
        ("struct<1a:int>", "a field of a struct is written name:type"),
        ("struct<a:int,A:int>", "'a' more than once"),
        ("int; DROP TABLE t", "'; DROP TABLE t' is left over"),
        ("int NOT NULL", "NOT NULL is not possible here"),
        ("struct<a:int not null>", "NOT NULL is not possible here"),
        ("int DEFAULT 5", "DEFAULT is not possible here"),
        ("bigint GENERATED ALWAYS AS IDENTITY", "GENERATED is not possible here"),
        ("int COMMENT 'x'", "COMMENT is not possible here"),
        ("int FIRST", "FIRST is not possible here"),
        ("decimal(50,2)", "not a decimal"),
        ("array<" * 64 + "int" + ">" * 64, "nested more than 63 deep"),
        ("varchar(10)", "Write string"),
        ("strct<a:int>", "Did you mean 'struct'"),
    ],
)
def test_what_is_no_type_is_refused_with_what_is_wrong(text, message):
    with pytest.raises(UnknownTypeError, match=message):
        parse_sql_type(text)


def test_type_may_be_nested_as_deep_as_that_of_a_schema():
    text = "array<" * 63 + "int" + ">" * 63
    assert render_sql_type(parse_sql_type(text)) == text


def test_declared_type_has_comments_and_not_null_in_its_structs():
    parsed = parse_sql_type(
        "array<struct<a:int NOT NULL COMMENT 'it''s \\'so\\', a>b', `not null` struct comment \"x\", b: struct<>>>",
        declared=True,
    )
    assert [(field.name, field.nullable, dict(field.metadata)) for field in parsed.element.fields] == [
        ("a", False, {"comment": "it's 'so', a>b"}),
        ("not null", True, {"comment": "x"}),
        ("b", True, {}),
    ]
    assert render_sql_type(parsed.element.fields[1].data_type) == "struct<>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int NOT NULL", "have keys of their own"),
        ("struct<a:int COMMENT 'x' NOT NULL>", "NOT NULL is not possible here"),
        ("struct<a:int DEFAULT 1>", "DEFAULT is not possible here"),
        ("strct", "Did you mean 'struct'"),
    ],
)
def test_what_a_declared_type_cannot_have_is_refused(text, message):
    with pytest.raises(UnknownTypeError, match=message):
        parse_sql_type(text, declared=True)
