"""The page "How this book is checked" is what the tests and the claims are."""

from pathlib import Path

import pytest

import how_checked
from llmserve_lab.claims.all_claims import CLAIMS
from llmserve_lab.formula.registry import formulas
from llmserve_lab.roofline import formulas as f
from tests import counted

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def text() -> str:
    return how_checked.PAGE.read_text("utf8")


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
    assert "collectives" in rooms and "formula" not in rooms
