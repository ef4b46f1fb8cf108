"""SQL functions by the dependencies of their values.

The names come from Spark's registry of built-in functions, with some of Databricks. A name that is not listed belongs
to the user, to an extension, or to a newer Spark: nothing is known about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


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
