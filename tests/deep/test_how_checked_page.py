"""The page "How this book is checked" is what its tool writes today."""

import subprocess
import sys

import how_checked
from tests.conftest import ROOT

PRINT = "import how_checked; print(how_checked.page(), end='')"


def test_the_page_is_what_its_tool_writes() -> None:
    """In a process of its own: what a claim calls is seen when it is called first."""
    command = [sys.executable, "-c", PRINT]
    path = ":".join((str(ROOT / "tools"), *sys.path))
    made = subprocess.run(
        command, cwd=ROOT, env={"PYTHONPATH": path}, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout == how_checked.PAGE.read_text("utf8"), "make run writes it again"
