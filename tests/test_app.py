"""The web app over HTTP: who may talk to it, what it takes, and that it gives what the command gives."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import time
import zipfile
from html import escape
from threading import Thread
from urllib.parse import quote

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uvicorn

import flowveil as fv
from flowveil._app.api import make_api
from flowveil._app.files import Files, shown_name
from flowveil._app.guard import HEADERS
from flowveil._app.jobs import Jobs
from flowveil._app.server import configure
from flowveil._cli.commands import run
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, phones, write_demo_city
from tests.waiting import QUIET, wait_for

TOKEN = "the-token"  # noqa: S105
LIMIT = 20_000_000
TRIPS = b"start_lon,start_lat,end_lon,end_lat\n4.5,50.3,4.6,50.4\n"


class App:
    """The app in a folder of its own, with the token in hand."""

    def __init__(self, folder, limit=LIMIT):
        """Make and start the app."""
        folder.mkdir()
        self.folder = folder
        self.api, self.jobs = make_api(folder, limit)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.server = uvicorn.Server(configure(self.api, TOKEN, self.port))
        self._thread = Thread(target=self.server.run, kwargs={"sockets": [self._socket]})
        self._thread.start()
        self.own = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.own, headers={"authorization": f"Bearer {TOKEN}"}, timeout=QUIET)

    def close(self):
        """End the app."""
        self.client.close()
        self.jobs.close()
        self.server.should_exit = True
        self._thread.join()
        self._socket.close()

    def upload(self, content, name="trips.csv", kind="trips"):
        """Send a file and return the answer."""
        return self.client.put("/api/upload", params={"name": name, "kind": kind}, content=content)

    def give(self, path, kind="trips"):
        """Send a file that is good and return its id."""
        answer = self.upload(path.read_bytes(), path.name, kind)
        assert answer.status_code == 200, answer.text
        return answer.json()["id"]

    def start(self, what, **settings):
        """Start a job and return what is known of it."""
        answer = self.client.post(f"/api/{what}", json=settings or None)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def wait(self, job):
        """Return a job that has ended."""
        return wait_for(lambda: self._ended(job))

    def _ended(self, job):
        """Return what is known of a job if it has ended."""
        known = self.client.get(f"/api/jobs/{job['id']}").json()
        return None if known["state"] in ("waiting", "running") else known

    def files(self):
        """Return all files that uploads have left."""
        return [path for path in (self.folder / "files").rglob("*") if path.is_file()]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Return an app that ends with the module."""
    made = App(tmp_path_factory.mktemp("app") / "private")
    yield made
    made.close()


@pytest.fixture
def app(running):
    """Return the app, and remove the files that a test gave to it."""
    yield running
    for path in running.files():
        running.client.delete(f"/api/files/{path.stem.split('.')[0]}")
    assert running.files() == []


@pytest.fixture
def small(tmp_path):
    """Return an app that takes little."""
    made = App(tmp_path / "private", limit=1_000)
    yield made
    made.close()


