"""A server that speaks as much of S3's interface as reading and saving takes, in memory, on a thread of its own.

It counts what it is asked for, takes its time if told to, and fails on demand: by real HTTP, met by real clients.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

_WRITTEN = "Sun, 01 Nov 2026 10:00:00 GMT"
_PAGE = 1000
_TEXTS = {200: "OK", 206: "Partial Content", 301: "Moved", 403: "Forbidden", 404: "Not Found", 412: "Failed"}
_TEXTS |= {400: "Bad", 416: "Range", 500: "Error", 503: "Slow Down"}
#: What Amazon says, where clients go by it.
_MESSAGES = {
    "InvalidAccessKeyId": "The AWS Access Key Id you provided does not exist in our records.",
    "ExpiredToken": "The provided token has expired.",
    "AuthorizationHeaderMalformed": "The authorization header is malformed; the region 'us-east-1' is wrong; expecting "
    "'eu-central-1'",
}
Answer = tuple[int, dict[str, str], bytes]
#: Looks at method and key, and answers in the server's place; None where it does not. Status 0 is no answer: the
#: connection is reset, or nothing comes for an hour.
Fault = Callable[[str, str], tuple[int, str] | None]
RESET, SILENCE = (0, "reset"), (0, "silence")


class SmallS3:
    """The server of one bucket.

    :param delay: seconds that each answer takes
    """

    def __init__(self, bucket: str = "lake", delay: float = 0.0) -> None:
        self.bucket = bucket
        self.delay = delay
        self.objects: dict[str, bytes] = {}
        self.asked: Counter[tuple[str, str]] = Counter()
        """Requests by method, which is ``LIST`` for listings, and key or prefix."""
        self.most_at_once = 0
        self.fault: Fault = lambda method, key: None
        self._under_way = 0
        self._keys: list[str] = []
        self._loop = asyncio.new_event_loop()

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def environment(self) -> dict[str, str]:
        """Return what makes clients use it."""
        keys = {"AWS_ACCESS_KEY_ID": "access", "AWS_SECRET_ACCESS_KEY": "hidden", "AWS_REGION": "us-east-1"}
        return {"AWS_ENDPOINT_URL": self.endpoint, "AWS_DEFAULT_REGION": "us-east-1", **keys}

    def put(self, key: str, content: bytes) -> None:
        """Store an object."""
        if key not in self.objects:
            insort(self._keys, key)
        self.objects[key] = content

    def remove(self, key: str) -> None:
        """Remove an object."""
        del self.objects[key]
        self._keys.remove(key)

    def load(self, directory: Path, prefix: str) -> None:
        """Store the files of a directory."""
        for file in filter(Path.is_file, directory.rglob("*")):
            self.put(f"{prefix}/{file.relative_to(directory)}", file.read_bytes())

    @contextmanager
    def running(self, port: int = 0) -> Iterator[SmallS3]:
        """Serve on a thread of its own."""
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", port, backlog=512))
        self._port = server.sockets[0].getsockname()[1]
        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stop, server)
            thread.join()
            self._loop.close()

    def _stop(self, server: asyncio.Server) -> None:
        server.close()
        serving = asyncio.all_tasks(self._loop)
        for task in serving:
            task.cancel()
        asyncio.gather(*serving, return_exceptions=True).add_done_callback(lambda _: self._loop.stop())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                request, *lines = head.split("\r\n")
                headers = {name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
                method, target, _ = request.split(" ")
                if "expect" in headers:
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = await reader.readexactly(int(headers.get("content-length") or 0))
                self._under_way += 1
                self.most_at_once = max(self.most_at_once, self._under_way)
                await asyncio.sleep(self.delay)
                status, extra, content = self._answer(method, target, headers, body)
                self._under_way -= 1
                if not status:
                    await asyncio.sleep(3600 if content == b"silence" else 0)
                    writer.transport.abort()
                    break
                answered = {"Content-Length": str(len(content)), **extra}
                names = "".join(f"{name}: {value}\r\n" for name, value in answered.items())
                writer.write(f"HTTP/1.1 {status} {_TEXTS[status]}\r\n{names}\r\n".encode())
                writer.write(b"" if method == "HEAD" else content)
                await writer.drain()
        except (asyncio.CancelledError, asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        url = urlsplit(target)
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        listing = "list-type" in query
        key = query.get("prefix", "") if listing else key
        method = "LIST" if listing else method
        self.asked[method, key] += 1
        if bucket != self.bucket:
            return _error(404, "NoSuchBucket")
        if fault := self.fault(method, key):
            return _error(*fault) if fault[0] else (0, {}, fault[1].encode())
        if listing:
            return 200, {"Content-Type": "application/xml"}, self._listing(query).encode()
        held = self.objects.get(key)
        if method == "PUT":
            body = _without_chunks(body) if "aws-chunked" in headers.get("content-encoding", "") else body
            if "if-none-match" in headers and held is not None:
                return _error(412, "PreconditionFailed")
            if headers.get("if-match") not in (None, held is not None and _tag(held)):
                return _error(412, "PreconditionFailed") if held is not None else _error(404, "NoSuchKey")
            self.put(key, body)
            return 200, {"ETag": _tag(body)}, b""
        if held is None:
            return _error(404, "NoSuchKey")
        meta = {"ETag": _tag(held), "Last-Modified": _WRITTEN, "Accept-Ranges": "bytes"}
        if "range" not in headers:
            return 200, {**meta, "Content-Length": str(len(held))}, held
        first, _, last = headers["range"].removeprefix("bytes=").partition("-")
        start, end = (int(first), int(last or len(held) - 1)) if first else (max(0, len(held) - int(last)), len(held))
        if start >= len(held):
            return _error(416, "InvalidRange")
        end = min(end, len(held) - 1)
        return 206, {**meta, "Content-Range": f"bytes {start}-{end}/{len(held)}"}, held[start : end + 1]

    def _listing(self, query: dict[str, str]) -> str:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
        after = query.get("continuation-token") or query.get("start-after") or ""
        found: list[str] = []
        last = ""
        for key in self._keys[bisect_left(self._keys, max(prefix, after)) :]:
            if not key.startswith(prefix) or len(found) == _PAGE:
                break
            folder, slash, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            shown = f"{prefix}{folder}{slash}" if slash else key
            if key <= after or (slash and (shown == last or after.startswith(shown))):
                continue
            last = shown
            found.append(shown)
        coded = quote if query.get("encoding-type") == "url" else escape
        listed = "".join(
            f"<CommonPrefixes><Prefix>{coded(name)}</Prefix></CommonPrefixes>"
            if delimiter and name.endswith(delimiter) and name != prefix
            else f"<Contents><Key>{coded(name)}</Key><Size>{len(self.objects[name])}</Size><ETag>e</ETag>"
            "<LastModified>2026-11-01T10:00:00.000Z</LastModified></Contents>"
            for name in found
        )
        coding = "<EncodingType>url</EncodingType>" if coded is quote else ""
        more = len(found) == _PAGE
        token = f"<NextContinuationToken>{escape(last)}</NextContinuationToken>" if more else ""
        return (
            f"<ListBucketResult><Name>{self.bucket}</Name><KeyCount>{len(found)}</KeyCount><MaxKeys>{_PAGE}</MaxKeys>"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{coding}{listed}</ListBucketResult>"
        )


def _without_chunks(body: bytes) -> bytes:
    """Return what was sent in signed chunks, each after a line with its size."""
    content = b""
    while body:
        head, _, rest = body.partition(b"\r\n")
        size = int(head.partition(b";")[0], 16)
        if not size:
            break
        content, body = content + rest[:size], rest[size + 2 :]
    return content


def _tag(content: bytes) -> str:
    return f'"{_digest(content)}"'


@lru_cache
def _digest(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


def _error(status: int, code: str) -> Answer:
    text = f"<Error><Code>{code}</Code><Message>{_MESSAGES.get(code, code)}</Message></Error>"
    return status, {"Content-Type": "application/xml"}, text.encode()
