"""Build the graded labs: a student's notebook, and the teacher's with the answers.

Each notebook in ``labs/`` holds questions, solutions and tests, some of them hidden.
otter-grader makes two folders of it under ``_build/labs/NAME``: ``student``, without
solutions and hidden tests, and ``autograder``, with both, and with the zip file that
grades what students hand in. It runs all tests on the solutions first.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LABS = ROOT / "labs"
NEEDED = "otter-grader is missing here: `make labs` installs it and builds the labs"


def build(master: Path, folder: Path) -> Path:
    """Make both versions of one lab in ``folder``; returns the zip file that grades.

    Raises:
        RuntimeError: a test fails on the lab's own solutions.
    """
    from otter.assign import main as assign

    if folder.exists():
        shutil.rmtree(folder)
    assign(str(master), str(folder))
    (archive,) = (folder / "autograder").glob("*.zip")
    return archive.rename(archive.with_name(f"{master.stem}.zip"))


def main() -> None:
    """Build every lab."""
    try:
        import otter  # noqa: F401
    except ImportError:
        sys.exit(NEEDED)
    for master in sorted(LABS.glob("*.ipynb")):
        archive = build(master, ROOT / "_build" / "labs" / master.stem)
        print(f"{archive.parents[1].relative_to(ROOT)}: student, autograder")


if __name__ == "__main__":
    main()
