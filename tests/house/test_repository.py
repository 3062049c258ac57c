"""What must hold for the repository: pins, versions, paths, light imports."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import yaml

import lab_references
from offline_zip import pack
from run_notebooks import SETUP_ID, normalised, serialised, setup_source
from vendor_runtime import RUNTIME, banner, wrapped

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"IPython", "altair", "ipywidgets", "matplotlib", "pint", "scipy", "simpy"}
HEAVY |= {"sympy", "vl_convert"}
TEXT = {".bib", ".cff", ".css", ".ipynb", ".js", ".json", ".md", ".py", ".svg", ".toml"}
TEXT |= {".txt", ".yml", ""}
SKIPPED = re.compile(r"^(_build|dist|mathjax|vendor|__pycache__|\.(?!ci$|github$).+)$")
MACHINE_PATH = re.compile(r"(?<![\w.:/*-])/(?:work|tmp|home|root|opt|Users)/[\w.]")
ADDRESS = re.compile(r"https?://|file:|--(?:extra-)?index|--find-links|/\w+/")


def own_files() -> list[Path]:
    """Text files that people wrote: nothing hidden, generated or vendored."""
    found = []
    for folder, rooms, names in os.walk(ROOT):
        rooms[:] = [room for room in rooms if not SKIPPED.search(room)]
        found += [Path(folder, name) for name in names if name != ".git"]
    return sorted(path for path in found if path.suffix in TEXT)


def pins(name: str) -> dict[str, set[str]]:
    """Package → pinned versions; a version may depend on the Python that runs."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / name).read_text("utf8").splitlines():
        if match := re.match(r"([\w.-]+)==([\w.]+)", line):
            key = re.sub(r"[-_.]+", "-", match[1]).lower()
            found.setdefault(key, set()).add(match[2])
    return found


def test_no_file_names_a_path_of_one_machine() -> None:
    named = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in own_files()
        for match in MACHINE_PATH.finditer(path.read_text("utf8"))
    }
    assert named == set()


@pytest.mark.parametrize("name", ["requirements.txt", "constraints.txt"])
def test_pins_name_no_place_to_fetch_from(name: str) -> None:
    assert not ADDRESS.search((ROOT / name).read_text("utf8"))


def test_every_requirement_is_pinned_and_agrees_with_the_constraints() -> None:
    lines = (ROOT / "requirements.txt").read_text("utf8").splitlines()
    packages = [line for line in lines if line and not line.startswith(("#", "-e"))]
    required, constrained = pins("requirements.txt"), pins("constraints.txt")
    assert len(required) == len(packages)
    assert {name: constrained.get(name) for name in required} == required


def test_binder_installs_what_notebooks_run_on_and_no_tool() -> None:
    lines = (ROOT / "binder/requirements.txt").read_text("utf8").splitlines()
    extras = [line[len("-e .[") : -1] for line in lines if line.startswith("-e .[")]
    assert extras == ["science,plot,notebook"]
    assert "-c ../constraints.txt" in lines
    named = {line for line in lines if not line.startswith(("#", "-"))}
    assert named == {"jupyterlab"} <= pins("constraints.txt").keys()


def test_the_environment_is_the_pinned_one() -> None:
    installed = {name: {version(name)} for name in pins("requirements.txt")}
    assert installed == pins("requirements.txt")


def test_declared_dependencies_are_among_the_pins() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {re.split(r"[>=<\[]", line)[0] for group in groups for line in group}
    assert names - {"llmserve-lab"} <= pins("requirements.txt").keys()


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))
    import llmserve_lab

    assert citation["version"] == project["version"] == llmserve_lab.__version__


def test_what_hooks_and_makefile_run_is_there() -> None:
    for name in (".pre-commit-config.yaml", "Makefile", ".ci/run"):
        text = (ROOT / name).read_text("utf8")
        named = re.findall(r"\b(?:tests|tools)/[\w./]+", text)
        assert [path for path in named if not (ROOT / path).exists()] == [], name


def test_licences_are_there_in_full() -> None:
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text("utf8")
    text = (ROOT / "LICENSE-text").read_text("utf8")
    assert "creativecommons.org/licenses/by/4.0" in text
    assert "Section 8 -- Interpretation." in text
    assert (ROOT / "assets/mathjax/LICENSE").is_file()