class TestGuard:
    """Only the page itself, with the token, is served."""

    @pytest.mark.slow
    def test_every_call_needs_the_token(self, app):
        """No route of the API answers without it, whatever the method, or with another one."""
        routes = [route for route in app.api.routes if route.path.startswith("/api/")]
        assert len(routes) > 10

        for route in routes:
            for method in route.methods:
                path = route.path.replace("{key}", "x")
                for given in ("", "Bearer", "Bearer the-toke", "Bearer the-token2", "the-token"):
                    answer = app.client.request(method, path, headers={"authorization": given})
                    assert answer.status_code == 401, (method, path, given)

    def test_the_token_opens(self, app):
        """With it the app tells its methods; none of them adds noise, which the page does not offer."""
        answer = app.client.get("/api/about")

        names = {method["name"] for method in answer.json()["methods"]}
        assert names == {method.name for method in fv.methods() if method.promise == "k-anonymity"}

    @pytest.mark.parametrize(
        "host",
        [
            "evil.example",
            "evil.example:{port}",
            "127.0.0.1",
            "127.0.0.1:1",
            "127.0.0.1.evil.example:{port}",
            "0:{port}",
        ],
    )
    @pytest.mark.parametrize("path", ["/", "/assets/app.js", "/api/about"])
    def test_other_hosts(self, app, host, path):
        """A name that was pointed at this computer (DNS rebinding) gets nothing, not even the page."""
        assert app.client.get(path, headers={"host": host.format(port=app.port)}).status_code == 421

    def test_localhost(self, app):
        """The other name of this computer is good."""
        assert app.client.get("/api/about", headers={"host": f"localhost:{app.port}"}).status_code == 200

    @pytest.mark.parametrize(
        "origin",
        ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "http://127.0.0.1:{port}0"],
    )
    def test_other_origins(self, app, origin):
        """Another page cannot call, even if it knew the token."""
        assert app.client.post("/api/demo", headers={"origin": origin.format(port=app.port)}).status_code == 403

    def test_own_origin(self, app):
        """The page itself can."""
        headers = {"origin": app.own, "sec-fetch-site": "same-origin"}
        assert app.client.get("/api/about", headers=headers).status_code == 200

    def test_cross_site(self, app):
        """What a browser marks as coming from another site is refused."""
        assert app.client.get("/api/about", headers={"sec-fetch-site": "cross-site"}).status_code == 403

    @pytest.mark.parametrize("path", ["/", "/assets/app.js", "/nothing", "/api/about", "/api/nothing", "/api/jobs/x"])
    @pytest.mark.parametrize("headers", [{}, {"authorization": ""}, {"host": "evil.example"}])
    def test_headers(self, app, path, headers):
        """Every answer carries the headers that keep other content out, refusals too."""
        answer = app.client.get(path, headers=headers)

        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        assert "'unsafe" not in HEADERS["content-security-policy"]

    @pytest.mark.parametrize("length", [200_000, 50_000_000])
    def test_large_settings(self, app, length):
        """Settings are short: more is refused before it is read, and a client that is still sending hears of it."""
        assert app.client.post("/api/command", content=b"x" * length).status_code == 413

    @pytest.mark.parametrize("name", ["..%2f_api.py", "%2e%2e/_guard.py", "../_api.py", "third-party.txt", "."])
    def test_assets_are_listed(self, app, name):
        """Nothing but the files of the page can be fetched."""
        assert app.client.get(f"/assets/{name}").status_code == 404


HOSTILE = [
    "../../../../tmp/passwd.csv",
    "/etc/cron.d/job.csv",
    "..\\..\\windows.csv",
    "nul\0byte.csv",
    "new\nline\x1b[31m.csv",
    "$(touch pwned) `touch pwned`; rm -rf *.csv",
    "-o.csv",
    "'quote\".csv",
    "<img src=x onerror=alert(1)>.csv",
    "=cmd|' /C calc'!A0.csv",
    "\u202evsc.exe.csv",
    "x" * 5_000 + ".csv",
    ".csv",
    "CON.csv",
]


