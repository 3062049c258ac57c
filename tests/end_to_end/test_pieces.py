"""Norm, FFN and positions of the page are those of the transformer."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.end_to_end.pieces import normalised, swiglu, turned
from llmserve_lab.transformer.ffn import swiglu_ffn
from llmserve_lab.transformer.rope import rotate
from llmserve_lab.transformer.rowwise import rms_norm

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((5, 8))


def test_the_norm_is_that_of_the_transformer() -> None:
    gain = RNG.standard_normal(8)
    assert normalised(ROWS, gain) == pytest.approx(rms_norm(ROWS, gain))
    assert (normalised(ROWS, np.ones(8)) ** 2).mean(axis=1) == pytest.approx(
        1, rel=1e-4
    )


def test_the_ffn_is_that_of_the_transformer() -> None:
    gate, up = RNG.standard_normal((2, 8, 20))
    down = RNG.standard_normal((20, 8))
    names = {"gate_proj": gate, "up_proj": up, "down_proj": down}
    assert swiglu(ROWS, gate, up, down) == pytest.approx(swiglu_ffn(ROWS, names))


def test_a_turn_is_that_of_the_transformer_and_keeps_distances() -> None:
    places = np.arange(5.0)
    found = turned(ROWS, places)
    assert found == pytest.approx(rotate(ROWS[:, None], np.arange(5))[:, 0])
    later = turned(ROWS, places + 11)
    assert found @ found.T == pytest.approx(later @ later.T)
