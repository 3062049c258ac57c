"""The Ascend 910C: what is not published is not invented."""

from __future__ import annotations

from typing import Any

import pytest

from llmserve_lab import catalog

# Tables 2 and 4 of the paper, as printed: Greek letters, cycles.
TABLE_4 = {
    "α_A": "1.65e-3",
    "β_A": "50",
    "α_F": "0.083",
    "β_F": "100",
    "α_C": "0.022",
    "β_C": "20",
}
OURS = {"α": "a", "β": "b", "A": "attn", "F": "ffn", "C": "comm"}


def ascend() -> Any:
    return catalog.accelerator("ascend-910c")


def test_the_fitted_coefficients_are_those_of_the_paper() -> None:
    names = {symbol: symbol.split("_") for symbol in TABLE_4}
    ours = {s: f"{OURS[a]}_{OURS[b]}" for s, (a, b) in names.items()}
    assert set(ours.values()) == set(ascend().fitted)
    for symbol, printed in TABLE_4.items():
        assert float(ascend().fitted[ours[symbol]]) == float(printed), symbol


@pytest.mark.parametrize("field", ["peak_flops", "hbm_bytes", "hbm_bw", "scale_up"])
def test_asking_for_a_peak_says_what_there_is_instead(field: str) -> None:
    with pytest.raises(LookupError, match=f"{field} of Ascend 910C.*only coefficients"):
        getattr(ascend(), field)
    assert not hasattr(ascend(), field)


def test_asking_for_a_precision_says_the_same() -> None:
    with pytest.raises(catalog.UndisclosedError, match="undisclosed"):
        ascend().peak("bf16")
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = ascend().colour


def test_it_still_compares_hashes_and_prints() -> None:
    assert ascend() == ascend()
    assert ascend() in {ascend()}
    assert not ascend().disclosed
    assert "ascend-910c" in repr(ascend())


def test_a_precision_that_a_device_lacks_is_an_error_that_names_the_others() -> None:
    with pytest.raises(LookupError, match=r"H100 SXM computes in .*fp8.*got 'fp4'"):
        catalog.accelerator("h100-sxm").peak("fp4")