class TestUploads:
    """Names are never paths, and contents are what names say."""

    @pytest.mark.parametrize("name", HOSTILE)
    def test_hostile_names(self, app, name):
        """A file is kept under a name of ours, and its own name does no harm in the command."""
        before = set(app.files())

        answer = app.upload(TRIPS, name)

        assert answer.status_code == 200
        (kept,) = set(app.files()) - before
        assert re.fullmatch(r"[0-9a-f]{16}\.csv", kept.name)
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
        shown = answer.json()["name"]
        assert len(shown) <= 120
        assert shown.isprintable()
        words = shlex.split(app.client.post("/api/command", json={"trips": answer.json()["id"]}).json()["command"])
        assert words[:2] == ["flowveil", "anonymize"]
        assert words[2] == (f"./{shown}" if shown.startswith("-") else shown)
        app.client.delete(f"/api/files/{answer.json()['id']}")
        assert set(app.files()) == before

    @pytest.mark.parametrize("name", ["x.sql", "x.html", "x", "x.csv.exe", "", "x.csv/", "x.xlsx"])
    def test_other_endings(self, app, name):
        """What the command line would not read is refused, and nothing of it is kept."""
        before = app.files()

        assert app.upload(TRIPS, name).status_code == 400
        assert app.files() == before

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("x.parquet", b"<html><script>alert(1)</script>"),
            ("x.csv", b"PAR1" + bytes(100)),
            ("x.csv", b"a,b\0c\n1,2,3\n"),
            ("x.csv.gz", TRIPS),
            ("x.arrow", TRIPS),
            ("x.csv", b"PK\x03\x04" + bytes(60)),
            ("x.csv", b""),
        ],
    )
    def test_content_of_another_format(self, app, name, content):
        """A file whose content is not what its name says is refused, and nothing of it is kept."""
        before = app.files()

        answer = app.upload(content, name)

        assert answer.status_code == 400
        assert answer.json()["hint"]
        assert app.files() == before

    def test_kinds(self, app):
        """There are trips and zones."""
        assert app.upload(TRIPS, "x.csv", "plugin").status_code == 400

    def test_limit(self, small):
        """Files together stay within the limit, and room comes back when one goes."""
        first = small.upload(TRIPS.ljust(600))

        assert first.status_code == 200
        assert small.upload(TRIPS.ljust(600)).status_code == 413
        assert small.upload(TRIPS.ljust(5_000)).status_code == 413
        assert len(small.files()) == 1
        small.client.delete(f"/api/files/{first.json()['id']}")
        assert small.upload(TRIPS.ljust(900)).status_code == 200

    def test_limit_without_a_length(self, small):
        """A body that does not tell its length is counted as it comes."""
        answer = small.upload(iter([TRIPS] * 100))

        assert answer.status_code == 413
        assert small.files() == []

    def test_scripts_in_column_names(self, app):
        """Names of columns come back as they are, in JSON that no browser takes for a page."""
        name = "<script>alert(1)</script>"
        file = app.upload(f'"{name}",b\n1,2\n'.encode()).json()

        job = app.wait(app.start(f"columns/{file['id']}"))
        answer = app.client.get(f"/api/jobs/{job['id']}")

        assert answer.json()["result"]["columns"] == [name, "b"]
        assert answer.headers["content-type"] == "application/json"

    @pytest.mark.parametrize("content", [b"<html><body>no</body></html>", b"\xff\xfe garbage \x01\n" * 50, b'"' * 999])
    def test_not_a_table(self, app, content):
        """What is no table ends in an error with a hint, told with the user's name of the file."""
        file = app.upload(content, "mine.csv").json()

        job = app.wait(app.start("anonymize", trips=file["id"], grid="h3:8"))

        assert job["state"] == "failed"
        assert job["hint"]
        assert str(app.folder) not in json.dumps(job)

    def test_parquet_that_unfolds(self, app, tmp_path):
        """A small file that claims millions of zones is refused before it is read."""
        pq.write_table(pa.table({"zone_id": pa.repeat(0, 6_000_000)}), tmp_path / "zones.parquet")
        assert (tmp_path / "zones.parquet").stat().st_size < 200_000

        job = app.wait(app.start(f"zones/{app.give(tmp_path / 'zones.parquet', 'zones')}"))

        assert job["state"] == "failed"
        assert "6,000,000 rows" in job["error"]

    @pytest.mark.slow
    def test_arrow_that_unfolds(self, app, tmp_path):
        """A few hundred bytes of Arrow that claim billions of rows are refused, and nothing is left behind."""
        schema = pa.schema({"start_lon": pa.null()})
        with pa.ipc.new_file(tmp_path / "trips.arrow", schema) as writer:
            for _ in range(2):
                writer.write_batch(pa.record_batch([pa.nulls(1_500_000_000)], schema=schema))

        job = app.wait(app.start(f"columns/{app.give(tmp_path / 'trips.arrow')}"))

        assert (job["state"], job["result"]) == ("failed", None)
        assert job["error"] == "the file claims 3,000,000,000 rows"

    @pytest.mark.slow
    def test_compressed_text_that_unfolds(self, app):
        """Sixty kilobytes that become sixty megabytes of one line end in an error."""
        file = app.upload(gzip.compress(b"0" * 60_000_000), "trips.csv.gz").json()

        job = app.wait(app.start(f"columns/{file['id']}"))

        assert job["state"] == "failed"
        assert "CSV Error" in job["error"]

    def test_broken_parquet(self, app, tmp_path):
        """A file that is cut off ends in an error, not in a dead server."""
        (tmp_path / "cut.parquet").write_bytes(b"PAR1" + bytes(500))

        job = app.wait(app.start(f"columns/{app.give(tmp_path / 'cut.parquet')}"))

        assert job["state"] == "failed"
        assert app.client.get("/api/about").status_code == 200

    def test_broken_off(self, tmp_path):
        """An upload that does not come to its end leaves nothing."""
        files = Files(tmp_path / "files", 100)
        with files.begin("a.csv", "trips") as incoming:
            incoming.write(b"a,b\n")

        assert list((tmp_path / "files").iterdir()) == []
        files.reserve(100)  # all room is there again

    def test_names_as_shown(self):
        """Only the last part of a name is shown, without what changes how text is read."""
        assert shown_name("C:\\fake\\..\\a b.csv") == "a b.csv"
        assert shown_name("a\x00\x1b\n\u202eb.csv") == "ab.csv"
        assert shown_name("///") == "unnamed"


