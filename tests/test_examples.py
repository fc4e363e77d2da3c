"""The examples in the docstrings of public names: each name has one, and each gives what it says."""

from __future__ import annotations

import doctest
import inspect
import re
import shutil
import sys
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import flowveil as fv

if TYPE_CHECKING:
    from types import ModuleType

MODULES = {"fv": fv, "fv.synthetic": fv.synthetic, "fv.trajectories": fv.trajectories}
SLOW = {"fv.Answers.top", "fv.advise", "fv.compare", "fv.report", "fv.reproduce"}
# Public, yet no example could be short.
WITHOUT = {"fv.Method.run": "takes a problem, which only flowveil makes"}


def documented() -> dict[str, object]:
    """Return public functions and classes, and the public methods of these, by name."""
    found = {}
    for prefix, module in MODULES.items():
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                found[f"{prefix}.{name}"] = value
            if inspect.isclass(value):
                methods = {key: each for key, each in inspect.getmembers(value, inspect.isfunction) if key[0] != "_"}
                ours = {key: method for key, method in methods.items() if method.__module__.startswith("flowveil.")}
                found |= {f"{prefix}.{name}.{key}": each for key, each in ours.items() if each not in found.values()}
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write what the examples read: trips and zones of the synthetic city, samples of phones, a release of each."""
    folder = tmp_path_factory.mktemp("examples")
    trips, samples = folder / "trips.parquet", folder / "samples.parquet"
    city = fv.synthetic.write_city(trips, trips=2_000, persons=100)
    pq.write_table(city.zones(), folder / "zones.parquet")
    pq.write_table(fv.synthetic.phones(20), samples)
    fv.anonymize(fv.build_flows(trips, "h3:7", unit="person_id"), k=5).write(folder / "release")
    fv.add_noise(fv.build_matrix(trips, fv.synthetic.CITY_BBOX, cells=20), "eug").write(folder / "noisy")
    box = fv.synthetic.PHONES_BBOX
    fv.trajectories.anonymize(samples, k=2, bbox=box, step="1km,30min").write(folder / "paths")
    days = "2024-03-04,2024-03-17"
    fv.trajectories.synthesize(samples, 10, bbox=box, days=days, users=5).write(folder / "synthetic")
    return folder


@pytest.mark.parametrize("name", documented())
def test_has_an_example(name):
    """Every public name shows how it is used."""
    assert (">>>" in inspect.getdoc(documented()[name])) == (name not in WITHOUT)


@pytest.mark.parametrize("name", [name for name, value in documented().items() if inspect.isfunction(value)])
def test_parameters_are_explained(name):
    """Every parameter of a public function is named in its docstring."""
    value = documented()[name]
    text = inspect.getdoc(value).partition(">>>")[0]

    missing = [name for name in inspect.signature(value).parameters if not re.search(rf"\b{name}\b", text)]

    assert [name for name in missing if name != "self"] == []


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in documented() if name not in WITHOUT],
)
@pytest.mark.usefixtures("cells_here")
def test_example(name, files, tmp_path, monkeypatch):
    """The example gives what it says."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    value = documented()[name]

    assert run(inspect.getdoc(value), sys.modules[value.__module__], name) == ""


def test_other_examples():
    """Those of modules and of what is not public, which need no files, give what they say too."""
    public = {(value.__module__, value.__qualname__) for value in documented().values()}
    modules = [import_module(module.name) for module in walk_packages(fv.__path__, "flowveil.")]
    found = [
        (test, module)
        for module in modules
        for test in doctest.DocTestFinder(exclude_empty=True).find(module)
        if test.examples and (module.__name__, test.name.removeprefix(f"{module.__name__}.")) not in public
    ]

    assert found
    assert "".join(run(test.docstring, module, test.name) for test, module in found) == ""


def run(text: str, module: ModuleType, name: str) -> str:
    """Run the examples of a docstring where the names of its module and `fv` are known; return what differs."""
    said = []
    examples = doctest.DocTestParser().get_doctest(text, vars(module) | {"fv": fv}, name, None, None)
    doctest.DocTestRunner().run(examples, out=said.append)
    return "".join(said)
