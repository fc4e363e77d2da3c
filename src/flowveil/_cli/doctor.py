"""flowveil doctor: what is installed, what the machine has, and whether a release can be made and checked here."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import typer

import flowveil as fv
from flowveil import synthetic
from flowveil._cli import options
from flowveil._cli.terminal import print_json, progress
from flowveil._processes import cores

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)>=(?P<least>[\d.]+)(?:; extra == ['\"](?P<extra>\w+)['\"])?$")
_NO_USE = {"all", "docs", "lint", "test"}  # extras that are others together, or for developers
_TOOLS = {
    "java": (("java",), 17, "--engine spark needs Java 17 or newer: install a JRE"),
    "chromium": (("chromium", "chromium-browser", "google-chrome"), 0, "only the tests of flowveil itself need it"),
}
_GIGABYTE = 1e9
_LEAST_FREE = 1e9  # bytes of a temporary folder below which a million trips may not fit
_SECONDS_FOR_A_TOOL = 60


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    is_well: bool
    is_needed: bool  # whether nothing works without it
    told: str
    hint: str = ""


def doctor(as_json: options.AsJson = False) -> None:
    """Say which versions and extras are installed and what the machine has, and make and check a small release."""
    with progress() as doing:
        doing("looking at packages and tools")
        findings = [*_packages(), *_tools(), *_machine()]
        doing("making and checking a small release")
        findings.append(_self_test())
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        _print(findings)
    ill = [finding for finding in findings if finding.is_needed and not finding.is_well]
    if ill:
        raise fv.InputError(f"{ill[0].what}: {ill[0].told}", ill[0].hint)


def _print(findings: list[Finding]) -> None:
    typer.echo(f"flowveil {fv.__version__}, Python {platform.python_version()}, {platform.platform()}")
    wide = max(len(finding.what) for finding in findings)
    for finding in findings:
        mark = "ok" if finding.is_well else "WRONG" if finding.is_needed else "-"
        hint = "" if finding.is_well or not finding.hint else f" ({finding.hint})"
        typer.echo(f"{mark:>5}  {finding.what:<{wide}}  {finding.told}{hint}")


def _packages() -> list[Finding]:
    """Return what is installed of the packages that the metadata of flowveil asks for, those of extras last."""
    findings = []
    for text in metadata.requires("flowveil") or ():
        wanted = _REQUIREMENT.match(text)
        if wanted is None or wanted["extra"] in _NO_USE:
            continue
        name, least, extra = wanted["name"], wanted["least"], wanted["extra"]
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            version = ""
        is_well = bool(version) and _numbers(version) >= _numbers(least)
        told = "not installed" if not version else version if is_well else f"{version} is older than {least}"
        hint = f"pip install --upgrade 'flowveil{f'[{extra}]' if extra else ''}'"
        findings.append(Finding(f"{extra}: {name}" if extra else name, is_well, extra is None, told, hint))
    return sorted(findings, key=lambda finding: not finding.is_needed)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:3]]


def _tools() -> list[Finding]:
    """Return which programs are there that some options start."""
    findings = []
    for what, (names, least, hint) in _TOOLS.items():
        path = next(filter(None, map(shutil.which, names)), None)
        told = "not found" if path is None else _version_of(path)
        is_well = path is not None and (_numbers(told) or [0])[0] >= least
        findings.append(Finding(what, is_well, False, told, hint))
    return findings


def _version_of(path: str) -> str:
    """Return the first line in which a program tells its version."""
    option = "-version" if Path(path).name == "java" else "--version"
    try:
        said = subprocess.run(  # noqa: S603  a program on the path of the user
            [path, option], capture_output=True, text=True, check=True, timeout=_SECONDS_FOR_A_TOOL
        )
    except (OSError, subprocess.SubprocessError):
        return "found, and does not tell its version"
    lines = (said.stdout + said.stderr).splitlines()
    return next((line.strip() for line in lines if re.search(r"\d", line)), "found")


def _machine() -> list[Finding]:
    """Return what the machine has: cores, memory, and room for temporary files."""
    findings = [Finding("cores", True, False, f"{cores()}")]
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _GIGABYTE
        findings.append(Finding("memory", True, False, f"{memory:.1f} GB; a command takes less with --memory"))
    try:
        folder = tempfile.gettempdir()
    except FileNotFoundError as error:
        return [*findings, Finding("temporary files", False, True, f"{error}", "set TMPDIR to a folder of your own")]
    free = shutil.disk_usage(folder).free
    told = f"{free / _GIGABYTE:.1f} GB free in {folder}"
    return [*findings, Finding("temporary files", free >= _LEAST_FREE, False, told, "set TMPDIR to a larger folder")]


def _self_test() -> Finding:
    """Make a release of a small synthetic city and verify it; without half of its trips it must fail."""
    what, hint = "self-test", "install flowveil anew in an environment of its own, and report this if it stays"
    began = time.perf_counter()
    trips = synthetic.City(seed=0, persons=200).trips(4_000)
    try:
        with tempfile.TemporaryDirectory(prefix="flowveil-doctor-") as scratch:
            release = fv.anonymize(fv.build_flows(trips, "h3:6", hierarchy="h3"), "mosaic", 10)
            folder = release.write(Path(scratch) / "out")
            fv.verify(folder, trips)
            try:
                fv.verify(folder, trips.slice(len(trips) // 2))
            except fv.VerificationError:
                flows = release.flows.num_rows
            else:
                return Finding(what, False, True, "a release of trips that are not there passed verification", hint)
    except (fv.FlowveilError, OSError) as error:
        return Finding(what, False, True, f"{error}".replace("\n", "; "), hint)
    seconds = time.perf_counter() - began
    told = f"{flows} flows of {len(trips):,} trips made and verified, and refused without half of them: {seconds:.1f} s"
    return Finding(what, True, True, told)
