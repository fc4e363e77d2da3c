"""Reference pages that are made from the code itself, so that they cannot drift: public names, commands and options."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import typer

import flowveil as fv
from flowveil._cli.commands import find_app

if TYPE_CHECKING:
    from types import ModuleType

MODULES = {"flowveil": fv, "flowveil.trajectories": fv.trajectories, "flowveil.synthetic": fv.synthetic}
_WIDTH = 100  # of a signature in one line


def pages() -> dict[str, str]:
    """Return the pages by their paths in the site."""
    made = {f"reference/{name.replace('.', '-')}.md": module_page(name, module) for name, module in MODULES.items()}
    return made | {"reference/commands.md": commands_page()}


# Python


def module_page(name: str, module: ModuleType) -> str:
    """Return the page of a module: functions, then classes, each with its signature, words and example."""
    values = {each: getattr(module, each) for each in sorted(module.__all__, key=str.lower)}
    functions = {each: value for each, value in values.items() if inspect.isfunction(value)}
    classes = {each: value for each, value in values.items() if inspect.isclass(value)}
    short = "fv" + name.removeprefix("flowveil")
    parts = [f"# {name}", _intro(module, name)]
    parts += [_entry(f"{short}.{each}", value, "##") for each, value in functions.items()]
    for each, value in classes.items():
        parts.append(_entry(f"{short}.{each}", value, "##"))
        parts += [_entry(f"{each}.{method}", function, "###") for method, function in _methods(value).items()]
    return "\n\n".join(parts) + "\n"


def _intro(module: ModuleType, name: str) -> str:
    said = inspect.getdoc(module) or ""
    how = (
        ""
        if name == "flowveil"
        else f"\n\n`fv` is `flowveil`: `import flowveil as fv`, then `fv.{name.partition('.')[2]}`."
    )
    return f"{said}{how}\n\nMade from the docstrings; tests run every example."


def _methods(value: type) -> dict[str, object]:
    members = inspect.getmembers(value, inspect.isfunction)
    return {key: each for key, each in members if key[0] != "_" and each.__module__.startswith("flowveil.")}


def _entry(name: str, value: object, level: str) -> str:
    said, _, example = (inspect.getdoc(value) or "").partition(">>>")
    parts = [f"{level} {name}"]
    if inspect.isfunction(value):
        parts.append(f"```python\n{_signature(name, value)}\n```")
    names = list(inspect.signature(value).parameters) if inspect.isfunction(value) else []
    parts.append(_words(said, names))
    if example:
        parts.append(f"```pycon\n>>>{example.rstrip()}\n```")
    return "\n\n".join(part for part in parts if part)


def _signature(name: str, function: object) -> str:
    signature = inspect.signature(function)  # type: ignore[arg-type]
    own = [each for each in signature.parameters.values() if each.name != "self"]
    line = _plain(f"{name}{signature.replace(parameters=own)}")
    if len(line) <= _WIDTH:
        return line
    rows, starred = [], False
    for each in own:
        if each.kind is each.KEYWORD_ONLY and not starred:
            rows.append("    *,")
            starred = True
        rows.append(_plain(f"    {each},"))
    back = "" if signature.return_annotation is signature.empty else f" -> {signature.return_annotation}"
    return "\n".join([f"{name}(", *rows, _plain(f"){back}")])


def _plain(text: str) -> str:
    """Return a signature without the quotes of annotations, and without the addresses of functions."""
    text = re.sub(r"(: |-> )(['\"])(.*?)\2(?=,|\)| =|:|$)", r"\1\3", text)
    return re.sub(r"<function .*? at 0x\w+>", "...", text)


def _words(said: str, names: list[str]) -> str:
    """Return the words of a docstring, with a list entry for each parameter that they explain."""
    own = "|".join(map(re.escape, names)) or "(?!)"
    said = re.sub(rf"(?<=[.;]) (?=(?:{own})(?:, (?:{own}))*: )", "\n", said.strip())
    text: list[str] = []
    for line in said.splitlines():
        found = re.match(r"((?:\w+, )*\w+): (.*)", line)
        if found and found[1].islower():
            explained = ", ".join(f"`{name}`" for name in found[1].split(", "))
            text += [""] * (not text or not text[-1].startswith(("- ", "  "))) + [f"- {explained}: {found[2]}"]
        else:
            text.append(f"  {line}" if line and text and text[-1].startswith(("- ", "  ")) else line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(text)).strip()


# Commands


def commands_page() -> str:
    """Return the page of all commands with their options, as the parser has them."""
    parts = [
        "# Every command",
        "Made from the parser, as `--help` shows it. [Command line](../command-line.md) says more in words.",
    ]
    parts += [_command(name, command) for name, command in commands().items()]
    return "\n\n".join(parts) + "\n"


def commands() -> dict[str, typer.core.TyperCommand]:
    """Return all commands by their full names."""
    found: dict[str, typer.core.TyperCommand] = {}

    def collect(command: object, name: str) -> None:
        if hasattr(command, "commands"):
            for child, inner in command.commands.items():
                collect(inner, f"{name} {child}".strip())
        else:
            found[name] = command  # type: ignore[assignment]

    collect(typer.main.get_command(find_app()), "")
    return found


def _command(name: str, command: typer.core.TyperCommand) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and each.name != "help"]
    usage = " ".join([f"flowveil {name}", *(_argument(each) for each in arguments), "[options]" if options else ""])
    rows = [f"| {_spelling(each)} | {_cell(each.help)} |" for each in options]
    table = ["| option | meaning |", "|---|---|", *rows] if rows else []
    said = [f"`{each.metavar or each.name.upper()}`: {each.help}" for each in arguments if each.help]
    return "\n\n".join(
        [f"## flowveil {name}", command.help or "", f"    {usage.strip()}", *said, "\n".join(table)]
    ).strip()


def _argument(argument: object) -> str:
    name = (getattr(argument, "metavar", None) or argument.name).upper()  # type: ignore[attr-defined]
    return name if argument.required else f"[{name}]"  # type: ignore[attr-defined]


def _spelling(option: object) -> str:
    flag = getattr(option, "is_flag", False)
    value = "" if flag else f" {option.metavar}" if option.metavar else ""  # type: ignore[attr-defined]
    return ", ".join(f"`{each}{value}`" for each in option.opts)  # type: ignore[attr-defined]


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
