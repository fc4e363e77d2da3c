"""Documentation that a test reads: links, methods, dependencies, the README's own example."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import flowveil as fv

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    """Every relative link and picture of a page exists."""
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))

    missing = [target for target in targets if not (page.parent / target).exists()]

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
    extras = [need for name, needs in project["optional-dependencies"].items() if name != "test" for need in needs]

    for need in project["dependencies"] + extras:
        name = re.match(r"[\w-]+", need).group()
        assert name == "flowveil" or f"| {name} |" in page, name


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


def test_news_fragments_have_a_kind():
    """Every file in changes/ is NAME.kind.md."""
    names = [path.name for path in (ROOT / "changes").iterdir() if path.name != "README.md"]

    assert names
    assert all(re.fullmatch(r"[\w-]+\.(feature|fix|change)\.md", name) for name in names)
