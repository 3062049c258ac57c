"""The library from outside: front names, examples, a plain install."""

import doctest
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest

import llmserve_lab
from llmserve_lab import __main__, extras

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "llmserve_lab"


def with_examples() -> list[str]:
    """Modules whose docstrings show a session."""
    paths = [path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text("utf8")]
    parts = [path.relative_to(SOURCE.parent).with_suffix("").parts for path in paths]
    return [".".join(each).removesuffix(".__init__") for each in parts]


@pytest.mark.parametrize("name", with_examples())
def test_examples_print_what_they_say(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0


def test_front_names_are_those_of_their_rooms() -> None:
    for name, room in llmserve_lab._HOME.items():
        home = importlib.import_module(f"llmserve_lab.{room}")
        assert getattr(llmserve_lab, name) is getattr(home, name)
    assert set(llmserve_lab.__all__) <= set(dir(llmserve_lab))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'transistor'"):
        _ = llmserve_lab.transistor
    with pytest.raises(AttributeError, match="has no attribute 'abacus'"):
        _ = extras.abacus


def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "simpy", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"pip install 'llmserve-lab\[science"
    ):
        from llmserve_lab.extras import simpy  # noqa: F401


def test_each_optional_library_is_in_the_extra_that_the_message_names() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf8")
    groups = tomllib.loads(text)["project"]["optional-dependencies"]
    for module, extra in extras.LIBRARIES.values():
        package = module.split(".")[0].replace("_", "-")
        assert any(line.startswith(package) for line in groups[extra]), module


def test_optional_libraries_are_imported_through_extras_alone() -> None:
    """So that a missing one is named with its extra wherever it is met."""
    names = sorted({module.split(".")[0] for module, _ in extras.LIBRARIES.values()})
    direct = re.compile(rf"^ *(?:import|from) ({'|'.join(names)})\b", re.MULTILINE)
    found = {
        str(path.relative_to(SOURCE)): direct.findall(
            re.sub(r"if TYPE_CHECKING:\n(?: .*\n|\n)+", "", path.read_text("utf8"))
        )
        for path in SOURCE.rglob("*.py")
    }
    assert {name: hits for name, hits in found.items() if hits} == {}


PLAIN = """
import sys
for name in ("scipy", "simpy", "altair", "matplotlib", "ipywidgets", "tqdm", "IPython"):
    sys.modules[name] = None
import pkgutil, importlib, llmserve_lab
for found in pkgutil.walk_packages(llmserve_lab.__path__, "llmserve_lab."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
import llmserve_lab as ll
cost = ll.IterationCost.of(ll.model("llama-3-8b"), ll.accelerator("h100-sxm"))
requests = [ll.Request(arrival_s=0, prompt_len=100, output_len=10, id=1)]
print(ll.simulate(requests, ll.Pool(cost, ll.Chunked(512))).num_requests)
"""


def test_everything_imports_and_the_engine_runs_without_extras() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLAIN], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("1", 0), done.stderr


def test_the_package_says_what_is_there_and_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        __main__, "find_spec", lambda name: None if name == "simpy" else 1
    )
    __main__.main()
    said = capsys.readouterr().out
    assert "extra [science] misses simpy\n" in said
    assert "extra [plot] is installed\n" in said
    assert all(name in said for name in llmserve_lab.__all__)


MOST_MB = 180  # of a plain install
BLOCK = 4096  # bytes that a file system gives at a time


def required(name: str, found: set[str]) -> set[str]:
    """A distribution and all that it needs without extras."""
    if name not in found:
        found.add(name)
        for line in metadata.requires(name) or ():
            if "extra ==" not in line and "python_version <" not in line:
                required(re.split(r"[^\w.-]", line)[0].lower(), found)
    return found


def installed_bytes(paths: Iterable[Path]) -> int:
    """Bytes on a disk of files, each module with its compiled form."""
    kept = [path for path in paths if path.is_file() and path.suffix != ".pyc"]
    sizes = (path.stat().st_size * (1 + (path.suffix == ".py")) for path in kept)
    return sum(-(-size // BLOCK) * BLOCK for size in sizes)


def test_a_plain_install_is_small() -> None:
    """What the extras keep out stays out: SciPy, plotting, notebooks."""
    names = required("llmserve-lab", set())
    assert {"numpy", "sympy", "pint"} < names
    assert not {"scipy", "matplotlib", "altair", "ipykernel", "simpy"} & names
    files = [file.locate() for name in names for file in metadata.files(name) or ()]
    everything = [*map(Path, map(str, files)), *SOURCE.rglob("*")]
    assert installed_bytes(everything) < MOST_MB * 10**6
