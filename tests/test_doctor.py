"""The doctor: it tells what is there, and what is wrong is never called well."""

from __future__ import annotations

import json
import os
from importlib import metadata

import pytest

import flowveil as fv
from flowveil._cli import doctor
from flowveil._cli.commands import run

FULL_VERSION = metadata.version


def findings(capsys, code=0):
    """Run the doctor; return what it found by name, and what it wrote to stderr."""
    assert run(["doctor", "--json"]) == code
    out, err = capsys.readouterr()
    return {finding["what"]: finding for finding in json.loads(out)}, err


@pytest.mark.slow
def test_well(capsys):
    """Every package that the metadata names is told with its version, and a release was made."""
    found, err = findings(capsys)

    assert err == ""
    assert found["duckdb"]["told"] == FULL_VERSION("duckdb")
    assert found["dp: opendp"]["told"] == FULL_VERSION("opendp")
    assert found["self-test"]["is_well"]
    assert "4,000 trips" in found["self-test"]["told"]
    assert not [name for name in found if name.startswith(("test:", "lint:", "docs:", "all:"))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "version", "told", "code"),
    [
        ("duckdb", "0.9.2", "0.9.2 is older than", 2),
        ("opendp", None, "not installed", 0),
        ("shapely", None, "not installed", 2),
    ],
)
def test_packages(package, version, told, code, monkeypatch, capsys):
    """What is missing or too old is told, and is an error if nothing works without it."""

    def pretended(name):
        if name == package and version is None:
            raise metadata.PackageNotFoundError(name)
        return version if name == package else FULL_VERSION(name)

    monkeypatch.setattr(metadata, "version", pretended)
    found, err = findings(capsys, code)

    assert told in next(finding["told"] for name, finding in found.items() if name.endswith(package))
    assert ("hint: pip install" in err) is (code == 2)


def test_a_verifier_that_finds_nothing(monkeypatch, capsys):
    """The self-test is no formality: a check that lets everything pass is found out."""
    monkeypatch.setattr(fv, "verify", lambda *_: None)
    found, err = findings(capsys, 2)

    assert not found["self-test"]["is_well"]
    assert "passed verification" in err


def test_a_maker_that_fails(monkeypatch, capsys):
    """What goes wrong while a release is made is said, not thrown."""

    def fail(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr(fv, "build_flows", fail)
    _, err = findings(capsys, 2)

    assert "no space left on device" in err


def test_tools(monkeypatch, tmp_path, capsys):
    """A tool that is missing, or does not answer, is told and no error; the text says what it is for."""
    (tmp_path / "java").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert any("java" in line and "does not tell its version" in line for line in lines)
    assert any("chromium" in line and "not found (only the tests" in line for line in lines)


@pytest.mark.parametrize(
    ("said", "is_well"),
    [
        ('openjdk version "17.0.19" 2026-04-21', True),
        ('openjdk version "21" 2023-09-19', True),
        ('openjdk version "11.0.2" 2019-01-15', False),
        ('java version "1.8.0_392"', False),
        ("something else", False),
    ],
)
def test_java_that_is_too_old(said, is_well, monkeypatch, tmp_path):
    """Java that Spark cannot use is not called well."""
    (tmp_path / "java").write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    found = {finding.what: finding for finding in doctor._tools()}

    assert found["java"].is_well is is_well
    assert found["java"].told in {said, "found"}
