"""The documentation as a site: it builds without warnings, loads nothing from elsewhere, and does what it says."""

from __future__ import annotations

import inspect
import logging
import re
import shlex
import shutil
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from website import drawing, reference
from website.examples import make_examples
from website.gallery import REPORTS

import flowveil as fv
from flowveil._cli.commands import run

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GUIDES = sorted(
    path for path in (ROOT / "docs" / "start").glob("*.md") if "```bash" in path.read_text(encoding="utf-8")
)


def fences(page):
    """Return the fenced blocks of a page: language, text."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands(text):
    """Return the commands of flowveil in a text, each split into words; a backslash continues a line."""
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [shlex.split(line.strip(), comments=True)[1:] for line in lines if line.strip().startswith("flowveil ")]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the folder of the files that the site offers."""
    folder = tmp_path_factory.mktemp("files")
    make_examples(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_guide_does_what_it_says(page, files, tmp_path, monkeypatch, capsys):
    """Every command of a guide runs on the files of the site, and prints what stands below it; so does its Python."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    blocks = [*fences(page), ("", "")]

    for (language, text), (after, expected) in pairwise(blocks):
        if language == "python":
            exec(compile(text, page.name, "exec"), {})  # noqa: S102  the example is ours
        if language == "bash":
            (words,) = commands(text)
            code = run(words)
            said = "".join(capsys.readouterr())
            lines = expected.splitlines() if after == "text" else []
            assert [line for line in lines if line.strip() not in said] == [], (words, said)
            assert code == (2 if any(line.startswith("error: ") for line in lines) else 0), said


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist(page):
    """Every command that a page shows in a block has the name and the options that the program knows."""
    known = reference.commands()
    shown = re.findall(
        r"(?:^(?: {4}|\t).*\n)+|^```\w*\n.*?^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )

    for words in (each for block in shown for each in commands(block.replace("'", "").replace('"', ""))):
        name = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0] if words else ""
        if words and not words[0].startswith(("-", "[")):
            assert name in known, words
            options = {option for each in known[name].params for option in (*each.opts, *each.secondary_opts)} | {
                "--help"
            }
            typed = {re.split(r"[=\]]", word)[0].strip("[],") for word in words if word.strip("[").startswith("--")}
            assert typed - options == set(), words


@pytest.mark.slow
def test_site_builds(tmp_path, caplog):
    """A strict build has no warning, holds every page, report and file, and loads nothing from elsewhere."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    gallery, site = tmp_path / "gallery", tmp_path / "site"
    gallery.mkdir()
    for name in REPORTS:  # made by `make docs`; here the frame is tested
        (gallery / f"{name}.html").write_text("<title>report</title>", encoding="utf-8")
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(site))
    config.extra["gallery"] = str(gallery)

    with caplog.at_level(logging.WARNING, logger="mkdocs"):
        build(config)

    assert caplog.messages == []
    pages = list(site.rglob("*.html"))
    assert {page.relative_to(ROOT / "docs").with_suffix(".html") for page in PAGES[1:]} <= {
        page.relative_to(site) for page in pages
    }
    loaded = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"?(https?:[^\s\">]+)")
    assert [found for page in pages for found in loaded.findall(page.read_text(encoding="utf-8"))] == []
    frames = {
        found
        for page in pages
        for found in re.findall(r'<iframe[^>]*src="../reports/(.*?).html"', page.read_text(encoding="utf-8"))
    }
    assert frames == set(REPORTS)


def test_reference_is_whole():
    """The pages made from code have every public name with its example, and every option of every command."""
    pages = reference.pages()

    for name, module in reference.MODULES.items():
        page = pages[f"reference/{name.replace('.', '-')}.md"]
        for each in module.__all__:
            value = getattr(module, each)
            if inspect.isfunction(value) or inspect.isclass(value):
                assert re.search(rf"^## fv[.\w]*\.{each}$", page, re.MULTILINE), each
        assert " at 0x" not in page
    for name, command in reference.commands().items():
        section = pages["reference/commands.md"].split(f"## flowveil {name}\n")[1].split("\n## ")[0]
        for parameter in command.params:
            if parameter.param_type_name == "option" and parameter.name != "help":
                assert all(f"`{option}" in section for option in parameter.opts), (name, parameter.opts)


def test_rooms_are_drawn():
    """The drawing has a box for each room of the flowchart and an arrow for each of its arrows, all pointing down."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    chart = re.search(r"```mermaid\n(.*?)```", page, re.DOTALL).group(1)
    arrows = re.findall(r"(\w+) --> (\w+)", chart)

    picture = drawing.draw(chart)

    assert sorted(re.findall(r"<text.*?>(\w+)</text>", picture)) == sorted({room for arrow in arrows for room in arrow})
    ends = re.findall(r'class="arrow" d="M\S+ (\S+)C\S+ \S+ \S+ \S+ \S+ (\S+)"', picture)
    assert len(ends) == len(arrows)
    assert all(float(start) < float(end) for start, end in ends)


def test_readme_is_short():
    """The README has at most 120 lines: what is longer belongs into docs/."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_citation_is_of_this_version():
    """CITATION.cff names the version and the license of the project."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")

    assert f"\nversion: {project['version']}\n" in text
    assert re.search(r"^license: (.*)$", text, re.MULTILINE)[1] in project["license"]
    assert fv.__version__ == project["version"]
