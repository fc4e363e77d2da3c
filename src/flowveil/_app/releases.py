"""Releases that were made: their maps, what is downloaded of them, and other formats."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import TYPE_CHECKING

from fastapi import HTTPException
from fastapi.responses import Response

from flowveil._app.jobs import DONE
from flowveil._app.making import RELEASE
from flowveil._errors import InputError
from flowveil._export import FORMATS, check_format
from flowveil._folder import Json, find_kind
from flowveil._options import parse_choice

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi import FastAPI

    from flowveil._app.files import Files
    from flowveil._app.jobs import Job, Jobs

_RELEASES = ("anonymize", "noise", "paths")  # jobs that make one
_PAGE = "application/octet-stream"  # a report is kept by the browser or runs in a sandbox, never as a page of ours
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same release gives the same zip


def _done(jobs: Jobs, key: str, *kinds: str) -> Job:
    job = jobs[key]
    if job.kind not in kinds or job.state != DONE:
        raise InputError("there is no such release", "anonymize first")
    return job


def _page(path: Path, hint: str) -> Response:
    if not path.exists():
        raise InputError("there is no such report", hint)
    return Response(path.read_bytes(), media_type=_PAGE)


def add_releases(api: FastAPI, files: Files, jobs: Jobs) -> None:
    """Serve what a release holds and what is beside it."""

    def folder(key: str) -> Path:
        return _done(jobs, key, *_RELEASES).folder

    @api.get("/api/maps/{key}/{name}")
    def drawn(key: str, name: str) -> Response:
        known = {path.stem: path for path in _done(jobs, key, *_RELEASES, "points").folder.glob("*.html")}
        if name not in known or known[name].name.startswith(f"{RELEASE}."):
            raise HTTPException(404)
        return _page(known[name], "")

    @api.get("/api/releases/{key}/zip")
    def download(key: str) -> Response:
        release = sorted((folder(key) / RELEASE).iterdir())
        return _zip({f"{RELEASE}/{item.name}": item.read_bytes() for item in release})

    @api.get("/api/releases/{key}/report")
    def report(key: str) -> Response:
        return _page(folder(key) / RELEASE / "report.html", "tick the report and make the release again")

    @api.get("/api/releases/{key}/private-report")
    def private_report(key: str) -> Response:
        return _page(folder(key) / f"{RELEASE}.private.html", "make it first")

    @api.get("/api/releases/{key}/private")
    def private(key: str) -> Response:
        beside = {item.name: item.read_bytes() for item in sorted(folder(key).glob(f"{RELEASE}.*"))}
        audit = f"{RELEASE}.audit.json"
        return _zip(beside | {audit: files.with_names(beside[audit].decode()).encode()})


def add_exports(api: FastAPI, files: Files, jobs: Jobs) -> None:
    """Make what takes time of a release that is there: other formats, the private report, attacks."""

    @api.post("/api/releases/{key}/export/{to}")
    def export(key: str, to: str) -> dict[str, Json]:
        release = _done(jobs, key, *_RELEASES).folder / RELEASE
        format_ = parse_choice(to, "format", FORMATS)
        if (kind := find_kind(release)) is not None:
            check_format(format_, kind)
        return jobs.submit("export", {"release": str(release), "to": format_, "folder": None}).about()

    @api.get("/api/exports/{key}/zip")
    def exported(key: str) -> Response:
        folder = _done(jobs, key, "export").folder
        found = sorted(path for path in folder.rglob("*") if path.is_file())
        return _zip({str(path.relative_to(folder)): path.read_bytes() for path in found})

    def with_trips(key: str) -> dict[str, Json]:
        job = _done(jobs, key, *_RELEASES)
        trips = job.arguments.get("places", job.arguments)["trips"]
        if not any(str(stored.path) == trips for stored in files.all()):
            raise InputError("the trips of this release are gone", "give the file again and make the release again")
        return {"release": str(job.folder / RELEASE), "trips": trips}

    @api.post("/api/releases/{key}/private-report")
    def compare(key: str) -> dict[str, Json]:
        return jobs.submit("private", with_trips(key)).about()

    @api.post("/api/releases/{key}/risk")
    def attack(key: str) -> dict[str, Json]:
        return jobs.submit("risk", with_trips(key)).about()


def _zip(contents: dict[str, bytes]) -> Response:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return Response(buffer.getvalue(), media_type="application/zip")
