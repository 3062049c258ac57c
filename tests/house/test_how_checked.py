"""The page "How this book is checked" is what the tests and the claims are."""

import subprocess
import sys
from pathlib import Path

import pytest

import how_checked
from llmserve_lab.claims.all_claims import CLAIMS
from llmserve_lab.formula.registry import formulas
from llmserve_lab.roofline import formulas as f
from tests import counted

ROOT = Path(__file__).resolve().parents[2]
PRINT = "import how_checked; print(how_checked.page(), end='')"


@pytest.fixture(scope="module")
def text() -> str:
    return how_checked.PAGE.read_text("utf8")


def test_the_page_is_what_its_tool_writes(text: str) -> None:
    """In a process of its own: what a claim calls is seen when it is called first."""
    command = [sys.executable, "-c", PRINT]
    path = ":".join((str(ROOT / "tools"), *sys.path))
    made = subprocess.run(
        command, cwd=ROOT, env={"PYTHONPATH": path}, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout == text, "make run writes it again"


def test_every_formula_has_one_entry_with_its_count(text: str) -> None:
    counted.load(ROOT / "tests")
    for formula in formulas():
        assert text.count(f"({how_checked.anchor(formula.label)})=\n") == 1
        name = getattr(counted.COUNTED[formula], "__name__", "")
        entry = text.partition(f"({how_checked.anchor(formula.label)})=\n")[2]
        assert f"Count: `{name}` in `tests/" in entry.partition("\n\n")[0]


def test_a_claim_is_listed_where_it_calls_a_formula() -> None:
    with how_checked.listening() as called:
        float(f.RIDGE_ROWS(ridge=2.0, bytes_weight=2.0, params_read=1.0,
                           params_active=1.0))  # fmt: skip
    assert called == {"ridge_rows"}
    assert how_checked.called_by([]).startswith("No claim")
    many = [claim.id for claim in CLAIMS.values()][:9]
    assert how_checked.called_by(many).endswith(f"{many[5]} and 3 more.")


def test_a_count_that_runs_the_library_is_told_from_one_that_does_not() -> None:
    counted.load(ROOT / "tests")
    rooms = {
        room
        for formula in formulas()
        if formula.label in ("weight_bytes", "n_rows", "all_reduce_bytes")
        for room in how_checked.mechanisms(counted.COUNTED[formula])
    }
    assert "cluster" in rooms and "formula" not in rooms
