"""Gains by fewer bits, measured beside predicted: the pairs of the chapter."""

import numpy as np

from llmserve_lab.quantization import measured


def test_gains_of_fp8_over_bf16_are_near_the_predicted() -> None:
    found = measured.pairs("bf16", "fp8", wide_engine="vllm", tps=(2, 4))
    assert len(found) == 39 and measured.half_off(found) < 0.06
    assert 1.3 < np.median([pair.measured for pair in found]) < 1.5
    assert {p.wide.engine for p in found} == {"vllm"}
    assert {p.narrow.engine for p in found} == {"trtllm"}
    assert all(p.wide.clients == p.narrow.clients for p in found)


def test_gains_of_fp4_over_fp8_are_of_one_engine_each() -> None:
    found = measured.pairs("fp8", "fp4", tps=(1,))
    assert all(p.wide.engine == p.narrow.engine for p in found)
    assert len(found) == 33 and measured.half_off(found) < 0.1
    assert 1.1 < np.median([pair.measured for pair in found]) < 1.4
