"""From the files of a release to what its report shows: a function of these files alone, one for each kind."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from importlib.metadata import version
from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._folder import AREAS, CELLS, FLOWS, MARGINALS, PLACES, SAMPLES, TRAJECTORIES
from flowveil._options import check_flag
from flowveil._report.cells import cells_distributions, cells_figures, cells_scene
from flowveil._report.document import Look, page
from flowveil._report.drawing import drawing
from flowveil._report.findings import findings
from flowveil._report.flows import by_key, flows_distributions, flows_figures, flows_scene, noisy_figures
from flowveil._report.shores import WORLD, WORLD_GROUND, Ground, choose_ground
from flowveil._report.synthetic import synthetic_distributions, synthetic_figures, synthetic_scene
from flowveil._report.trajectories import trajectories_distributions, trajectories_figures, trajectories_scene
from flowveil._report.words import command, credits_of, not_protected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from flowveil._folder import Files, Json
    from flowveil._places import ZonesLike
    from flowveil._report.figures import Figure
    from flowveil._report.scene import Scene

    Show: TypeAlias = Callable[[Files], "Content"]

FORMAT = "flowveil-report/2"


@dataclass(frozen=True, eq=False)
class Content:
    """What a report shows."""

    scene: Scene
    figures: list[Figure]
    distributions: list[dict[str, Json]]
    manifest: Mapping[str, Json]
    words: Mapping[str, str]  # what movements and their amounts are called

    def numbers(self) -> dict[str, Json]:
        """Return the JSON twin of the report."""
        shown = ("method", "promise", "promise_text", "absence")
        return {
            "format": FORMAT,
            "software": f"flowveil {version('flowveil')}",
            "release_software": self.manifest["software"],
            **{name: self.manifest[name] for name in shown},
            "not_protected": not_protected(self.manifest),
            "command": command(self.manifest),
            "figures": {figure.name: figure.value for figure in self.figures},
            "meanings": {figure.name: figure.meaning for figure in self.figures},
            "credits": credits_of(self.manifest),
            "ground": str(self.scene.ground),
            "context": [] if self.scene.ground.context is None else self.scene.ground.context.styles,
            "distributions": self.distributions,
            "description": dict(self.manifest.get("description", {})),
            "by": by_key(self.scene) if "flows" in self.words.values() else [],
            "findings": findings(
                self.scene,
                grid=bool(self.manifest["options"].get("grid")),
                users=self.words.get("persons", "users"),
                counted=self.words["amount"],
            ),
        }


_FLOW_WORDS = {"movements": "flows", "amount": "trips", "counted": "trips", "title": "Published flows"}
_BOX_WORDS = {"movements": "counts", "amount": "trips", "counted": "trips", "title": "Published counts"}
_PATH_WORDS = {
    "movements": "samples",
    "amount": "user samples",
    "counted": "users",
    "title": "Published trajectories",
}


_DRAWN_WORDS = {"movements": "moves", "amount": "moves", "counted": "moves", "title": "Synthetic trajectories"}


def _words(words: dict[str, str], manifest: Mapping[str, Json]) -> dict[str, str]:
    """Return the words of a kind of release, with what the publisher says in their place."""
    said, unit = manifest.get("description", {}), manifest["promise"]["unit"]
    more = {"title": said["title"]} if "title" in said else {}
    if (label := said.get("unit_label")) is not None:
        crowd = label if words["counted"] == "users" else f"different {label} ({unit})"
        more |= {"crowd": crowd, "one": f"of the {label}", "persons": label}
        if words["counted"] == "users":
            more["amount"] = f"samples of {label}"
    elif (named := re.fullmatch(r"([a-z]+)[_ ]id", unit, re.IGNORECASE)) and words["counted"] != "users":
        label = f"{named[1].lower()}s"  # person_id tells persons apart
        more |= {"crowd": f"different {label} ({unit})", "persons": label}
    return words | more


def flows_content(files: Files) -> Content:
    """Return what the report of flows between areas shows."""
    flows, manifest = files.tables[FLOWS], files.manifest
    scene = flows_scene(flows, files.tables[AREAS], manifest)
    return Content(
        scene,
        flows_figures(scene, manifest),
        flows_distributions(scene, manifest),
        manifest,
        _words(_FLOW_WORDS, manifest),
    )


def noisy_flows_content(files: Files) -> Content:
    """Return what the report of flows with noise shows."""
    flows, manifest = files.tables[FLOWS], files.manifest
    scene = flows_scene(flows, files.tables[AREAS], manifest)
    figures = noisy_figures(scene, flows, manifest)
    return Content(scene, figures, flows_distributions(scene, manifest), manifest, _words(_FLOW_WORDS, manifest))


def cells_content(files: Files) -> Content:
    """Return what the report of boxes with noise shows."""
    table, manifest = files.tables[CELLS], files.manifest
    scene = cells_scene(table, manifest)
    figures = cells_figures(scene, table, files.tables.get(MARGINALS), manifest)
    return Content(scene, figures, cells_distributions(table), manifest, _words(_BOX_WORDS, manifest))


def trajectories_content(files: Files) -> Content:
    """Return what the report of trajectories shows."""
    table, manifest = files.tables[TRAJECTORIES], files.manifest
    scene = trajectories_scene(table)
    figures = trajectories_figures(scene, table, manifest)
    return Content(
        scene, figures, trajectories_distributions(scene, table, manifest), manifest, _words(_PATH_WORDS, manifest)
    )


def synthetic_content(files: Files) -> Content:
    """Return what the report of synthetic trajectories shows."""
    samples, places, manifest = files.tables[SAMPLES], files.tables[PLACES], files.manifest
    scene = synthetic_scene(samples, places)
    figures = synthetic_figures(scene, samples, places, manifest)
    return Content(scene, figures, synthetic_distributions(samples, places), manifest, _words(_DRAWN_WORDS, manifest))


def make_report(show: Show, files: Files, ground: Ground = WORLD_GROUND) -> str:
    """Return the report of a release as one HTML document that needs nothing else; show: what its kind shows."""
    content = show(files)
    content = replace(content, scene=replace(content.scene, ground=ground))
    return page(content.numbers(), drawing(content.scene), content.words)


def choose_report(
    show: Show, *, report: bool, ground: str | None, context: ZonesLike | None
) -> Callable[[Files], str] | None:
    """Return what makes the report of a release, None if none is asked for; ground, context: what it is drawn on."""
    chosen = check_ground(ground, context, report=report)
    return partial(make_report, show, ground=chosen) if report else None


def check_ground(ground: str | None, context: ZonesLike | None = None, *, report: bool) -> Ground:
    """Return the ground of a report, or raise if it is unknown, not installed, or given without a report."""
    if not check_flag(report, "report"):
        for name, value in (("ground", ground), ("context", context)):
            if value is not None:
                raise InputError(
                    f"a {name} was given, but no report is asked for", f"add --report, or leave out --{name}"
                )
    return choose_ground(WORLD if ground is None else ground, context)


def make_private_report(show: Show, files: Files, losses: Mapping[str, Json]) -> str:
    """Return the report of a release with what it lost, measured on the true trips: not to be published."""
    content = show(files)
    return page(content.numbers(), drawing(content.scene), content.words, Look.PRIVATE, losses)


def make_map(content: Content) -> str:
    """Return the map of a release as a page to be shown in a frame of another one."""
    return page(content.numbers(), drawing(content.scene), content.words, Look.INLINE)


def make_inline(show: Show, files: Files) -> str:
    """Return the map of a release for a notebook: a page of its own, so that neither disturbs the other."""
    content = show(files)
    title, inner = escape(content.words["title"]), escape(make_map(content))
    return (
        f'<iframe title="{title}" srcdoc="{inner}" sandbox="allow-scripts" '
        'style="width:100%;height:620px;border:0"></iframe>'
    )
