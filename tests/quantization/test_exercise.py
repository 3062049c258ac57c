"""The check of the reader's rounding: the naive one fails, the solution passes."""

import numpy as np
import pytest

from llmserve_lab.quantization.exercise import a_scale_a_group, check, one_scale
from llmserve_lab.quantization.page import playground
from llmserve_lab.quantization.page.playground import bench, errors
from tests.page import drawn


def test_the_check_tells_the_naive_rounding_from_the_solution() -> None:
    assert check(one_scale).startswith("not yet: 3 of 4 groups")
    assert check(a_scale_a_group).startswith("well done")


def test_other_slips_are_told() -> None:
    def too_far(x: np.ndarray, group: int) -> tuple[np.ndarray, np.ndarray]:
        codes, scales = a_scale_a_group(x, group)
        return 2 * codes, scales / 2

    def by_zero(x: np.ndarray, group: int) -> tuple[np.ndarray, np.ndarray]:
        groups = x.reshape(-1, group)
        scales = np.abs(groups).max(axis=1) / 7
        return np.rint(groups / scales[:, None]).ravel(), scales

    assert "whole numbers from -7 to 7" in check(too_far)
    assert check(by_zero) == "not yet: a group of zeros needs a scale above zero."
    with pytest.raises(ValueError, match="codes and scales must have shapes"):
        check(lambda x, _: (x[:3], x[:1]))


def test_the_bench_has_formats_that_reach_its_goal_and_others() -> None:
    assert errors("FP4 E2M1", "16", 4, 20)[1] < 0.25
    assert errors("INT4", "16", 4, 20)[1] < 0.25
    assert errors("INT4", "32", 4, 20)[1] > 0.25
    shown = bench().answer(number_format="INT4", group="16", outliers=4, times=20)
    assert "groups of 16" in shown and "5" in shown


def test_each_line_of_the_bench_is_the_error_that_it_is_called() -> None:
    """A group's largest over seven, rounded as its scale is stored; then to codes."""
    made = playground.weights(4, 20)
    groups = made.reshape(len(made), -1, 128)
    scale = (abs(groups).max(axis=2) / 7).astype(np.float16).astype(float)[..., None]
    rounded = (np.rint(groups / scale).clip(-7, 7) * scale).reshape(made.shape)
    loud = np.sort(abs(made).max(axis=0).argsort()[-4:])
    usual = np.delete(np.arange(made.shape[1]), loud)
    off = {
        name: np.linalg.norm((rounded - made)[:, at]) / np.linalg.norm(made[:, at])
        for name, at in (("all", np.arange(made.shape[1])), ("usual", usual))
    }
    table = playground._table("INT4", "128", 4, 20)
    found = {str(what): float(str(value).rstrip("%")) for what, value in table.rows}
    assert found == {
        "bits of a weight, scale included": 4 + 16 / 128,
        "error of all weights": pytest.approx(100 * off["all"], rel=2e-3),
        "error of the columns that are no outliers": pytest.approx(
            100 * off["usual"], rel=2e-3
        ),
    }
    (panel,) = drawn.panels(
        lambda: playground._picture(
            number_format="INT4", group="128", outliers=4, times=20
        )
    )
    lines = {str(line.get_label()): line.get_xydata() for line in panel.lines}
    for name, values in (("weight", made), ("rounded", rounded)):
        at = lines[name][:, 0].astype(int)
        assert lines[name][:, 1] == pytest.approx(values[0, at])
    assert abs(made[0]).argmax() in lines["weight"][:, 0]
