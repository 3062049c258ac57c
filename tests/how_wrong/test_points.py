"""The points of the chapter: their middle is one, and the title says where they lie."""

import csv
import io
import re
from collections import defaultdict

import pytest

from llmserve_lab.how_wrong.folds import NAMES
from llmserve_lab.how_wrong.page import charts, figures
from llmserve_lab.validation import dense_rows


@pytest.mark.parametrize("column", charts._columns())
def test_as_many_points_lie_above_a_diamond_as_below_it(column: str) -> None:
    """At most half of an engine's rows with as many clients are on either side."""
    lines = csv.DictReader(io.StringIO("\n".join(charts._lines())))
    own = defaultdict[tuple[str, float], list[float]](list)
    for line, row in zip(lines, dense_rows(), strict=True):
        if line[column]:
            engine = list(charts.ENGINE_INKS).index(row.engine)
            place = row.clients * 2 ** (charts.APART * (engine - 1))
            own[NAMES[row.engine], round(place, 6)].append(float(line[column]))
    diamonds = {
        (each["g"], round(each["c"], 6)): each[column]
        for each in charts._medians()
        if column in each
    }
    assert set(diamonds) == set(own)
    for where, middle in diamonds.items():
        above = sum(error > middle + 1 for error in own[where])
        below = sum(error < middle - 1 for error in own[where])
        assert max(above, below) <= len(own[where]) / 2, where


def test_the_title_names_the_side_to_which_each_engine_leans() -> None:
    """A prediction that is too short has a negative error."""
    figure = figures.residuals()
    said = re.findall(r"[Tt]oo (short|long) for ([\w-]+)", figure.title)
    known = figure.values()
    leans = {"vLLM": known["vllm_bias"], "TensorRT-LLM": known["tensorrt_bias"]}
    assert {name: side for side, name in said} == {
        name: "short" if lean < 0 else "long" for name, lean in leans.items()
    }