@pytest.mark.parametrize("name", ["", ".formula", ".notation", ".page", ".catalog"])
def test_import_is_light(name: str) -> None:
    code = f"import sys, llmserve_lab{name}; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stdout.split()) == set()


STATIC = "share/jupyter/labextensions/llmserve-lab/static"


def sample() -> dict[str, object]:
    """A notebook as JupyterLab leaves it: times, widget state, split streams."""
    streams = [
        {"output_type": "stream", "name": "stdout", "text": text} for text in "ab"
    ]
    widget = {"application/vnd.jupyter.widget-view+json": {"model_id": "9f"}}
    view = {"output_type": "display_data", "metadata": {}}
    cell = {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {"execution": {"iopub.status.idle": "now"}, "tags": ["hide-input"]},
        "outputs": [*streams, view | {"data": widget | {"text/plain": "x"}}],
        "source": "print('ab')",
    }
    metadata = {"language_info": {"version": "3.11.7"}, "widgets": {"state": {}}}
    return {"cells": [cell, dict(cell)], "metadata": metadata}


def test_normalising_twice_changes_no_byte() -> None:
    once = serialised(sample())
    assert serialised(nbformat.v4.reads(once)) == once
    assert once.endswith("}\n") and "\r" not in once


def test_normalising_keeps_what_the_page_shows_and_nothing_else() -> None:
    setup, cell, twin = normalised(sample())["cells"]
    assert setup["id"] == SETUP_ID
    assert cell["outputs"][0]["text"] == "ab"
    assert cell["outputs"][1]["data"] == {"text/plain": "x"}
    folded = {"source_hidden": True}
    assert cell["metadata"] == {"tags": ["hide-input"], "jupyter": folded}
    assert cell["id"] != twin["id"]


def test_the_runtime_shares_no_name_with_the_page() -> None:
    assert wrapped("const _ = 1;").splitlines()[1:] == [
        "(function () {",
        "const _ = 1;",
        "})();",
    ]


def test_the_zip_is_the_same_whenever_it_is_packed(tmp_path: Path) -> None:
    pages = tmp_path / "html"
    pages.mkdir()
    for name in ("index.html", "b.js", ".buildinfo"):
        (pages / name).write_text(name)
    first, second = tmp_path / "1" / "book.zip", tmp_path / "2" / "book.zip"
    assert pack(pages, first) == 2
    (pages / "b.js").touch()
    pack(pages, second)
    assert first.read_bytes() == second.read_bytes()


def test_the_wheel_carries_what_jupyterlab_loads() -> None:
    """Each script that the extension names lies where the installation puts it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))
    static = project["tool"]["setuptools"]["data-files"][STATIC]
    shipped = {path.name for pattern in static for path in ROOT.glob(pattern)}
    scripts = [ROOT / "labextension" / name for name in ("remoteEntry.js", "lab.js")]
    text = "".join(script.read_text("utf8") for script in scripts)
    named = set(re.findall(r'"([\w-]+\.(?:js|css))"', text))
    assert named and named <= shipped


def test_the_references_of_jupyterlab_are_those_of_the_chapters() -> None:
    assert lab_references.TABLE.read_text("utf8") == lab_references.script()


def test_the_vega_runtime_is_the_pinned_one() -> None:
    assert RUNTIME.read_text("utf8").startswith(banner())


@pytest.mark.parametrize("wheel", ["", "https://example.org/llmserve_lab.whl"])
def test_a_notebook_without_the_package_says_how_to_get_it(wheel: str) -> None:
    """Run where the package cannot be found: it installs the wheel, or says how."""
    code = setup_source(wheel)
    asked: list[tuple[str, str]] = []
    shell = SimpleNamespace(run_line_magic=lambda *line: asked.append(line))
    names = {"get_ipython": lambda: shell}
    gone = code.replace('"llmserve_lab"', '"no_such_package"')
    if wheel:
        exec(gone, names)
        assert asked == [("pip", f"install -q {wheel}")]
    else:
        with pytest.raises(SystemExit, match="make wheel"):
            exec(gone, names)
    asked.clear()
    exec(code, names)
    assert asked == []
