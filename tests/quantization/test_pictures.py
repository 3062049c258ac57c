"""Points of the stills lie where what is stored says."""

import numpy as np
import pytest

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
