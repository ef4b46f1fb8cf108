"""No message quotes the bytes of a file: a table may name one that is none of its own."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.delta.commit import parse_commit
from airflow_delta_provider.domain.delta.deletion_vector import DeletionVector, bitmap_in_range, deleted_rows
from airflow_delta_provider.domain.delta.derived_files import parse_checksum
from airflow_delta_provider.domain.formats.avro.file import split_container
from airflow_delta_provider.domain.formats.avro.primitives import read_boolean
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.formats.parquet.footer import parse_footer
from airflow_delta_provider.domain.formats.roaring import read_bitmap
from airflow_delta_provider.domain.paimon import index_manifest as paimon_vector
from airflow_delta_provider.domain.paimon.index_manifest import VectorRange

_SECRETS = [b"AWS_SECRET=wJal\xffrXUtn", b"wJal\xff" * 40, bytes(range(0xC8, 0xFF))]
_VECTOR = DeletionVector("p", "file:/elsewhere", 0, 8, 1)


@pytest.mark.parametrize("secret", _SECRETS, ids=["text", "repeated", "bytes"])
@pytest.mark.parametrize(
    "read",
    [
        parse_footer,
        parse_json,
        parse_checksum,
        split_container,
        lambda secret: read_boolean(secret, 0),
        lambda secret: parse_commit("0.json", secret),
        lambda secret: bitmap_in_range(secret, _VECTOR),
        lambda secret: deleted_rows(secret, _VECTOR, None),
        lambda secret: read_bitmap(secret, 0, 100),
        lambda secret: paimon_vector.deleted_rows(secret, VectorRange("f", 0, 8, 1), 100),
        lambda secret: paimon_vector.deleted_rows(b"\x01" + secret, VectorRange("f", 1, 8, 1), 100),
        lambda secret: paimon_vector.deleted_rows(b"\x01\0\0\0\x0a" + secret, VectorRange("f", 1, 8, 1), 100),
    ],
)
def test_bytes_of_a_file_that_is_no_such_file_are_in_no_message(read, secret):
    with pytest.raises(Exception) as raised:  # noqa: PT011  # each reader has its own
        read(secret)

    message = str(raised.value).lower()
    for size in (1, 2, 4):
        for start in range(0, len(secret) - size + 1):
            part = secret[start : start + size]
            assert size == 1 or part.hex() not in message
            assert size < 4 or part.decode("latin1").lower() not in message
            numbers = {int.from_bytes(part, order) for order in ("big", "little")}
            assert not {str(number) for number in numbers if number >= 200} & set(message.replace(",", " ").split())
        assert f"0x{secret[-1]:02x}" not in message
