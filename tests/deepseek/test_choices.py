"""What cannot be chosen is refused, by name and with the rule."""

from typing import Any

import pytest

from llmserve_lab.deepseek.model.assumptions import Choices
from llmserve_lab.deepseek.model.setup import setup


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"balancedness": 0.0}, r"balancedness must be a share in \(0, 1\], got 0.0"),
        ({"lent_share": 1.0}, r"lent_share must be a share in \[0, 1\), got 1.0"),
        ({"n_redundant": -1}, "n_redundant must be a whole number, 0 or more, got -1"),
        ({"n_draft": 0.5}, "n_draft must be a whole number, 0 or more, got 0.5"),
        ({"overlap": "tbo"}, "overlap must be one of none, hidden, halves, got 'tbo'"),
        ({"form": "Vanilla"}, "form must be one of absorbed, vanilla, got 'Vanilla'"),
        ({"experts": "max"}, "experts must be one of expected, busiest, all, got"),
        ({"ridge": "soft"}, "ridge must be one of round, sharp, got 'soft'"),
        ({"near_copies": "both"}, "near_copies must be one of near, far, got 'both'"),
        ({"cache": "fp9"}, "cache must be one of fp32, .*, got 'fp9'"),
        ({"passes": "no"}, "passes must be one of False, True, got 'no'"),
        ({"shares": {}}, "shares must be those of blackwell, hopper, got none"),
        ({"accepted": 2.0}, "accepted must be 1 to 1 tokens with n_draft = 0, got 2.0"),
    ],
)
def test_impossible_choices_are_refused(change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Choices(**change)


def test_impossible_setups_are_refused() -> None:
    with pytest.raises(ValueError, match=r"n_gpus must be a whole number.*, got 0"):
        setup("h100-sxm", 0)
    with pytest.raises(ValueError, match=r"n_gpus must be a whole number.* True"):
        setup("h100-sxm", True)
    with pytest.raises(ValueError, match=r"model must have experts.*, got Llama-2-7B"):
        setup("h100-sxm", 8, model="llama-2-7b")
