"""Trips from the cloud: Arrow's own S3 client against a small server on loopback that speaks enough of S3."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._cli.commands import run
from flowveil.synthetic import City

TRIPS = City(seed=3, persons=60).trips(600)
KEYS = "reader:hush"  # of a server that asks for none


class Bucket(BaseHTTPRequestHandler):
    """Answers HEAD, GET with ranges, and ListObjectsV2 for the files in `content`."""

    content: dict[str, bytes] = {}  # noqa: RUF012  set by the fixture
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        """Tell the size of a file."""
        self.answer(self.find(), only_size=True)

    def do_GET(self):
        """Send a file, a part of it, or a list of files."""
        if "list-type" in self.path:
            self.send_list()
        else:
            self.answer(self.find())

    def find(self):
        """Return the file that is asked for."""
        return self.content.get(unquote(urlsplit(self.path).path).removeprefix("/bucket/"))

    def answer(self, data, *, only_size=False):
        """Send bytes, or what is missing."""
        status, extra = (404, {}) if data is None else (200, {"Accept-Ranges": "bytes", "ETag": '"1"'})
        body = data or b""
        if "Range" in self.headers and data is not None:
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            end = min(int(last or len(data)) + 1, len(data))
            status, body = 206, data[int(first) : end]
            extra["Content-Range"] = f"bytes {first}-{end - 1}/{len(data)}"
        self.send_response(status)
        for name, value in {
            "Content-Length": str(len(body)),
            "Content-Type": "application/octet-stream",
            **extra,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if not only_size:
            self.wfile.write(body)

    def send_list(self):
        """List the files below a prefix, and the folders right below it where these are asked for."""
        asked = parse_qs(urlsplit(self.path).query)
        prefix, mark = asked.get("prefix", [""])[0], asked.get("delimiter", [None])[0]
        names = [name for name in sorted(self.content) if name.startswith(prefix)]
        folders = {
            prefix + name[len(prefix) :].split(mark)[0] + mark for name in names if mark and mark in name[len(prefix) :]
        }
        files = [name for name in names if not mark or mark not in name[len(prefix) :]]
        found = "".join(
            f"<Contents><Key>{escape(n)}</Key><Size>{len(self.content[n])}</Size></Contents>" for n in files
        )
        found += "".join(f"<CommonPrefixes><Prefix>{escape(n)}</Prefix></CommonPrefixes>" for n in sorted(folders))
        text = f"<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>{found}</ListBucketResult>"
        self.answer(text.encode())

    def log_message(self, *_):
        """Stay silent."""


@pytest.fixture(scope="module")
def address():
    """Start the server with two days of trips and some notes; return the address of a path in it."""
    for day, part in (("007", TRIPS.slice(0, 250)), ("010", TRIPS.slice(250))):
        sink = pa.BufferOutputStream()
        pq.write_table(part, sink)
        Bucket.content[f"trips/day={day}/part.parquet"] = sink.getvalue().to_pybytes()
    Bucket.content |= {"trips/_SUCCESS": b"", "trips/day=007/._part.parquet": b"a note", "notes/read.txt": b"hello"}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = f"scheme=http&region=us-east-1&endpoint_override=127.0.0.1:{server.server_port}"
    yield lambda path: f"s3://{KEYS}@bucket/{path}?{options}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("path", ["trips", "trips/", "trips/*.parquet", "trips/day=*/part.parquet"])
def test_folder_in_the_cloud(path, address):
    """A folder or a pattern in the cloud gives the same flows as the table; keys of folders are columns of text."""
    trips = fv.read_trips(address(path))

    actual, expected = (fv.build_flows(source, "h3:8", unit="person_id", weight="weight") for source in (trips, TRIPS))

    assert actual.trips.tolist() == expected.trips.tolist()
    assert actual.people.person.tolist() == expected.people.person.tolist()
    assert fv.build_flows(trips, "h3:3", by="day").matrices.column("day").to_pylist() == ["007", "010"]
    assert "hush" not in repr(trips)


@pytest.mark.slow
def test_release_from_the_cloud(address, tmp_path, capsys):
    """A file in the cloud goes to a release that verifies against it; nothing tells where it was."""
    source = address("trips/day=010/part.parquet")

    assert run(["anonymize", source, "--grid", "h3:5", "-k", "2", "-o", str(tmp_path / "out")]) == 0
    assert run(["verify", str(tmp_path / "out"), "--against", source]) == 0

    told = capsys.readouterr()
    texts = [told.out, told.err, (tmp_path / "out.audit.json").read_text()]
    texts += [path.read_bytes().decode(errors="replace") for path in (tmp_path / "out").iterdir()]
    assert not [text for text in texts if "hush" in text or "bucket" in text or "127.0.0.1" in text]


@pytest.mark.parametrize(
    ("path", "says"), [("nowhere", "no Parquet file"), ("notes", "no Parquet file"), ("trips/*.csv", "no Parquet file")]
)
def test_nothing_there(path, says, address, tmp_path, capsys):
    """What is not there is told without the keys of the address."""
    assert run(["anonymize", address(path), "-o", str(tmp_path / "out")]) == 2

    told = capsys.readouterr().err
    assert says in told
    assert "hush" not in told


@pytest.mark.parametrize("source", ["http://example.org/trips.parquet", "ftp://example.org/t", "s4://bucket/t"])
def test_unknown_places(source):
    """Addresses that cannot be read from are refused by what they begin with."""
    with pytest.raises(fv.InputError, match="cannot be read from"):
        fv.read_trips(source)
