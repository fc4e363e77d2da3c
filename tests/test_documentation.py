"""Documentation that a test reads: links, methods, dependencies, the README's own example."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

import flowveil as fv
from tests.waiting import run_program

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "changes" / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    """Every relative link and picture of a page exists, but for what the site makes: building it checks these links."""
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))

    made = [(ROOT / "docs" / folder).resolve() for folder in ("files", "reports", "reference")]
    paths = [(page.parent / target).resolve() for target in targets]
    missing = [path for path in paths if not path.exists() and path.parent not in made]

    assert missing == []


def test_every_method_is_documented():
    """A method that `flowveil methods` lists stands in a page about methods, with each of its options."""
    pages = "\n".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md")))

    for method in fv.methods():
        assert f"`{method.name}`" in pages or f"## {method.name}" in pages
        for option in method.options:
            assert f"`{option.name}`" in pages or f"{option.name}=" in pages, (method.name, option.name)


def test_every_dependency_has_its_reason():
    """Each package that the project needs, or offers as an extra for users, is in docs/dependencies.md."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    extras = project["optional-dependencies"]
    offered = [need for name, needs in extras.items() if name not in ("lint", "test") for need in needs]

    for need in project["dependencies"] + offered:
        name = re.match(r"[\w-]+", need).group()
        assert name == "flowveil" or f"| {name} |" in page, name


@pytest.mark.slow
def test_readme_example_runs(city_trips, tmp_path, monkeypatch):
    """The Python example of the README works as it stands on trips of a city."""
    import pyarrow.csv
    import pyarrow.parquet as pq

    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(pq.read_table(city_trips), "trips.csv")

    exec(compile(code, "README.md", "exec"), {})  # noqa: S102  the example is ours

    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "areas.parquet",
        "flows.parquet",
        "manifest.json",
    ]


def fragments():
    """Return the files in changes/ that tell of a change."""
    return [path for path in (ROOT / "changes").iterdir() if path.name not in ("README.md", "template.md.jinja")]


def test_news_fragments_have_a_kind():
    """Every file in changes/ is NAME.kind.md, and holds a few sentences."""
    for path in fragments():
        assert re.fullmatch(r"[\w-]+\.(feature|fix|change)\.md", path.name), path.name
        assert re.fullmatch(r"(?!- )\S.*\S\n", path.read_text(encoding="utf-8"), re.DOTALL), path.name


def test_next_version_has_all_news():
    """The section of the next version holds every fragment under its kind, and headings of the changelog only rise."""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "next"]

    done = run_program(command, cwd=ROOT)

    assert done.returncode == 0, done.stderr
    kinds = dict(zip(("feature", "change", "fix"), ("New", "Changed", "Mended"), strict=True))
    parts = dict(re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", done.stdout, re.DOTALL | re.MULTILINE))
    for path in fragments():
        told = " ".join(path.read_text(encoding="utf-8").split())
        assert told in " ".join(parts[kinds[path.suffixes[-2][1:]]].split()), path.name


def test_changelog_has_no_version_to_come():
    """Versions of the changelog descend; the newest is not above the project's, and has taken its fragments along."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    told = [tuple(map(int, version.split("."))) for version in re.findall(r"^## ([\d.]+) \(", text, re.MULTILINE)]
    current = tuple(map(int, project.split(".")))

    assert "<!-- versions -->\n" in text
    assert told == sorted(set(told), reverse=True)
    assert max(told, default=(0,)) <= current


def test_decisions_are_numbered_without_gaps():
    """Decisions are 0001, 0002 and so on, and each begins with its number."""
    paths = sorted((ROOT / "docs" / "decisions").iterdir())

    assert [path.name[:4] for path in paths] == [f"{number:04}" for number in range(1, len(paths) + 1)]
    for number, path in enumerate(paths, 1):
        assert path.read_text(encoding="utf-8").startswith(f"# {number}. "), path.name


def test_every_command_of_make_is_told():
    """CONTRIBUTING.md and the README name the commands of the Makefile that people type, and no others."""
    made = set(re.search(r"^\.PHONY: (.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1].split())
    pages = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "README.md"))
    told = set(re.findall(r"(?:`|^    )make ([a-z-]+)", pages, re.MULTILINE))

    assert told == made - {"tools", "pictures", "clean"}
