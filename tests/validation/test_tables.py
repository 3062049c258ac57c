"""The tables of the machine fitted to servers hold what the record says."""

from dataclasses import fields

from llmserve_lab.formula.origin import Evidence, Sourced
from llmserve_lab.validation import ServingConstants, achieved, tables
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.prediction import KINDS
from llmserve_lab.validation.rows import dense_rows


def test_every_constant_is_shown_with_its_origin() -> None:
    assert set(tables.CONSTANTS) == {each.name for each in fields(ServingConstants)}
    for name, row in zip(tables.CONSTANTS, tables.achieved_table().rows, strict=True):
        cell = row[-1]
        assert isinstance(cell, Sourced) and isinstance(cell.origin, Evidence)
        assert cell.origin.value == getattr(achieved(), name)


def test_the_errors_are_means_over_the_rows_left_out() -> None:
    public = [row.public for row in dense_rows()]
    shown = dict(zip(tables.TIMES, tables.error_table().rows, strict=True))
    assert set(shown) == set(KINDS)
    for kind in KINDS:
        pairs = zip(record()["errors"][kind], public, strict=True)
        errors = [error for error, known in pairs if known or kind != "ttft"]
        mean = sum(map(abs, errors)) / len(errors)
        assert shown[kind][1:3] == (str(len(errors)), f"{100 * mean:.1f} %")
