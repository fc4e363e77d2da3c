"""flowveil serve as a process, the folder it works in, and the page that is committed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flowveil._cli.commands import run
from tests.waiting import QUIET, wait_for

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "src" / "flowveil" / "_app" / "assets"
TRIPS = b"start_lon,start_lat,end_lon,end_lat\n4.5,50.3,4.6,50.4\n"


class Server:
    """flowveil serve as users start it."""

    def __init__(self, temporary, *arguments):
        """Start it and read its address."""
        command = [sys.executable, "-m", "flowveil", "serve", "--no-open", *arguments]
        environment = os.environ | {"TMPDIR": str(temporary)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.address, self.token = re.search(r"(http://\S+/)#token=(\S+)", self.process.stdout.readline()).groups()

    def work(self):
        """Upload a file, start a job, and return the process that does it."""
        import httpx

        allowed = {"authorization": f"Bearer {self.token}"}
        with httpx.Client(base_url=self.address, headers=allowed, timeout=QUIET) as client:
            file = client.put("/api/upload", params={"name": "trips.csv"}, content=TRIPS).json()["id"]
            client.post(f"/api/columns/{file}")
        children = Path(f"/proc/{self.process.pid}/task")
        started = wait_for(lambda: " ".join(path.read_text() for path in children.glob("*/children")).split())
        return int(started[0])

    def end(self, number):
        """Send a signal and return the exit code and what was said."""
        self.process.send_signal(number)
        wait_for(lambda: self.process.poll() is not None)
        said = self.process.communicate()
        return self.process.returncode, said


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
class TestServe:
    """The process itself."""

    @pytest.mark.slow
    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 0)])
    def test_signals(self, tmp_path, number, code):
        """However it is ended, its folder and its worker go with it."""
        server = Server(tmp_path)
        worker = server.work()
        assert list(tmp_path.rglob("*.csv"))

        ended, (_, complaints) = server.end(number)

        assert ended == code
        assert complaints == ""
        assert list(tmp_path.iterdir()) == []
        assert not Path(f"/proc/{worker}").exists()

    @pytest.mark.slow
    def test_killed(self, tmp_path):
        """Killed, it cannot clean up, but its worker ends, and the next server removes what is left."""
        server = Server(tmp_path)
        worker = server.work()

        server.end(signal.SIGKILL)

        wait_for(lambda: not Path(f"/proc/{worker}").exists())
        assert not Path(f"/proc/{worker}").exists()
        assert len(list(tmp_path.iterdir())) == 1
        assert Server(tmp_path).end(signal.SIGTERM)[0] == 143
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.slow
    def test_lost_signal(self, tmp_path):
        """It ends even where Python drops the exception that a signal raised: at its start many callbacks run."""
        code = (
            "import os, signal\n"
            "from flowveil._app.server import serve\n"
            "class Callback:\n"
            "    def __del__(self): os.kill(os.getpid(), signal.SIGTERM)\n"
            "serve(0, 10**6, open_browser=False, tell=lambda address: Callback() and None)"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(tmp_path)},
        )

        wait_for(lambda: process.poll() is not None)

        assert "Exception ignored" in process.communicate()[1]
        assert process.returncode == 143
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.slow
    def test_loopback_only(self, tmp_path):
        """It listens on 127.0.0.1 and nowhere else, at the port that was asked for."""
        server = Server(tmp_path)
        port = int(server.address.rstrip("/").rsplit(":", 1)[1])
        listening = [line.split()[1:4] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        six = Path("/proc/net/tcp6").read_text() if Path("/proc/net/tcp6").exists() else ""

        ours = [local for local, _, state in listening if state == "0A" and local.endswith(f":{port:04X}")]

        assert ours == [f"0100007F:{port:04X}"]
        assert f":{port:04X} 00000000000000000000000000000000:0000 0A" not in six
        command = [sys.executable, "-m", "flowveil", "serve", "--port", str(port)]
        busy = subprocess.run(command, capture_output=True, text=True, check=False)
        assert busy.returncode == 2
        assert "--port" in busy.stderr
        server.end(signal.SIGTERM)

    @pytest.mark.slow
    @pytest.mark.parametrize("missing", ["fastapi", "uvicorn"])
    def test_missing_extra(self, missing):
        """Without the extra it says what to install."""
        code = f"import sys; sys.modules[{missing!r}] = None; from flowveil._cli import main; main(['serve'])"

        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

        assert ended.returncode == 2
        assert ended.stderr == f"error: the web app needs the package {missing}\nhint: pip install 'flowveil[web]'\n"

    def test_bad_limit(self, capsys):
        """A limit that is no amount is refused."""
        assert run(["serve", "--upload-limit", "lots"]) == 2
        assert "--upload-limit 2GB" in capsys.readouterr().err


class TestBundle:
    """The page that is committed is the one that web/ builds, and asks nothing of the network."""

    def test_up_to_date(self):
        """The bundle holds the hash of its sources: run `npm ci && npm run build` in web/ if this fails."""
        web = ROOT / "web"
        names = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"]
        names += [f"src/{path.name}" for path in (web / "src").iterdir()]
        digest = hashlib.sha256()
        for name in sorted(names):
            digest.update(name.encode() + b"\0" + (web / name).read_bytes() + b"\0")

        first = (ASSETS / "app.js").read_text(encoding="utf-8").splitlines()[0]

        assert digest.hexdigest() in first

    @pytest.mark.skipif(not (ROOT / "web" / "node_modules").exists(), reason="needs npm ci in web/")
    def test_builds_the_same(self, tmp_path):
        """A new build gives the same bytes."""
        subprocess.run(["node", ROOT / "web" / "build.mjs", tmp_path], check=True)

        built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        assert built == {path.name: path.read_bytes() for path in ASSETS.iterdir()}

    def test_small(self):
        """It stays below 100 kB."""
        assert sum(path.stat().st_size for path in ASSETS.iterdir()) < 100_000

    def test_text_is_text(self):
        """No source of ours puts text into the page as HTML, or looks elsewhere."""
        for path in (ROOT / "web" / "src").glob("*.ts"):
            text = path.read_text(encoding="utf-8")
            assert not re.search(
                r"[iI]nnerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text
            ), path
            assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) == [], path

    def test_nothing_of_others(self):
        """Nothing of others is bundled, so that no license has to come with it: packages are for building only."""
        assert "dependencies" not in json.loads((ROOT / "web" / "package.json").read_text(encoding="utf-8"))

    def test_lockfile_names_no_hosts(self):
        """The lockfile is the same wherever packages come from."""
        lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))

        assert not any("resolved" in package for package in lock["packages"].values())
        assert all("integrity" in package for name, package in lock["packages"].items() if name)
