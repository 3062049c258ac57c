"""Points of the stills lie where what is stored says."""

import numpy as np
import pytest

from llmserve_lab.catalog.evidence import quantization as papers
from llmserve_lab.quantization import outliers
from llmserve_lab.quantization.codecs import INT4
from llmserve_lab.quantization.page import stills
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


def test_a_filled_point_was_measured_on_the_gpu_that_the_legend_says() -> None:
    """Model Optimizer 0.21.1 was timed on an H200, TensorRT-LLM 0.9 on an H100."""
    left = drawn.panels(stills.gains)[0]
    words = [text.get_text() for text in left.texts]
    gpu = {word.split(": ")[0]: word.split(": ")[1] for word in words if ": H" in word}
    new = {
        round(float(rates[n]) / float(papers.RATES["bf16"][n]), 6)
        for rates in papers.RATES.values()
        for n in rates
    }
    old = {
        round(float(g), 6) for each in papers.OLD_GAINS.values() for g in each.values()
    }
    marked = [line for line in left.lines if line.get_marker() not in ("None", "_", "")]
    assert marked
    for line in marked:
        hollow = line.get_markerfacecolor() == "none"
        found = {round(float(y), 6) for y in line.get_ydata()}
        assert found <= (old if hollow else new)
    assert gpu == {"filled": "H200", "open": "H100"}
