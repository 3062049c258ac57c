"""Points of the stills lie where what is stored says."""

import re

import numpy as np
import pytest

from llmserve_lab.catalog.evidence import quantization as papers
from llmserve_lab.quantization import outliers
from llmserve_lab.quantization.codecs import BF16, E2M1, E4M3, E5M2, INT4
from llmserve_lab.quantization.page import forgetting, steps, stills
from llmserve_lab.quantization.schemes import Scheme, quantize
from tests.page import drawn


@pytest.mark.parametrize(("ink", "num_outliers"), [("vermillion", 4), ("blue", 0)])
def test_a_point_lies_at_the_bits_that_its_matrix_takes(
    ink: str, num_outliers: int
) -> None:
    """Codes and scales as they are stored, all bits over all weights."""
    panels = [drawn.lines(panel) for panel in drawn.panels(stills.groups)]
    made = outliers.matrix(num_outliers=num_outliers)
    line = next(
        line for found in panels for line in found.get(ink, ()) if len(line) > 1
    )
    for (bits, error), group in zip(line[1:], (0, 128, 32, 16), strict=True):
        kept = quantize(made, Scheme("", "", INT4, "fp16", group))
        stored = INT4.bits * made.size + 16 * np.asarray(kept.scales).size
        assert bits == pytest.approx(stored / made.size)
        assert error == outliers.ordinary_error(made, kept.dequantize())


def test_a_measured_point_stands_under_the_gpu_that_it_was_measured_on() -> None:
    """Model Optimizer 0.21.1 was timed on an H200, TensorRT-LLM 0.9 on an H100."""
    step, newer, older = drawn.panels(stills.gains)
    assert [panel.get_title().split()[-1] for panel in (step, newer, older)] == [
        "H100",
        "H200",
        "H100",
    ]
    assert all(line.get_marker() == "None" for line in step.lines)
    for ink, key in (("blue", "int4"), ("vermillion", "fp8")):
        rates = papers.RATES
        new = [(n, float(rates[key][n]) / float(rates["bf16"][n])) for n in rates[key]]
        assert np.asarray(drawn.lines(newer)[ink][0]) == pytest.approx(np.array(new))
        old = [(n, float(gain)) for n, gain in papers.OLD_GAINS[key].items()]
        assert np.asarray(drawn.lines(older)[ink][0]) == pytest.approx(np.array(old))


def test_more_bits_of_exponent_put_a_larger_part_of_the_numbers_near_zero() -> None:
    """Two, four, five and eight bits: the part below a hundredth of the largest."""
    near = []
    for each in (E2M1, E4M3, E5M2, BF16):
        positive = each.numbers()[each.numbers() > 0]
        near.append(float(np.mean(positive < each.largest / 100)))
    assert near == sorted(near) and near[0] == 0


def test_the_facts_that_are_said_to_be_forgotten_are_drawn_as_forgotten() -> None:
    """A strip in the ink of a fact stands over each; those that stay are full cells."""
    figure = forgetting.forgetting()
    counts = set()
    for log in figure.logs.values():
        words = re.findall(r"(\d+) of (\d+) facts among them", log.frames[1].sentence)
        ((lost, every),) = words
        facts = [
            row
            for row in log.tables["cells"]
            if row["ink"] == "communication"
            and row.get("since", 0) <= 1 < row.get("until", 2)
        ]
        strips = [row for row in facts if row["y2"] - row["y"] < 0.5]
        assert (len(strips), len(facts)) == (int(lost), int(every))
        counts.add(len(strips))
    assert len(counts) > 1  # one way keeps facts that another loses


def test_a_weight_is_off_by_what_the_legend_subtracts() -> None:
    """As printed: the row below, the weight as it is used and the weight itself."""
    figure = steps.group_quantized()
    assert figure.legend["other"] == "off by: used as − weight"
    for log in figure.logs.values():
        cells = {
            (row["y"], row["x"]): float(row["text"].replace("−", "-"))
            for row in log.tables["cells"]
            if row["y"] in (0, 4, 5)
        }
        places = {x for _, x in cells}
        assert any(cells[5, x] for x in places)
        for x in places:
            off = cells[4, x] - cells[0, x]
            assert cells[5, x] == pytest.approx(off, abs=0.0151)