class TestSettings:
    """What the page may ask for."""

    @pytest.mark.parametrize(
        "wrong", [{"where": "1=1"}, {"k": "ten"}, {"grid": "x" * 400}, {"options": {str(n): "" for n in range(99)}}]
    )
    def test_refused(self, app, wrong):
        """Unknown settings (SQL among them), wrong types and long texts are refused."""
        answer = app.client.post("/api/count", json={"trips": "x", **wrong})

        assert answer.status_code == 422
        assert next(iter(wrong)) in answer.json()["error"]

    @pytest.mark.parametrize("wrong", ["x" * 121, "two\nlines", " ", 7])
    def test_what_is_said_of_a_release(self, app, city_trips, wrong):
        """Texts about a release are read as the command line reads them: one short line each."""
        answer = app.client.post("/api/command", json={"trips": app.give(city_trips), "title": wrong})
        assert answer.status_code == 422
        assert "title" in answer.json()["error"]

    @pytest.mark.parametrize(
        ("kind", "more"),
        [("command", {}), ("command/noise", {"bbox": "4,50,5,51"}), ("command/paths", {"bbox": "4,50,5,51"})],
    )
    def test_what_is_said_is_in_the_command(self, app, city_trips, kind, more):
        """Every kind of release takes title, publisher and the like, in the command and in Python."""
        answer = app.client.post(f"/api/{kind}", json={"trips": app.give(city_trips), **SAID, **more}).json()
        words = shlex.split(answer["command"])
        for name, text in SAID.items():
            option = f"--{name.replace('_', '-')}"
            assert f"{option}={text}" in words or words[words.index(option) + 1] == text
            assert f"{name}={text!r}" in answer["python"]

    @pytest.mark.parametrize("start", ["[", '{"trips": [', '{"trips": "x", "options": {"a": ['])
    @pytest.mark.parametrize("depth", [100, 900, 5_000, 90_000])
    def test_nested_deeply(self, app, start, depth):
        """Brackets without end are refused like any settings that cannot be used."""
        answer = app.client.post(
            "/api/count", content=start + "[" * depth, headers={"content-type": "application/json"}
        )

        assert answer.status_code in {400, 422}
        assert set(answer.json()) == {"error", "hint"}

    @pytest.mark.parametrize("setting", ["k", "k_weight", "min_tiles", "max_suppression"])
    @pytest.mark.parametrize("number", ["1e30", "1e400", "NaN", "-Infinity", "-1", "1" + "0" * 30, "9" * 5_000])
    def test_absurd_numbers(self, app, setting, number):
        """Numbers that nobody can mean are refused at once, or by the job, and are never a bug."""
        file = app.upload(TRIPS).json()["id"]
        weight = ', "weight": "start_lon"' if setting == "k_weight" else ""

        answer = app.client.post(
            "/api/anonymize",
            content=f'{{"trips": "{file}", "{setting}": {number}{weight}}}',
            headers={"content-type": "application/json"},
        )

        if answer.status_code == 200:
            job = app.wait(answer.json())
            assert job["state"] == "failed"
            assert "bug" not in job["hint"]
        else:
            assert answer.status_code in {400, 422}
            assert set(answer.json()) == {"error", "hint"}

    def test_unknown_file(self, app):
        """A file is known by its id only; a path is none."""
        assert app.client.post("/api/count", json={"trips": "/etc/passwd"}).status_code == 400

    def test_what_no_command_can_say(self, app):
        """A column that --columns cannot name is refused, since the command would not be the same."""
        file = app.upload(TRIPS).json()["id"]

        answer = app.client.post("/api/command", json={"trips": file, "columns": {"start_lon": "a,b"}})

        assert answer.status_code == 400


