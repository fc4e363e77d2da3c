"""Reports: one page that shows what a release holds, a function of its files."""

from flowveil._report.check import CHECKED_REPORT, check_report
from flowveil._report.content import (
    Content,
    cells_content,
    check_ground,
    choose_report,
    flows_content,
    make_inline,
    make_map,
    make_private_report,
    make_report,
    noisy_flows_content,
    synthetic_content,
    trajectories_content,
)
from flowveil._report.document import allowed_sources, show
from flowveil._report.drawing import ground
from flowveil._report.flows import floats
from flowveil._report.keys import label
from flowveil._report.packing import pack, pack_steps
from flowveil._report.scene import NOWHERE, Scene
from flowveil._report.shores import choose_ground

__all__ = [
    "CHECKED_REPORT",
    "NOWHERE",
    "Content",
    "Scene",
    "allowed_sources",
    "cells_content",
    "check_ground",
    "check_report",
    "choose_ground",
    "choose_report",
    "floats",
    "flows_content",
    "ground",
    "label",
    "make_inline",
    "make_map",
    "make_private_report",
    "make_report",
    "noisy_flows_content",
    "pack",
    "pack_steps",
    "show",
    "synthetic_content",
    "trajectories_content",
]
