"""A server of S3 in this process, with copies of tables, and the schemas of tables by their logs."""

from __future__ import annotations

import json
import os
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

#: Name of the only bucket.
BUCKET = "tables"
#: Access key and secret key, which nothing compares.
KEY = "measured"
_NEXT = count()


class Store:
    """A running server. Other processes reach it at ``address``."""

    def __init__(self) -> None:
        """Start it."""
        import boto3
        from botocore.config import Config
        from moto.server import ThreadedMotoServer

        os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
        served = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        served.start()
        host, port = served.get_host_and_port()
        self.address = f"http://{host}:{port}"
        keys = {"aws_access_key_id": KEY, "aws_secret_access_key": KEY}
        # kernels know a signed URL by the parameters of this version
        config = Config(signature_version="s3v4", s3={"addressing_style": "path"})
        self._client = boto3.client("s3", endpoint_url=self.address, region_name="us-east-1", config=config, **keys)
        self._client.create_bucket(Bucket=BUCKET)

    def copy(self, path: str) -> str:
        """Copy a local table; return its prefix."""
        prefix = f"t{next(_NEXT)}"
        for file in Path(path).rglob("*"):
            if file.is_file() and not file.name.startswith("."):  # Hadoop's checksums, which no store has
                self._client.upload_file(str(file), BUCKET, f"{prefix}/{file.relative_to(path).as_posix()}")
        return prefix

    def keys(self, prefix: str) -> list[str]:
        """Return the keys below a prefix, at most 1000."""
        listed = self._client.list_objects_v2(Bucket=BUCKET, Prefix=prefix)
        return [each["Key"] for each in listed["Contents"]]

    def signed(self, key: str) -> str:
        """Return a URL that reads an object without credentials."""
        return str(self._client.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": key}))


def fields_of(path: str) -> list[dict[str, Any]]:
    """Return the fields of a local table's schema, by the last commit that has one."""
    found: list[dict[str, Any]] = []
    for commit in sorted(Path(path, "_delta_log").glob("*.json")):
        for line in commit.read_text(encoding="utf-8").splitlines() if commit.stem.isdigit() else ():
            if "metaData" in (action := json.loads(line)):
                found = json.loads(action["metaData"]["schemaString"])["fields"]
    return found


@cache
def store() -> Store:
    """Return the server of this process."""
    return Store()
