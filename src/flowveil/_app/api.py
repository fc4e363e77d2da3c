"""What the page can ask for."""

from __future__ import annotations

import json
import zipfile
from importlib.metadata import version
from importlib.resources import files as resources
from io import BytesIO
from typing import TYPE_CHECKING

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from flowveil._app.files import ENDINGS, Files, TooLargeError
from flowveil._app.guard import UPLOAD
from flowveil._app.jobs import DONE, Jobs
from flowveil._app.settings import SettingError, Settings
from flowveil._app.tasks import RELEASE
from flowveil._errors import FlowveilError, InputError
from flowveil._folder import Json  # noqa: TC001  FastAPI reads annotations at run time
from flowveil._methods import methods
from flowveil._problem import LOSSES
from flowveil._synthetic import write_demo_city

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._app.jobs import Job
    from flowveil._methods import Method


_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_DEMO = "flowveil-demo.trips.parquet"  # what `flowveil demo` calls it
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same release gives the same zip


def make_api(folder: Path, upload_limit: int) -> tuple[FastAPI, Jobs]:
    """Return the app, without its guard, and the jobs that end with it."""
    api = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    files, jobs = Files(folder / "files", upload_limit), Jobs(folder / "jobs")
    _add_errors(api)
    _add_page(api)
    _add_files(api, files)
    _add_jobs(api, files, jobs)
    _add_releases(api, files, jobs)

    @api.get("/api/about")
    def about() -> dict[str, Json]:
        return {
            "version": version("flowveil"),
            "upload_limit": upload_limit,
            "endings": ENDINGS,
            "losses": list(LOSSES),
            "methods": [_describe(method) for method in methods() if method.promise == "k-anonymity"],
        }

    return api, jobs


def _describe(method: Method) -> dict[str, Json]:
    return {
        "name": method.name,
        "family": method.family,
        "summary": method.summary,
        "steers": method.steers,
        "frontier": method.frontier is not None,
        "losses": method.losses,
        "options": [{"name": one.name, "default": one.default, "meaning": one.meaning} for one in method.options],
    }


def _add_errors(api: FastAPI) -> None:
    def answer(status: int, error: str, hint: str) -> JSONResponse:
        return JSONResponse({"error": error, "hint": hint}, status)

    @api.exception_handler(FlowveilError)
    def refuse(_: Request, error: Exception) -> JSONResponse:
        known = error if isinstance(error, FlowveilError) else FlowveilError(str(error), "")
        status = {TooLargeError: 413, SettingError: 422}.get(type(known), 400)
        return answer(status, *known.with_keywords())

    @api.exception_handler(RequestValidationError)
    def refuse_settings(_: Request, error: Exception) -> JSONResponse:
        problems = error.errors() if isinstance(error, RequestValidationError) else []
        where = ", ".join(sorted({".".join(str(part) for part in one["loc"][1:]) for one in problems}))
        return answer(422, f"these settings cannot be used: {where}", "reload the page")

    @api.exception_handler(400)
    def refuse_body(_: Request, __: Exception) -> JSONResponse:
        return answer(400, "these settings cannot be read", "reload the page")

    @api.exception_handler(404)
    def refuse_path(_: Request, __: Exception) -> JSONResponse:
        return answer(404, "there is nothing here", "open the address that flowveil serve printed")


def _add_page(api: FastAPI) -> None:
    """Serve the files of the page; only those that are there are ever opened."""
    known = {item.name: item for item in resources("flowveil._app").joinpath("assets").iterdir()}

    @api.get("/")
    def page() -> Response:
        return asset("index.html")

    @api.get("/assets/{name}")
    def asset(name: str) -> Response:
        ending = "." + name.rsplit(".", 1)[-1]
        if name not in known or ending not in _TYPES:
            raise HTTPException(404)
        return Response(known[name].read_bytes(), media_type=_TYPES[ending])


