"""Options that several commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Input = Annotated[
    str, typer.Argument(metavar="INPUT", help="Trips: CSV, Parquet or Arrow file, folder or quoted glob.")
]
Against = Annotated[str, typer.Option("--against", metavar="INPUT", help="The trips the release was made from.")]
ReleaseFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write the release to.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a release that is already there.")]
ZonesFile = Annotated[str | None, typer.Option("--zones", metavar="FILE", help="Zones: GeoParquet, GeoJSON or CSV.")]
Columns = Annotated[
    str | None, typer.Option("--columns", metavar="NAME=COL,...", help="Which column holds what, e.g. start_lon=x1.")
]
Where = Annotated[
    str | None, typer.Option("--where", metavar="CONDITION", help="Keep rows that fulfill this SQL condition.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