class TestJobs:
    """Work happens in a process that can be ended at any time."""

    @pytest.mark.slow
    def test_cancel(self, app, city_trips):
        """Canceling ends the process and removes what the job wrote; the next job is not harmed."""
        file = app.give(city_trips)
        job = app.start("anonymize", trips=file, grid="h3:9", unit="person_id")
        worker = _running(app, job)

        answer = app.client.delete(f"/api/jobs/{job['id']}").json()

        assert answer["state"] == "canceled"
        assert not _alive(worker)
        assert not (app.folder / "jobs" / job["id"]).exists()
        assert not list((app.folder / "jobs").glob("scratch/*"))
        assert app.wait(app.start(f"columns/{file}"))["state"] == "done"

    def test_cancel_what_waits(self, app, city_trips):
        """A job that waits is canceled without harm to the one that runs."""
        file = app.give(city_trips)
        first = app.start("count", trips=file, grid="h3:8")
        second = app.start("count", trips=file, grid="h3:7")

        app.client.delete(f"/api/jobs/{second['id']}")

        assert app.wait(first)["state"] == "done"
        assert app.wait(second)["state"] == "canceled"

    @pytest.mark.slow
    def test_dead_worker(self, app, city_trips):
        """A process that dies, as for want of memory, fails its job and no other."""
        file = app.give(city_trips)
        job = app.start("anonymize", trips=file, grid="h3:9")
        os.kill(_running(app, job), signal.SIGKILL)

        ended = app.wait(job)

        assert ended["state"] == "failed"
        assert "died" in ended["error"]
        assert app.wait(app.start(f"columns/{file}"))["state"] == "done"

    def test_promise_that_cannot_be_kept(self, app, city_trips):
        """A failed job says what to do and has no release."""
        job = app.wait(app.start("anonymize", trips=app.give(city_trips), grid="h3:9", method="mosaic", k=10**6))

        assert job["state"] == "failed"
        assert job["hint"]
        assert app.client.get(f"/api/releases/{job['id']}/zip").status_code == 400

    def test_too_many(self, tmp_path, monkeypatch):
        """The queue has an end."""
        jobs = Jobs(tmp_path / "jobs")
        monkeypatch.setattr(jobs, "_start", lambda: time.sleep(0.2) or pytest.fail("not reached"))
        monkeypatch.setattr(jobs, "_queue", type("Nowhere", (), {"put": lambda *_: None})())
        for _ in range(20):
            jobs.submit("columns", {})

        with pytest.raises(fv.InputError, match="too many"):
            jobs.submit("columns", {})

    def test_frontier(self, app, city_trips):
        """The frontier of the page is the frontier of the library."""
        settings = {"trips": app.give(city_trips), "grid": "h3:6", "unit": "person_id", "k": 5}

        job = app.wait(app.start("frontier", **settings))

        flows = fv.build_flows(city_trips, "h3:6", unit="person_id")
        assert job["result"]["points"] == fv.frontier(flows, k=5, points=40).to_pylist()

    def test_problems_are_told(self, app):
        """Rows that cannot be used and exchanged coordinates are told in the engine's own words."""
        rows = ["50.3,140.5,50.4,140.6"] * 30 + ["x,1,1,1", ",,,"]
        content = "start_lon,start_lat,end_lon,end_lat\n" + "\n".join(rows) + "\n1,1,1,1\n"

        job = app.wait(app.start("count", trips=app.upload(content.encode()).json()["id"], grid="h3:8"))

        assert job["state"] == "failed"
        assert "97% of the rows cannot be used" in job["error"]
        assert "30 of 33 rows dropped: out of range" in job["error"]
        assert "look exchanged" in job["hint"]


def _running(app, job):
    """Return the process that works on a job, once it does."""

    def working():
        worker = app.jobs._worker
        running = app.client.get(f"/api/jobs/{job['id']}").json()["state"] == "running"
        return worker.pid if running and worker is not None else None

    return wait_for(working)


def _alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


SAID = {
    "title": "Trips of 'the' city",
    "period": "-June 2024",
    "publisher": "City <b>",
    "license": "CC BY 4.0",
    "contact": "data@example.org",
    "unit_label": "cabs",
}
ASKED = {
    "mosaic": {"grid": "h3:7", "unit": "person_id", "k": 5, "max_suppression": 0.05, "report": True},
    "binary": {"grid": "h3:8", "hierarchy": "h3-binary", "method": "nested", "options": {"side": "origin"}},
    "squares": {"grid": "quadtree:500", "bbox": "4.4,50.26,4.82,50.53", "method": "crosscut", "elsewhere": True},
    "weights": {"grid": "h3:6", "unit": "person_id", "weight": "weight", "k_weight": 400, "loss": "reconstruction"},
    "no budget": {"grid": "h3:6", "method": "suppression", "k": 3},
    "divided": {
        "grid": "h3:6",
        "unit": "person_id",
        "time": "hour-of-day",
        "timezone": "Europe/Rome",
        "by": "sex",
        "k": 3,
    },
    "preset": {"grid": "h3:6", "unit": "person_id", "preset": "insee-11", "remainders": True},
    "totals": {"grid": "h3:6", "unit": "person_id", "by": "sex", "totals": True, "k": 3, "report": True},
    "described": {"grid": "h3:5", "hierarchy": "h3", "unit": "person_id", "report": True, **SAID},
    "mapped": {"grid": "h3:7", "columns": {"start_lon": "end_lon", "end_lon": "start_lon"}, "min_tiles": 2},
}


