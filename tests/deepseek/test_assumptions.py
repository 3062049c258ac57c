"""Assumptions are plain data; what cannot be assumed is refused, with the rule."""

import ast
from pathlib import Path
from typing import Any

import pytest

from llmserve_lab import catalog, deepseek
from llmserve_lab.deepseek import defaults
from llmserve_lab.deepseek.calibration import kernel_efficiency
from llmserve_lab.deepseek.model.setup import SETUPS, setup
from llmserve_lab.formula.formula import Formula
from tests.deepseek.twins import assume, twin

PACKAGE = Path(deepseek.__file__).parent


def test_making_the_books_assumptions_evaluates_no_formula(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Calibrated numbers are stored records: nothing is run, nothing is fitted."""

    def refuse(formula: Formula, **values: Any) -> None:
        raise AssertionError(f"{formula.name} was evaluated")

    fresh = (
        defaults.book_assumptions.__wrapped__,
        defaults.paper_assumptions.__wrapped__,
    )
    for cached in ("hopper", "blackwell", "measured_kernels"):
        getattr(kernel_efficiency, cached).cache_clear()
    monkeypatch.setattr(Formula, "__call__", refuse)
    book, paper = (make() for make in fresh)
    assert book == defaults.book_assumptions() and paper.host_s == 0


STOREYS = (
    "formulas",
    "model",
    "calibration",
    "defaults",
    "executed",
    "evaluation",
    "page",
)


def test_rooms_import_only_from_rooms_below_them() -> None:
    """Imports inside functions counted: settings know nothing of the model's runs."""
    for path in sorted(PACKAGE.rglob("*.py")):
        here = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if here == "__init__":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            if not isinstance(node, ast.ImportFrom):
                continue
            name = node.module or ""
            if not name.startswith("llmserve_lab.deepseek"):
                continue
            rooms = name.split(".")[2:3] or [each.name for each in node.names]
            for room in rooms:
                assert STOREYS.index(room) <= STOREYS.index(here), (path, name)


def test_an_unknown_architecture_is_refused_by_name() -> None:
    """No other architecture's kernels are taken in their place."""
    known = set(defaults.book_assumptions().kernels)
    for device in catalog.ACCELERATORS.values():
        if not device.disclosed:
            continue
        if device.architecture in known:
            assert defaults.book_assumptions().kernels_on(device).memory < 1
            continue
        message = f"for the architecture of {device.name}, {device.architecture}; they"
        with pytest.raises(LookupError, match=message):
            twin(setup(device.key, 8)).step_s(batch=1, context=1)
    given = {"cdna3": kernel_efficiency.PEAKS}
    assert twin(setup("mi300x", 8), kernels=given).step_s(batch=1, context=1) > 0


def test_every_assumption_changes_something() -> None:
    """Two sets that differ are not equal, and the same made again is."""
    assert assume() == defaults.book_assumptions() != assume(host_s=0.0)
    step = twin(SETUPS["9 × 8 H100"]).step_s(batch=8, context=100)
    assert step == twin(SETUPS["9 × 8 H100"]).step_s(batch=8, context=100)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"balancedness": 0.0}, r"balancedness must be a share in \(0, 1\], got 0.0"),
        ({"lent_share": 1.0}, r"lent_share must be a share in \[0, 1\), got 1.0"),
        ({"n_redundant": -1}, "n_redundant must be a whole number, 0 or more, got -1"),
        ({"n_draft": 0.5}, "n_draft must be a whole number, 0 or more, got 0.5"),
        (
            {"overlap": "tbo"},
            "overlap must be one of none, hidden, halves, ideal",
        ),
        ({"form": "Vanilla"}, "form must be one of absorbed, vanilla, got 'Vanilla'"),
        ({"experts": "max"}, "experts must be one of expected, busiest, all, got"),
        ({"roofline": "soft"}, "roofline must be one of round, sharp, got 'soft'"),
        ({"own_node_copies": "both"}, "own_node_copies must be one of near, far, got"),
        ({"host_s": -1e-3}, "host_s must be at least 0 s, got -0.001"),
        ({"host_s": float("nan")}, "host_s must be at least 0 s, got nan"),
        ({"overlap_slowdown": 1.0}, r"overlap_slowdown must be a share in \[0, 1\)"),
        ({"cache": "fp9"}, "cache must be one of fp32, .*, got 'fp9'"),
        ({"elementwise": "no"}, "elementwise must be one of False, True, got 'no'"),
        ({"kernels": {}}, "kernels must be those of an architecture, got none"),
        ({"accepted": 2.0}, "accepted must be 1 to 1 tokens with n_draft = 0, got 2.0"),
    ],
)
def test_impossible_assumptions_are_refused(change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        assume(**change)


def test_impossible_setups_are_refused() -> None:
    with pytest.raises(ValueError, match=r"n_gpus must be a whole number.*, got 0"):
        setup("h100-sxm", 0)
    with pytest.raises(ValueError, match=r"n_gpus must be a whole number.* True"):
        setup("h100-sxm", True)
    with pytest.raises(ValueError, match=r"model must have experts.*, got Llama-2-7B"):
        setup("h100-sxm", 8, model="llama-2-7b")
