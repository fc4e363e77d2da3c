"""What MkDocs asks while it builds the site: pages made from code, reports, files, and the rooms drawn."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # MkDocs loads this file by its path

from website import drawing, examples, gallery, reference  # noqa: E402

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

# Pages beside docs/, and where the site shows them.
BESIDE = {"CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation: decisions by their numbers, and pages that it does not name under `More`."""
    folder = Path(config.docs_dir)
    decisions = sorted(path.name for path in (folder / "decisions").glob("*.md"))
    named = set(_paths(config.nav or []))
    rest = sorted({str(path.relative_to(folder)) for path in folder.glob("*.md")} - named)
    for part in config.nav or []:
        if "Explanation" in part:
            part["Explanation"] += [{"More": rest}] if rest else []
        if "Decisions" in part:
            part["Decisions"] += [f"decisions/{name}" for name in decisions]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add what is made: references, an index of decisions, pages beside docs/, reports and example files."""
    made = reference.pages() | {"decisions/index.md": _decisions(Path(config.docs_dir) / "decisions")}
    made |= {name: _beside(ROOT / source) for source, name in BESIDE.items()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    cache = Path(config.extra.get("gallery", ROOT / "build" / "gallery"))
    for path in gallery.make_reports(cache):
        files.append(File.generated(config, f"reports/{path.name}", abs_src_path=str(path)))
    for path in examples.make_examples(cache / "files"):
        files.append(File.generated(config, f"files/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Draw the rooms in place of their flowchart: mermaid would be a script from elsewhere."""
    if page.file.src_uri != "architecture.md":
        return markdown
    found = re.search(r"```mermaid\n(.*?)```", markdown, re.DOTALL)
    return markdown if found is None else markdown.replace(found.group(), drawing.draw(found[1]))


def _paths(nav: list[object]) -> list[str]:
    """Return all paths that a navigation names."""
    found: list[str] = []
    for part in nav:
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, dict):
            for value in part.values():
                found += _paths(value if isinstance(value, list) else [value])
    return found


def _decisions(folder: Path) -> str:
    """Return a page that lists decisions by number and title."""
    lines = ["# Decisions", "", "Choices that someone may question, each with its reason.", ""]
    for path in sorted(folder.glob("*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        number, _, words = title.partition(". ")
        lines.append(f"{number}. [{words}]({path.name})")
    return "\n".join(lines) + "\n"


def _beside(path: Path) -> str:
    """Return a page of the project's folder, with links as the site has them."""
    text = path.read_text(encoding="utf-8").replace("](docs/", "](")
    for source, name in BESIDE.items():
        text = text.replace(f"]({source})", f"]({name})")
    return text.replace("](changes/README.md)", "](contributing.md)")
