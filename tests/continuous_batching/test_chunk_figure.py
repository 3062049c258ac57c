"""The figure of the chunk counts launches as the page does, recorded or not."""

import re

import pytest

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.machine import (
    DECODES,
    GRAPH_ROWS,
    LONG,
    calm,
    decodes,
    priced,
    served,
)
from llmserve_lab.continuous_batching.page import charts, figures
from llmserve_lab.continuous_batching.page.controls import PREFIXES, TARGETS
from llmserve_lab.engine import IterationLoad
from llmserve_lab.running_example import setting


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_no_target_of_the_figure_is_reached_with_recorded_launches(
    target: float, prefix: float
) -> None:
    """Its readout counts each launch by itself, which is right above those rows."""
    known = figures.chunk_from_target().values(tbt_target=target, context=prefix)
    assert known["chunk_fits"] + DECODES > GRAPH_ROWS


@pytest.mark.parametrize("chunk", [256, 507, 508, 900])
def test_the_line_of_the_chunk_counts_launches_as_the_page_does(chunk: int) -> None:
    line = charts.lines()[0]
    when, dear, cheap = re.findall(r"\b\d[\d.e-]*", str(line.at["overhead_s"]))
    overhead_s = float(dear if chunk > int(when) else cheap)
    known = {**setting(), **served(), **decodes(), "context": LONG, "chunk": chunk}
    drawn_s = f.SERVED_ITERATION_S.at(known | {"overhead_s": overhead_s})
    load = calm().plus(IterationLoad.of(chunk=chunk, context=LONG))
    counted_s = priced(chunk + DECODES).seconds(load)
    assert drawn_s == pytest.approx(counted_s, rel=1e-4)
