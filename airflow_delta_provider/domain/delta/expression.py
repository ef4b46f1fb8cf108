"""The names that SQL expressions in a table's metadata refer to.

CHECK constraints, generated columns, invariants and defaults contain expressions as strings. A tokenizer is enough to
find the names in them and, unlike a parser, reads the dialect of any engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta.data_type import Column, folded, lowered
from airflow_delta_provider.domain.formats.json_values import parse_json

_TOKEN = re.compile(
    r"""
    # Also raw, r'\d', and binary, X'1F'.
    (?P<string>[rR](?:'[^']*'|"[^"]*") | (?:[xX]\s*)?(?:'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.)*"))
    | (?P<comment>--[^\n]*|/\*.*?\*/)
    | (?P<number>\d[\w.]*)                           # with their suffixes: 10L
    # Of what a call or an index gives, of a semi-structured value (v:a.b), and the type of a cast (v::int).
    | (?P<member>(?:\.|::?)\s*(?:`(?:[^`]|``)*`|[^\W\d]\w*)(?:\s*\.\s*(?:`(?:[^`]|``)*`|[^\W\d]\w*))*)
    | (?P<path>(?:`(?:[^`]|``)*`|[^\W\d]\w*)(?:\s*\.\s*(?:`(?:[^`]|``)*`|[^\W\d]\w*))*) (?P<call>\s*\()?
    | (?P<arrow>[-=]>)
    | (?P<sign>\S)
    """,
    re.VERBOSE | re.DOTALL,
)
_PART = re.compile(r"`((?:[^`]|``)*)`|([^\W\d]\w*)")
#: Names that may be keywords of some dialect if they are not quoted, so they need not name a column.
_WORDS = frozenset(
    """
    all and any array as asc between both by case cast collate cross current_catalog current_database current_date
    current_schema current_time current_timestamp current_timezone current_user date day days dayofweek dayofyear
    decade desc distinct div else end epoch escape except exclude exists extract false filter first following for
    from group having hour hours ilike in inf infinity interval is isnull last leading like limit local localtime
    localtimestamp map microsecond microseconds millisecond milliseconds minute minutes month months nan natural not
    notnull null nulls of on or order over overlay partition placing position preceding quarter quarters range
    regexp rlike row rows second seconds select separator session_user similar similarto some struct substring
    symmetric table then time timestamp timestamp_ltz timestamp_ntz timezone to trailing trim true try_cast
    unbounded unknown user using values void week weeks when where with within without year years yearofweek zone
    bigint binary boolean byte char dec decimal double float int integer long numeric real short smallint string
    tinyint variant varchar text xor default row_number grouping sets geography geometry
    nanosecond nanoseconds void
    """.split()
)
#: Signs of syntax that is not understood, such as parameters.
_FOREIGN_SIGNS = frozenset(":@$#?{}\\;")
#: Words, with or without a parenthesis, that are not followed by a column.
_BEFORE_NO_COLUMN = frozenset({"as", "collate", "extract"})
#: ``LIKE ANY (…)`` is not a function call.
_BEFORE_QUANTIFIER = frozenset({"like", "ilike"})
_QUANTIFIERS = frozenset({"all", "any", "some"})
_ARITHMETIC = frozenset("+-*/%()")


class Reference(NamedTuple):
    """A dotted name in an expression that is not called as a function.

    :param parts: parts as written, without quotes
    :param quoted: True if its first part is in backticks and so is not a SQL keyword
    """

    parts: tuple[str, ...]
    quoted: bool


def references(expression: str) -> Iterator[Reference]:
    """Yield the dotted names in ``expression``, without names of functions but including SQL keywords."""
    for token in _TOKEN.finditer(expression):
        if token["path"] and not token["call"]:
            parts = (quoted.replace("``", "`") if quoted else bare for quoted, bare in _PART.findall(token["path"]))
            yield Reference(tuple(parts), token["path"].startswith("`"))


def called_names(expression: str) -> Iterator[str]:
    """Yield the names that ``expression`` calls as functions, in lower case; some are SQL keywords."""
    before = ""
    for token in _TOKEN.finditer(expression):
        word = (token["path"] or "").lower()
        if word and token["call"] and not (before in _BEFORE_QUANTIFIER and word in _QUANTIFIERS):
            yield word
        before = word


#: A number, text, a typed literal or a word for a value. Spark joins neighbouring strings into one.
_LITERAL = re.compile(
    r"""
    [+-]?\s*(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?:bd|[ylsfd])? | true | false | null
    | (?:x|r|date|time|timestamp(?:_ntz|_ltz)?)?(?:\s*(?:'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"))+
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def is_literal(expression: str) -> bool:
    """Return True if ``expression`` is one literal of SQL: no operator, function, cast or parenthesis."""
    bare = _TOKEN.sub(lambda token: " " if token["comment"] else token[0], expression)
    return _LITERAL.fullmatch(bare.strip()) is not None


def has_subquery(expression: str) -> bool:
    """Return True if ``expression`` certainly has a subquery: ``select`` could also be a column's name."""
    tokens = [token for token in _TOKEN.finditer(expression) if not token["comment"]]
    for opening, word, after in zip(tokens, tokens[1:], tokens[2:]):
        if (opening["call"] or opening[0] == "(") and (word["path"] or "").lower() == "select":
            is_value = after["path"] or after["string"] or after["number"]
            if is_value or (after[0] == "*" and any((t["path"] or "").lower() == "from" for t in tokens)):
                return True
    return False


def divides(expression: str) -> bool:
    """Return True if ``expression`` has a slash as an operator."""
    return any(token["sign"] == "/" for token in _TOKEN.finditer(expression))


def expression_of_invariant(wire: Any) -> Any:
    """Return the expression in an invariant's JSON; None if it is malformed.

    The form is ``{"expression": {"expression": …}}``.
    """
    try:
        return parse_json(wire)["expression"]["expression"]
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def referenced_paths(expression: str) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names in ``expression``, case-folded, without names of functions."""
    return (folded(reference.parts) for reference in references(expression))


def same_expression(one: str, other: str) -> bool:
    """Return True if two expressions differ only in blanks, comments, and the case of names and keywords."""
    return list(_normal_tokens(one)) == list(_normal_tokens(other))


def _normal_tokens(expression: str) -> Iterator[str]:
    for token in _TOKEN.finditer(expression):
        if not token["comment"]:
            yield token[0] if token["string"] else "".join(token[0].split()).lower()


def refers_to(expression: str, parts: tuple[str, ...]) -> bool:
    """Return True if ``expression`` may name the column, a parent of it or a field below it."""
    wanted = folded(parts)
    return any(path[: len(wanted)] == wanted[: len(path)] for path in referenced_paths(expression))


class UnknownNames(NamedTuple):
    """Names in an expression that match no column.

    :param names: names in order, each once
    :param certain: True if they must be columns; False if the expression has parts that are not understood
    """

    names: tuple[str, ...]
    certain: bool


def unknown_names(expression: str, columns: Iterable[Column]) -> UnknownNames:
    """Return the names in ``expression`` that match no column, ignoring case.

    A name may be qualified by a table. SQL keywords and names that a lambda function binds count as known.
    """
    known = {lowered(column.parts) for column in columns}
    bound = _bound_names(expression)
    missing = {
        ".".join(reference.parts): None
        for reference in references(expression)
        if not _is_known(reference, known) and reference.parts[0].lower() not in bound
    }
    return UnknownNames(tuple(missing), certain=not any(map(_is_foreign, _TOKEN.finditer(expression))))


def _is_foreign(token: re.Match[str]) -> bool:
    """Return True if a token is not understood: a comment, a query, a parameter, the type of a struct."""
    word = (token["path"] or "").lower()
    return bool(
        token["comment"]
        or token["sign"] in _FOREIGN_SIGNS
        or word == "select"
        or (word == "struct" and not token["call"])
    )


def is_no_condition(expression: str, columns: Iterable[Column]) -> bool:
    """Return True if ``expression`` is certainly not Boolean: a literal, a column, or arithmetic with them."""
    types = {lowered(column.parts): str(column.data_type) for column in columns}
    for token in _TOKEN.finditer(expression):
        if token["string"] or token["number"] or token["sign"] in _ARITHMETIC:
            continue
        if not token["path"] or token["call"]:
            return False
        (reference,) = references(token["path"])
        if types.get(lowered(reference.parts), "boolean") == "boolean":
            return False
    return True


def _is_known(reference: Reference, known: set[tuple[str, ...]]) -> bool:
    parts = lowered(reference.parts)
    if not reference.quoted and parts[0] in _WORDS:
        return True
    # A path may begin with the name of the table, and continue with the keys of a map.
    return any((part,) in known for part in parts) and not _leaves_a_struct(parts, known)


def _leaves_a_struct(parts: tuple[str, ...], known: set[tuple[str, ...]]) -> bool:
    """Return True if a path goes from a struct to a field that the struct does not have."""
    if parts in known or parts[:1] not in known:
        return False
    end = next(length for length in range(1, len(parts) + 1) if parts[:length] not in known)
    below = {path[-1] for path in known if len(path) == end and path[:-1] == parts[: end - 1]}
    return bool(below) and not below & {"element", "key", "value"}


def _bound_names(expression: str) -> frozenset[str]:
    """Return names that are not columns.

    These are parameters of functions, aliases, types, collations and parts of dates. They appear as ``x -> …``, ``(x,
    y) -> …``, ``x => …``, ``AS x``, ``COLLATE x`` and ``EXTRACT(x …``.
    """
    bound: set[str] = set()
    before: list[str] = []
    for token in _TOKEN.finditer(expression):
        after = before[-2:] if before[-1:] == ["("] else before[-1:]
        if token["path"] and after and after[0].lower() in _BEFORE_NO_COLUMN:
            bound.add(token["path"].strip("`").lower())
        if token["arrow"]:
            if before and before[-1] == ")":
                before.pop()
                while before and before[-1] != "(":
                    bound.add(before.pop().lower())
            elif before:
                bound.add(before[-1].lower())
        if token["path"]:
            before.append(token["path"].strip("`"))
            before += ["("] if token["call"] else []
        else:
            before.append(token[0])
    return frozenset(bound)


_NAMES_AND_NUMBERS = r"`(?:[^`]|``)*` | \.?\d[\w.]* | \w+"
_READINGS = tuple(
    re.compile(rf"(?:{strings} | {_NAMES_AND_NUMBERS}) | (?P<sign>\S)", re.VERBOSE | re.DOTALL)
    for strings in (
        r"""\b[rR](?:'[^']*'|"[^"]*") | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" """,
        r"""'[^']*' | "[^"]*" """,
    )
)
_COMMENTS = ("--", "/*")
_QUOTES = frozenset("'\"`")
_CLOSING = {")": "(", "]": "["}
#: Signs between two operands.
_BETWEEN = frozenset("*/%=<>|&^,")
_BEFORE_ONE = frozenset("+-~!.")
#: Characters that no expression contains outside quotes.
_NO_SQL = frozenset("@#;")
_WORD = re.compile(r"[^\W\d]\w*")
#: Words that are values.
_VALUES = frozenset(
    """
    null true false current_catalog current_database current_date current_schema current_time current_timestamp
    current_timezone current_user localtime localtimestamp session_user user
    """.split()
)


def wrong_syntax(expression: str) -> str | None:
    """Return the error in ``expression``, or None if none is certain.

    The error is a sentence without its subject and full stop.
    """
    if not expression.strip():
        return "is empty"
    if any(mark in expression for mark in _COMMENTS):
        return None
    found = [_wrong(list(_tokens(reading, expression))) for reading in _READINGS]
    return found[0] if all(found) else None


def wrong_default(expression: str) -> str | None:
    """Return the error in the expression of a default, in the form of :func:`wrong_syntax`.

    A default cannot name columns.
    """
    wrong, text = wrong_syntax(expression), expression.strip()
    if wrong is None and _WORD.fullmatch(text):
        wrong = None if text.lower() in _VALUES else _names_column(text)
    elif wrong is None:
        unknown = unknown_names(expression, ())
        wrong = _names_column(", ".join(unknown.names)) if unknown.names and unknown.certain else None
    if wrong is None or not text or _QUOTES & set(text):
        return wrong
    return f"{wrong}. A default is SQL: for the text itself write \"'{text:.60}'\""


def _names_column(names: str) -> str:
    return f"names {names:.60}, and a default can name no column"


def _tokens(reading: re.Pattern[str], expression: str) -> Iterator[tuple[str, bool]]:
    return ((token[0], token["sign"] is not None) for token in reading.finditer(expression))


def _wrong(tokens: list[tuple[str, bool]]) -> str | None:
    opened: list[str] = []
    for text, is_sign in tokens:
        if not is_sign:
            continue
        if text in _QUOTES:
            return f"has a {text} that is not closed"
        if text in _NO_SQL:
            return f"has a {text} outside quotes, which no expression has"
        if text in _CLOSING.values():
            opened.append(text)
        elif text in _CLOSING and (not opened or opened.pop() != _CLOSING[text]):
            return f"has a {text} without its {_CLOSING[text]}"
    if opened:
        return f"has a {opened[-1]} that is not closed"
    (first, first_is_sign), (last, last_is_sign) = tokens[0], tokens[-1]
    if first_is_sign and first in _BETWEEN:
        return f"begins with {first}, and nothing before it"
    if last_is_sign and last in _BETWEEN | _BEFORE_ONE:
        return f"ends with {last}, and nothing after it"
    return None


class FunctionKind(Enum):
    """Kinds of functions; each value continues the sentence "it calls NAME, which"."""

    SCALAR = "gives the same value for the same arguments"
    CLOCK = "depends on the time"
    CHANGING = "gives another value each time"
    SESSION = "depends on the session"
    FILE = "depends on where the row is stored"
    RAISING = "fails on purpose"
    OUTSIDE = "can run code or read more than the row"
    AGGREGATE = "needs several rows"
    WINDOW = "needs the rows around a row"
    GENERATOR = "makes several rows of one"


_NAMES: Mapping[FunctionKind, str] = {
    FunctionKind.SCALAR: """
        abs acos acosh add_months aes_decrypt aggregate and array array_append array_compact array_contains
        array_distinct array_except array_insert array_intersect array_join array_max array_min array_position
        array_prepend array_remove array_repeat array_size array_sort array_union arrays_overlap arrays_zip
        ascii asin asinh atan atan2 atanh base64 between bigint bin binary bit_count bit_get bit_length
        bitmap_bit_position bitmap_bucket_number bitmap_count boolean bround btrim cardinality cast cbrt ceil
        ceiling char char_length character_length chr coalesce collate collation concat concat_ws contains conv
        convert_timezone cos cosh cot crc32 csc date date_add date_diff date_format date_from_unix_date
        date_part date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear
        decimal decode degrees div double e element_at elt encode endswith equal_null exists exp expm1 extract
        factorial filter find_in_set flatten float floor forall format_number format_string from_csv from_json
        from_unixtime from_utc_timestamp get get_json_object getbit greatest hash hex hour hypot if ifnull ilike
        in initcap instr int is_valid_utf8 is_valid_variant is_variant_null isnan isnotnull isnull
        json_array_length json_object_keys last_day lcase least left len length levenshtein like ln locate log
        log10 log1p log2 lower lpad ltrim luhn_check make_date make_dt_interval make_interval make_time
        make_timestamp make_timestamp_ltz make_timestamp_ntz make_valid_utf8 make_ym_interval map map_concat
        map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys map_values
        map_zip_with mask md5 minute mod month monthname months_between named_struct nanvl negative next_day not
        nullif nullifzero nvl nvl2 octet_length or overlay parse_json parse_url pi pmod position positive pow
        power printf quarter quote radians reduce regexp regexp_count regexp_extract regexp_extract_all
        regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right rint rlike round rpad
        rtrim schema_of_csv schema_of_json schema_of_variant sec second sentences sequence sha sha1 sha2
        shiftleft shiftright shiftrightunsigned sign signum sin sinh size slice smallint sort_array soundex
        space split split_part sqrt st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid startswith
        str_to_map string struct substr substring substring_index tan tanh time time_bucket time_diff
        time_from_micros time_from_millis time_from_seconds time_to_micros time_to_millis time_to_seconds
        time_trunc timestamp timestamp_micros timestamp_millis timestamp_seconds tinyint to_binary to_char
        to_csv to_date to_json to_number to_time to_timestamp to_timestamp_ltz to_timestamp_ntz
        to_unix_timestamp to_utc_timestamp to_varchar to_variant_object transform transform_keys
        transform_values translate trim trunc try_add try_aes_decrypt try_divide try_element_at
        try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply
        try_parse_json try_parse_url try_subtract try_to_binary try_to_date try_to_number try_to_time
        try_to_timestamp try_url_decode try_validate_utf8 try_variant_get typeof ucase unbase64 unhex unix_date
        unix_micros unix_millis unix_seconds upper url_decode url_encode validate_utf8 variant_get
        vector_cosine_similarity vector_inner_product vector_l2_distance vector_norm vector_normalize weekday
        weekofyear when width_bucket xxhash64 year zeroifnull zip_with
    """,
    FunctionKind.CLOCK: """
        curdate current_date current_time current_timestamp getdate localtime localtimestamp now unix_timestamp
    """,
    FunctionKind.CHANGING: """
        aes_encrypt rand randn random randstr shuffle uniform uuid
    """,
    FunctionKind.SESSION: """
        current_catalog current_database current_path current_schema current_timezone current_user session_user
        user version
    """,
    FunctionKind.FILE: """
        input_file_block_length input_file_block_start input_file_name monotonically_increasing_id
        spark_partition_id
    """,
    FunctionKind.RAISING: """
        assert_true raise_error
    """,
    FunctionKind.OUTSIDE: """
        ai_query from_avro from_protobuf from_xml http_request java_method read_files reflect schema_of_avro
        schema_of_xml secret to_avro to_protobuf to_xml try_reflect try_secret xpath xpath_boolean xpath_double
        xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string
    """,
    FunctionKind.AGGREGATE: """
        any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
        approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg
        bitmap_or_agg bool_and bool_or collect_list collect_set corr count count_if count_min_sketch covar_pop
        covar_samp every first first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg
        kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
        kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value listagg max max_by mean measure
        median min min_by mode percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy
        regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness
        some std stddev stddev_pop stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg
        theta_union_agg try_avg try_sum tuple_intersection_agg_double tuple_intersection_agg_integer
        tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop
        var_samp variance vector_avg vector_sum
    """,
    FunctionKind.WINDOW: """
        cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number
    """,
    FunctionKind.GENERATOR: """
        explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer session_window stack
        window
    """,
}
_KINDS: Mapping[str, FunctionKind] = MappingProxyType(
    {name: kind for kind, names in _NAMES.items() for name in names.split()}
)


def function_kind(name: str) -> FunctionKind | None:
    """Return the kind of a built-in function, in any case; None for an unknown name."""
    return _KINDS.get(name.lower())


def functions_of(*kinds: FunctionKind) -> frozenset[str]:
    """Return the names of all functions of the given kinds, in lower case."""
    return frozenset(name for name, kind in _KINDS.items() if kind in kinds)
