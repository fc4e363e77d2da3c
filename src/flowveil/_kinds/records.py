"""One record for each kind of release: what can be done with it, and by which function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowveil import _trajectories
from flowveil._folder import Kind
from flowveil._kinds.losses import (
    flows_losses,
    noisy_losses,
    synthetic_losses,
    trajectories_figures,
    trajectories_losses,
)
from flowveil._matrices import query_errors, query_noisy, read_noisy
from flowveil._questions import ask, ask_paths
from flowveil._release import evaluate_flows, read_flows
from flowveil._report import cells_content, flows_content, noisy_flows_content, synthetic_content, trajectories_content
from flowveil._synthesis import evaluate_synthetic, read_synthetic
from flowveil._verify import verify_flows, verify_noisy, verify_synthetic, verify_trajectories

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flowveil._folder import Files, Json
    from flowveil._questions import Answered
    from flowveil._report import Content


@dataclass(frozen=True)
class Record:
    """What a kind of release can do; None: it cannot."""

    read: Callable[[str | Path], Any]  # the release as an object
    verify: Callable[..., Any]  # takes a folder, and the input if the promise is about it
    evaluate: Callable[..., Any]  # takes a folder and the input
    show: Callable[[Files], Content]  # what its report shows
    losses: Callable[..., dict[str, Json]]  # takes a folder and the input: what its private report adds
    ask: Callable[..., Answered]  # takes a folder and the input: what people ask, before and after
    query: Callable[..., Any] | None = None  # takes what was read


RECORDS = {
    Kind.FLOWS: Record(
        read=read_flows,
        verify=verify_flows,
        evaluate=evaluate_flows,
        show=flows_content,
        losses=flows_losses,
        ask=ask,
    ),
    Kind.NOISY_FLOWS: Record(
        read=read_noisy,
        verify=verify_noisy,
        evaluate=query_errors,
        show=noisy_flows_content,
        losses=noisy_losses,
        ask=ask,
        query=query_noisy,
    ),
    Kind.CELLS: Record(
        read=read_noisy,
        verify=verify_noisy,
        evaluate=query_errors,
        show=cells_content,
        losses=noisy_losses,
        ask=ask,
        query=query_noisy,
    ),
    Kind.TRAJECTORIES: Record(
        read=_trajectories.read_release,
        verify=verify_trajectories,
        evaluate=trajectories_figures,
        show=trajectories_content,
        losses=trajectories_losses,
        ask=ask_paths,
    ),
    Kind.SYNTHETIC: Record(
        read=read_synthetic,
        verify=verify_synthetic,
        evaluate=evaluate_synthetic,
        show=synthetic_content,
        losses=synthetic_losses,
        ask=ask_paths,
    ),
}
