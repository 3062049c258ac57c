"""Both versions of each lab are built; what a student hands in gets its points."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-labs" / "bin" / "python"
POINTS = {"waste": 2, "static": 2, "continuous": 3, "shortest": 4, "budget": 3}
# Solutions that are nearly right: the public tests are content, a hidden one is not.
SLIPS = {
    "waste": ("max(first))", "sum(me.answers))"),
    "static": ("[] if running else waiting[:slots]", "[] if running else waiting[:2]"),
    "continuous": ("slots - len(running)]", "min(2, slots - len(running))]"),
    "shortest": ("room // 4)", "room // 2)"),
    "budget": ("max(kept)", "min(kept)"),
}


def build(folder: Path, master: Path) -> Path:
    """The lab's two versions in a folder; the zip file that grades."""
    code = "import labs, sys; print(labs.build(*map(labs.Path, sys.argv[1:])))"
    command = [str(PYTHON), "-c", code, str(master), str(folder)]
    run = subprocess.run(command, cwd=ROOT / "tools", capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return Path(run.stdout.split()[-1])


@pytest.fixture(scope="session")
def built(
    tmp_path_factory: pytest.TempPathFactory, optional: Callable[[str, object], None]
) -> Path:
    optional("otter-grader is not installed: `make labs` does it", PYTHON.exists())
    folder = tmp_path_factory.mktemp("labs") / "continuous_batching"
    build(folder, ROOT / "labs" / "continuous_batching.ipynb")
    return folder


def graded(built: Path, notebook: str, tmp_path: Path) -> dict[str, float]:
    """The points of each question of a notebook that is handed in."""
    handed_in = tmp_path / "continuous_batching.ipynb"
    handed_in.write_text(notebook, "utf8")
    archive = built / "autograder" / "continuous_batching.zip"
    parts = [PYTHON, "-m", "otter", "run", "-a", archive, "-o", tmp_path, handed_in]
    command = [str(part) for part in parts]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    results: dict[str, Any] = json.loads((tmp_path / "results.json").read_text("utf8"))
    return {t["name"]: t["score"] for t in results["tests"] if t.get("max_score")}


def solved(built: Path) -> str:
    notebook = (built / "autograder" / "continuous_batching.ipynb").read_text("utf8")
    return notebook.replace("write your name here", "Emmy Noether")


def test_the_students_notebook_holds_no_solution_and_no_hidden_test(
    built: Path,
) -> None:
    student = (built / "student" / "continuous_batching.ipynb").read_text("utf8")
    for right, _ in SLIPS.values():
        assert right not in student
    assert "first_batch" not in student and "in_turn" not in student
    assert not [*(built / "student").glob("*.zip")]


def test_the_solutions_of_another_student_get_all_points(
    built: Path, tmp_path: Path
) -> None:
    assert graded(built, solved(built), tmp_path) == POINTS


def test_the_students_notebook_runs_as_it_is_and_solves_nothing(
    built: Path, tmp_path: Path
) -> None:
    student = (built / "student" / "continuous_batching.ipynb").read_text("utf8")
    points = graded(built, student, tmp_path)
    assert all(points[name] < POINTS[name] for name in POINTS)


def test_hidden_tests_find_what_is_nearly_right(built: Path, tmp_path: Path) -> None:
    notebook = solved(built)
    for right, slip in SLIPS.values():
        assert notebook.count(right) >= 1
        notebook = notebook.replace(right, slip)
    points = graded(built, notebook, tmp_path)
    assert all(points[name] < POINTS[name] for name in POINTS), points
