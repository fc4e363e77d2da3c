"""What the page can ask for."""

from __future__ import annotations

import json
from importlib.metadata import version
from importlib.resources import files as resources
from typing import TYPE_CHECKING

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from flowveil._app.files import ENDINGS, Files, TooLargeError
from flowveil._app.guard import UPLOAD
from flowveil._app.jobs import Jobs
from flowveil._app.others import Noise, Paths  # noqa: TC001  as FastAPI reads annotations at run time
from flowveil._app.releases import add_exports, add_releases
from flowveil._app.settings import Asked, Points, SettingError, Settings
from flowveil._app.words import error_in_words
from flowveil._errors import FlowveilError, InputError
from flowveil._export import formats_of
from flowveil._folder import Json  # noqa: TC001  FastAPI reads annotations at run time
from flowveil._methods import methods
from flowveil._options import PRESETS
from flowveil._problem import LOSSES
from flowveil._synthetic import CITY_BBOX, write_demo_city

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._app.jobs import Job
    from flowveil._methods import Method


_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_DEMO = "flowveil-demo.trips.parquet"  # what `flowveil demo` calls it
_NOISE = ("noisy-mosaic", "laplace")  # whose flows are between areas, which the page can draw


def make_api(folder: Path, upload_limit: int) -> tuple[FastAPI, Jobs]:
    """Return the app, without its guard, and the jobs that end with it."""
    api = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    files, jobs = Files(folder / "files", upload_limit), Jobs(folder / "jobs")
    _add_errors(api)
    _add_page(api)
    _add_files(api, files)
    _add_jobs(api, files, jobs)
    _add_makers(api, files, jobs)
    add_releases(api, files, jobs)
    add_exports(api, files, jobs)
    _add_state(api, files, jobs)

    @api.get("/api/about")
    def about() -> dict[str, Json]:
        return {
            "version": version("flowveil"),
            "upload_limit": upload_limit,
            "endings": ENDINGS,
            "losses": list(LOSSES),
            "presets": PRESETS,
            "formats": {content: formats_of(content) for content in ("flows", "trajectories")},
            "methods": [_describe(method) for method in methods() if method.promise == "k-anonymity"],
            "noise": [_describe(method) for method in methods() if method.name in _NOISE],
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
        return answer(status, *error_in_words(known))

    @api.exception_handler(RequestValidationError)
    def refuse_settings(_: Request, error: Exception) -> JSONResponse:
        problems = error.errors() if isinstance(error, RequestValidationError) else []
        where = ", ".join(sorted({".".join(str(part) for part in one["loc"][1:]) for one in problems}))
        return answer(422, f"these settings cannot be used: {where}", "reload the page")

    @api.exception_handler(400)
    def refuse_body(_: Request, __: Exception) -> JSONResponse:
        return answer(400, "these settings cannot be read", "reload the page")

    @api.exception_handler(OSError)
    def refuse_to_keep(_: Request, error: Exception) -> JSONResponse:
        if isinstance(error, FileNotFoundError):  # while it was looked for, another request removed it
            return answer(400, "this is gone", "start again")
        return answer(400, f"the file cannot be kept: {getattr(error, 'strerror', error)}", "make room on the disk")

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
        return {"id": stored.id, "name": stored.name, "bytes": stored.bytes}

    @api.post("/api/demo")
    async def demo() -> dict[str, Json]:
        with files.begin(_DEMO, "trips") as incoming:
            await run_in_threadpool(incoming.fill, write_demo_city)
            stored = incoming.finish()
        bbox = ",".join(map(str, CITY_BBOX))
        return {"id": stored.id, "name": stored.name, "bytes": stored.bytes, "bbox": bbox}

    @api.delete("/api/files/{key}")
    def remove(key: str) -> dict[str, Json]:
        files.remove(key)
        return {}


def _add_jobs(api: FastAPI, files: Files, jobs: Jobs) -> None:
    @api.post("/api/columns/{key}")
    def columns(key: str) -> dict[str, Json]:
        return _about(files, jobs.submit("columns", {"path": str(files[key].path)}))

    @api.post("/api/zones/{key}")
    def zones(key: str) -> dict[str, Json]:
        return _about(files, jobs.submit("zones", {"path": str(files[key].path), "columns": {}}))

    @api.post("/api/count")
    def count(settings: Settings) -> dict[str, Json]:
        return _about(files, jobs.submit("count", {"places": settings.places(files)}))

    @api.post("/api/frontier")
    def frontier(settings: Settings) -> dict[str, Json]:
        order: dict[str, Json] = {"places": settings.places(files), "demand": settings.demand()}
        return _about(files, jobs.submit("frontier", order))

    @api.post("/api/frontier/paths")
    def frontier_of_paths(settings: Paths) -> dict[str, Json]:
        return _about(files, jobs.submit("path_frontier", settings.frontier_order(files)))

    @api.post("/api/points")
    def points(settings: Points) -> dict[str, Json]:
        order = settings.order(files) | {"budgets": settings.budgets}
        del order["report"], order["description"]
        return _about(files, jobs.submit("points", order))

    @api.get("/api/jobs/{key}")
    def job(key: str) -> dict[str, Json]:
        return _about(files, jobs[key])

    @api.delete("/api/jobs/{key}")
    def cancel(key: str) -> dict[str, Json]:
        return _about(files, jobs.cancel(key))


def _about(files: Files, job: Job) -> dict[str, Json]:
    """Return what the page may know of a job, with the users' names of files."""
    content: dict[str, Json] = json.loads(files.with_names(json.dumps(job.about())))
    return content


def _add_makers(api: FastAPI, files: Files, jobs: Jobs) -> None:
    """Make releases of each kind, and say how they are made elsewhere."""

    def said(settings: Asked) -> dict[str, Json]:
        return {"command": settings.command(files), "python": settings.python(files)}  # raise on what neither can say

    def start(kind: str, settings: Asked) -> dict[str, Json]:
        words = said(settings)
        return _about(files, jobs.submit(kind, settings.order(files))) | words

    @api.post("/api/anonymize")
    def anonymize(settings: Settings) -> dict[str, Json]:
        return start("anonymize", settings)

    @api.post("/api/noise")
    def noise(settings: Noise) -> dict[str, Json]:
        return start("noise", settings)

    @api.post("/api/paths")
    def paths(settings: Paths) -> dict[str, Json]:
        return start("paths", settings)

    @api.post("/api/command")
    def command(settings: Settings) -> dict[str, Json]:
        return said(settings)

    @api.post("/api/command/noise")
    def command_of_noise(settings: Noise) -> dict[str, Json]:
        return said(settings)

    @api.post("/api/command/paths")
    def command_of_paths(settings: Paths) -> dict[str, Json]:
        return said(settings)


def _add_state(api: FastAPI, files: Files, jobs: Jobs) -> None:
    """Keep what the page knows, so that it survives a reload: in memory, for whoever has the token, and unread."""
    kept: dict[str, bytes] = {}

    @api.put("/api/state")
    async def keep(request: Request) -> dict[str, Json]:
        kept["page"] = await request.body()
        return {}

    @api.get("/api/state")
    def give() -> Response:
        return Response(kept.get("page", b"null"), media_type="application/json")

    @api.delete("/api/state")
    def forget() -> dict[str, Json]:
        kept.clear()
        jobs.clear()
        files.clear()
        return {}
