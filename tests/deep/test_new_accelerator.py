"""A made-up GPU enters a copy of the tree by three files, and all that must hold holds.

The steps are those of ARCHITECTURE.md, "How to add … A GPU": the record, the registry,
and a second reading of its sheet.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

RECORD = """
MAPLE_SHEET = Document("Acme Maple datasheet, 2027", "https://example.org/maple/")
_maple = partial(Cited, kind="datasheet", source=MAPLE_SHEET)
MAPLE = Accelerator(
    name="Maple 80",
    key="maple-80",
    family=("Maple",),
    architecture="xylem",
    peak_flops=tensor_peaks(bf16=_maple(3e15, "FLOP/s"), fp8=_maple(6e15, "FLOP/s")),
    hbm_bytes=_maple(256e9, "byte"),
    hbm_bw=_maple(10e12, "byte/s"),
    scale_up="nvlink5",
    num_devices=8,
)
"""
SECOND_READING = """    "maple-80": ({"bf16": 3000, "fp8": 6000}, 256, 10_000, 8),
"""
SEEN = """
from llmserve_lab import catalog
from llmserve_lab.catalog.selection import in_servers

device = catalog.accelerator("maple-80")
assert device.hbm_bw.url == "https://example.org/maple/"
assert device in in_servers() and device in in_servers("fp8")
assert device not in in_servers("int8") and device not in in_servers("fp4")
tables = catalog.accelerator_table(), catalog.capacity_table()
rows = [row for table in tables for row in table.rows if row[0] == "Maple 80"]
assert [str(cell).split(" [")[0] for cell in rows[0]][1:4] == ["3000", "6000", "–"]
assert str(rows[1][1]).startswith("256 GB")
assert rows[1][-2:] == (catalog.link("nvlink5").name, 8)
"""
RECORDS = "src/llmserve_lab/catalog/data/nvidia_blackwell.py"
REGISTRY = "src/llmserve_lab/catalog/data/accelerators.py"
AFTER = "            RTX_PRO_6000,\n            MAPLE,\n"
SHEETS = "tests/catalog/test_accelerators.py"


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and of the catalog's tests."""
    folder = tmp_path_factory.mktemp("tree")
    shutil.copy(ROOT / "pyproject.toml", folder)
    nothing = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=nothing)
    shutil.copytree(ROOT / "tests/catalog", folder / "tests/catalog", ignore=nothing)
    for name in ("__init__.py", "conftest.py", "depth.py", "kernels.py"):
        shutil.copy(ROOT / "tests" / name, folder / "tests")
    return folder


def replaced(path: Path, old: str, new: str) -> None:
    """One edit in a file."""
    text = path.read_text("utf8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf8")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in the copy, with the copy's package."""
    found = os.pathsep.join((str(folder / "src"), str(folder)))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": found, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


TESTS = (
    *("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests/catalog"),
    "--ignore-glob=*/test_each_*.py",  # they read the pages, which are not copied
)


def test_a_gpu_is_added_by_its_record_its_line_and_a_second_reading(
    copied: Path,
) -> None:
    with (copied / RECORDS).open("a", encoding="utf8") as records:
        records.write(RECORD)
    module = "from llmserve_lab.catalog.data.nvidia_blackwell import "
    replaced(copied / REGISTRY, module, f"{module}MAPLE, ")
    replaced(copied / REGISTRY, "            RTX_PRO_6000,\n", AFTER)
    seen = run(copied, "-c", SEEN)
    assert seen.returncode == 0, seen.stderr
    unread = run(copied, *TESTS)
    assert unread.returncode == 1
    assert unread.stdout.count("\nFAILED") == 1, unread.stdout
    assert "test_every_number_is_read_twice" in unread.stdout
    replaced(copied / SHEETS, "SHEETS = {\n", f"SHEETS = {{\n{SECOND_READING}")
    done = run(copied, *TESTS)
    assert done.returncode == 0, done.stdout