class TestReleases:
    """What is downloaded is what the command line writes."""

    @pytest.mark.slow
    @pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
    def test_same_as_the_command(self, app, asked, city_trips, tmp_path, monkeypatch):
        """The command that is shown gives the same bytes, and the zip holds the release and nothing else."""
        started = app.start("anonymize", trips=app.give(city_trips), **asked)
        job = app.wait(started)
        assert job["state"] == "done", job
        shutil.copy(city_trips, tmp_path / city_trips.name)
        monkeypatch.chdir(tmp_path)

        assert run(shlex.split(started["command"])[1:]) == 0

        _same(app, job, tmp_path / "out")
        shutil.rmtree(tmp_path / "out")
        exec(started["python"], {})  # noqa: S102  what the page shows
        _same(app, job, tmp_path / "out")

    @pytest.mark.slow
    def test_same_as_the_command_with_zones(self, app, city_zone_trips, tmp_path, monkeypatch):
        """Zones are a second file, under its own name in the command."""
        zones = city_zone_trips.with_name("zones.parquet")
        given = {"trips": app.give(city_zone_trips), "zones": app.give(zones, "zones")}
        started = app.start("anonymize", **given, hierarchy="zone_id,district,region", unit="person_id", k=5)
        job = app.wait(started)
        assert job["state"] == "done", job
        for path in (city_zone_trips, zones):
            shutil.copy(path, tmp_path / path.name)
        monkeypatch.chdir(tmp_path)

        assert run(shlex.split(started["command"])[1:]) == 0

        _same(app, job, tmp_path / "out")
        audit = _unzip(app, job, tmp_path / "beside", "private")["out.audit.json"].decode()
        assert json.loads(audit)["input"]["zones"] == "zones.parquet"
        assert str(app.folder) not in audit

    @pytest.mark.slow
    def test_private_files(self, app, city_trips, tmp_path):
        """What verifying needs beside the release can be had, apart from it: areas that overlap have two such files."""
        asked = {"grid": "h3:6", "method": "glove-od", "k": 3}
        job = app.wait(app.start("anonymize", trips=app.give(city_trips), **asked))
        assert job["state"] == "done", job

        found = {*_unzip(app, job, tmp_path), *_unzip(app, job, tmp_path, "private")}

        assert {name for name in found if "/" not in name} == {"out.audit.json", "out.assignment.parquet"}
        assert fv.verify(tmp_path / "out", city_trips).checks

    @pytest.mark.slow
    def test_demo(self, app, tmp_path, monkeypatch):
        """The demo city is what `flowveil demo` leaves beside its release, so that its command can be run, too."""
        file = app.client.post("/api/demo").json()
        job = app.start("anonymize", trips=file["id"], grid="h3:7", unit="person_id")
        write_demo_city(tmp_path / "flowveil-demo.trips.parquet")
        monkeypatch.chdir(tmp_path)

        assert run(shlex.split(job["command"])[1:]) == 0

        _same(app, app.wait(job), tmp_path / "out")

    @pytest.mark.slow
    def test_noise(self, app, city_trips, tmp_path, monkeypatch):
        """A release with noise is verified and drawn with its errors; the command and Python make one like it."""
        asked = {"grid": "h3:6", "bbox": ",".join(map(str, CITY_BBOX)), "unit": "person_id", "max_trips_per_person": 3}
        started = app.start("noise", trips=app.give(city_trips), **asked, epsilon=0.5, report=True)
        job = app.wait(started)
        assert job["state"] == "done", job

        found = _unzip(app, job, tmp_path / "page")

        release = fv.read_release(tmp_path / "page" / "out")
        assert job["result"]["noisy_total"] == sum(release.flows["trips"].to_pylist())
        assert job["result"]["above_zero"] == sum(trips > 0 for trips in release.flows["trips"].to_pylist())
        assert job["result"]["error"] >= 2.99 * sorted(release.flows["scale"].to_pylist())[release.flows.num_rows // 2]
        assert _drawn(app, job)["listed"] == release.flows.num_rows
        assert job["result"]["checks"]
        shutil.copy(city_trips, tmp_path / city_trips.name)
        monkeypatch.chdir(tmp_path)
        assert run(shlex.split(started["command"])[1:]) == 0
        options = json.loads((tmp_path / "out" / "manifest.json").read_bytes())["options"]
        assert options == json.loads(found["out/manifest.json"])["options"]
        shutil.rmtree(tmp_path / "out")
        exec(started["python"], {})  # noqa: S102  what the page shows
        assert json.loads((tmp_path / "out" / "manifest.json").read_bytes())["options"] == options

    @pytest.mark.slow
    def test_paths(self, app, tmp_path, monkeypatch):
        """Trajectories are what the command and Python write; what was lost can be seen."""
        pq.write_table(phones(40, samples=25), tmp_path / "samples.parquet")
        asked = {"bbox": ",".join(map(str, PHONES_BBOX)), "step": "1km,30min", "k": 3, "report": True}
        started = app.start("paths", trips=app.give(tmp_path / "samples.parquet"), **asked)
        job = app.wait(started)
        assert job["state"] == "done", job
        monkeypatch.chdir(tmp_path)

        for make in (lambda: run(shlex.split(started["command"])[1:]), lambda: exec(started["python"], {})):  # noqa: S102
            make()
            found = _unzip(app, job, tmp_path / "unzipped")
            assert found == {f"out/{path.name}": path.read_bytes() for path in (tmp_path / "out").iterdir()}
            shutil.rmtree(tmp_path / "out")

        assert _drawn(app, job)["samples"]
        assert app.wait(app.start(f"releases/{job['id']}/private-report"))["state"] == "done"
        assert b"<html" in app.client.get(f"/api/releases/{job['id']}/private-report").content
        assert "out.private.html" in _unzip(app, job, tmp_path, "private")
        for to, name in (("gpx", "trajectories.gpx"), ("skmob", "skmob/trajectories.csv")):
            exported = app.wait(app.start(f"releases/{job['id']}/export/{to}"))
            with zipfile.ZipFile(io.BytesIO(app.client.get(f"/api/exports/{exported['id']}/zip").content)) as archive:
                assert archive.namelist() == [name]
        assert app.client.post(f"/api/releases/{job['id']}/export/omx").status_code == 400

    def test_frontier_of_paths(self, app, tmp_path):
        """It is that of the library, for these settings; where there is none, that is said."""
        samples = phones(12, samples=8)
        pq.write_table(samples, tmp_path / "samples.parquet")
        asked = {"trips": app.give(tmp_path / "samples.parquet"), "step": "1km,30min", "k": 2, "max_extent": "4km"}
        asked["bbox"] = ",".join(map(str, PHONES_BBOX))
        found = app.wait(app.start("frontier/paths", **asked, method="gather"))
        with_glove = app.wait(app.start("frontier/paths", **asked, complete_support=True))
        refused = app.client.post("/api/frontier/paths", json=asked)

        data = fv.trajectories.read_trajectories(samples, PHONES_BBOX, step="1km,30min")
        for job, method in ((found, "gather"), (with_glove, "glove")):
            points = fv.trajectories.frontier(data, 2, method=method, max_extent="4km").to_pylist()
            assert job["result"] == {"samples": len(samples), "points": points}
        assert refused.status_code == 422
        assert "no frontier" in refused.json()["error"]

    @pytest.mark.slow
    def test_what_goes_with_a_release(self, app, city_trips, tmp_path):
        """Its report, the private report, and other formats can be had; none of them before it is there."""
        job = app.wait(app.start("anonymize", trips=app.give(city_trips), grid="h3:7", unit="person_id", report=True))

        report = app.client.get(f"/api/releases/{job['id']}/report")
        assert report.content == _unzip(app, job, tmp_path)["out/report.html"]
        assert report.headers["content-type"] == "application/octet-stream"
        assert app.client.get(f"/api/releases/{job['id']}/private-report").status_code == 400
        assert app.wait(app.start(f"releases/{job['id']}/private-report"))["state"] == "done"
        assert app.client.get(f"/api/releases/{job['id']}/private-report").status_code == 200
        found = app.wait(app.start(f"releases/{job['id']}/risk"))["result"]
        assert found["worst"] in {one["verdict"] for one in found["findings"]}
        assert all(one["question"] and one["sentence"] for one in found["findings"])
        exported = app.wait(app.start(f"releases/{job['id']}/export/flowmap-blue"))
        with zipfile.ZipFile(io.BytesIO(app.client.get(f"/api/exports/{exported['id']}/zip").content)) as archive:
            assert set(archive.namelist()) == {"flowmap-blue/flows.csv", "flowmap-blue/locations.csv"}
        assert app.client.post(f"/api/releases/{job['id']}/export/exe").status_code == 400
        assert app.client.get(f"/api/releases/{exported['id']}/zip").status_code == 400

    def test_points(self, app, city_trips):
        """What budgets give never leaves out more than they say, and is drawn."""
        settings = {"trips": app.give(city_trips), "grid": "h3:6", "unit": "person_id", "k": 5}

        job = app.wait(app.start("points", **settings, budgets=[0, 0.05, 0.2]))

        points = job["result"]["points"]
        assert all(point["metrics"]["suppressed"] <= point["budget"] for point in points)
        assert [point["budget"] for point in points] == [0, 0.05, 0.2]
        for number, point in enumerate(points):
            assert _drawn(app, job, str(number))["movements"] == point["metrics"]["flows"]
        assert app.client.get(f"/api/maps/{job['id']}/../0").status_code in {400, 404}
        assert app.client.get(f"/api/maps/{job['id']}/map").status_code == 404
        assert app.client.get(f"/api/releases/{job['id']}/zip").status_code == 400

    @pytest.mark.slow
    def test_map(self, app, city_trips, tmp_path):
        """The map is that of a notebook: it shows what is in the release, and nothing else; the trips are not in it."""
        job = app.wait(app.start("anonymize", trips=app.give(city_trips), grid="h3:6", unit="person_id"))

        answer = app.client.get(f"/api/maps/{job['id']}/map")

        _unzip(app, job, tmp_path)
        release = fv.read_release(tmp_path / "out")
        assert escape(answer.text) in release._repr_html_()
        assert answer.headers["content-type"] == "application/octet-stream"
        assert app.wait(app.start(f"releases/{job['id']}/private-report"))["state"] == "done"
        assert app.client.get(f"/api/maps/{job['id']}/{quote('out.private')}").status_code == 404

    @pytest.mark.slow
    def test_what_may_run(self, app, city_trips):
        """The policy of the page lets the program and the style of a map run in a frame, and no other inline text."""
        job = app.wait(app.start("anonymize", trips=app.give(city_trips), grid="h3:6", unit="person_id"))

        page = app.client.get(f"/api/maps/{job['id']}/map").text

        own = dict(part.split(" ", 1) for part in HEADERS["content-security-policy"].split("; "))
        inner = re.search(r"script-src ('sha256-[^']+'); style-src ('sha256-[^']+')", page)
        assert own["script-src"] == f"'self' {inner[1]}"
        assert own["style-src"] == f"'self' {inner[2]}"


def _drawn(app, job, name="map"):
    """Return what the map of a job draws from."""
    page = app.client.get(f"/api/maps/{job['id']}/{name}").text
    found = re.search(r'<script type="application/json" id="drawing">(.*?)</script>', page)
    return json.loads(found[1])["scene"]


class TestState:
    """The page keeps what it knows with the server, and can have all of it removed."""

    @pytest.mark.slow
    def test_kept(self, small):
        """What was put is given back as it was, whatever it is; removing it removes files and jobs, too."""
        file = small.upload(TRIPS).json()
        job = small.wait(small.start(f"columns/{file['id']}"))

        assert small.client.get("/api/state").json() is None
        small.client.put("/api/state", json={"step": 2, "note": "<script>"})
        assert small.client.get("/api/state").json() == {"step": 2, "note": "<script>"}
        assert small.client.get("/api/state").headers["content-type"] == "application/json"
        small.client.delete("/api/state")

        assert small.client.get("/api/state").json() is None
        assert small.files() == []
        assert small.client.get(f"/api/jobs/{job['id']}").status_code == 400
        assert list((small.folder / "jobs").glob("*/*")) == []

    @pytest.mark.slow
    def test_preview(self, app):
        """A few rows are shown as they are written, cut where they are long, with what is understood."""
        rows = "".join(f'{row}.50,50.3,4.6,50.4,"{"x" * 500}",007\n' for row in range(20))
        header = "start station longitude,start station latitude,end station longitude,end station latitude,a,b\n"
        file = app.upload((header + rows).encode()).json()

        found = app.wait(app.start(f"columns/{file['id']}"))["result"]

        assert len(found["rows"]) == 6
        assert found["rows"][3][0] == "3.50"
        assert found["rows"][0][5] == "007"
        assert len(found["rows"][0][4]) < 70
        assert found["known"]["start_lon"] == "start station longitude"


def _unzip(app, job, folder, what="zip"):
    answer = app.client.get(f"/api/releases/{job['id']}/{what}")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        archive.extractall(folder)
        return {name: archive.read(name) for name in archive.namelist()}


def _same(app, job, folder):
    found = _unzip(app, job, folder.with_name("unzipped"))
    written = {f"out/{path.name}": path.read_bytes() for path in folder.iterdir()}
    assert set(found) - {"out/report.html"} == {"out/flows.parquet", "out/areas.parquet", "out/manifest.json"}
    assert found == written