def _add_files(api: FastAPI, files: Files) -> None:
    @api.put(UPLOAD)
    async def upload(request: Request, name: str, kind: str = "trips") -> dict[str, Json]:
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > files.limit:
            raise TooLargeError(files.limit)
        try:
            with files.begin(name, kind) as incoming:
                async for block in request.stream():
                    incoming.write(block)
                stored = incoming.finish()
        except ClientDisconnect:
            raise InputError("the upload was broken off", "give the file again") from None
        except OSError as error:
            raise InputError(f"the file cannot be kept: {error.strerror}", "make room on the disk") from None
        return {"id": stored.id, "name": stored.name, "bytes": stored.bytes}

    @api.post("/api/demo")
    async def demo() -> dict[str, Json]:
        with files.begin(_DEMO, "trips") as incoming:
            await run_in_threadpool(incoming.fill, write_demo_city)
            stored = incoming.finish()
        return {"id": stored.id, "name": stored.name, "bytes": stored.bytes}

    @api.delete("/api/files/{key}")
    def remove(key: str) -> dict[str, Json]:
        files.remove(key)
        return {}


def _add_jobs(api: FastAPI, files: Files, jobs: Jobs) -> None:
    def about(job: Job) -> dict[str, Json]:
        content: dict[str, Json] = json.loads(files.with_names(json.dumps(job.about())))
        return content

    @api.post("/api/columns/{key}")
    def columns(key: str) -> dict[str, Json]:
        return about(jobs.submit("columns", {"path": str(files[key].path)}))

    @api.post("/api/zones/{key}")
    def zones(key: str) -> dict[str, Json]:
        return about(jobs.submit("zones", {"path": str(files[key].path), "columns": {}}))

    @api.post("/api/count")
    def count(settings: Settings) -> dict[str, Json]:
        return about(jobs.submit("count", {"places": settings.places(files)}))

    @api.post("/api/frontier")
    def frontier(settings: Settings) -> dict[str, Json]:
        return about(jobs.submit("frontier", {"places": settings.places(files), "demand": settings.demand()}))

    @api.post("/api/anonymize")
    def anonymize(settings: Settings) -> dict[str, Json]:
        command = settings.command(files)  # raises on what no command line can say
        arguments: dict[str, Json] = {"places": settings.places(files), "demand": settings.demand()}
        arguments |= {"steer": settings.steer(), "report": settings.report, "folder": None}
        return about(jobs.submit("anonymize", arguments)) | {"command": command}

    @api.post("/api/command")
    def command(settings: Settings) -> dict[str, Json]:
        return {"command": settings.command(files)}

    @api.get("/api/jobs/{key}")
    def job(key: str) -> dict[str, Json]:
        return about(jobs[key])

    @api.delete("/api/jobs/{key}")
    def cancel(key: str) -> dict[str, Json]:
        return about(jobs.cancel(key))


def _add_releases(api: FastAPI, files: Files, jobs: Jobs) -> None:
    def folder(key: str) -> Path:
        job = jobs[key]
        if job.kind != "anonymize" or job.state != DONE:
            raise InputError("there is no such release", "anonymize first")
        return job.folder

    @api.get("/api/releases/{key}/picture")
    def picture(key: str) -> FileResponse:
        return FileResponse(folder(key) / "picture.json", media_type="application/json")

    @api.get("/api/releases/{key}/zip")
    def download(key: str) -> Response:
        release = sorted((folder(key) / RELEASE).iterdir())
        return _zip({f"{RELEASE}/{item.name}": item.read_bytes() for item in release})

    @api.get("/api/releases/{key}/private")
    def private(key: str) -> Response:
        beside = {item.name: item.read_bytes() for item in sorted(folder(key).glob(f"{RELEASE}.*"))}
        audit = f"{RELEASE}.audit.json"
        return _zip(beside | {audit: files.with_names(beside[audit].decode()).encode()})


def _zip(contents: dict[str, bytes]) -> Response:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return Response(buffer.getvalue(), media_type="application/zip")
