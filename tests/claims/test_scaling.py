"""What the scaling chapter's records run: speculation, a ring, a sketch."""

import random

import pytest

from llmserve_lab.claims.scaling_batching import (
    PROMPT_OF_SKETCH,
    cached_at_first_decode,
)
from llmserve_lab.claims.scaling_context import is_right, ring
from llmserve_lab.claims.scaling_speculative import (
    VOCABULARY,
    TokenModel,
    drawn,
    example,
    largest_gap,
    ordinary_passes,
    outcomes,
)


@pytest.mark.parametrize("drafted", [1, 2, 3])
def test_speculation_has_the_law_of_the_target(drafted: int) -> None:
    assert largest_gap(drafted) < 1e-12


def test_chances_of_a_step_add_up_and_drawing_agrees() -> None:
    """Played out by drawing, as the listing does, token by token."""
    p, q = TokenModel(drawn(1)), TokenModel(drawn(2))
    law: dict[int, float] = {}
    for tokens, chance in outcomes(p, q, (0,), 2):
        law[tokens[0]] = law.get(tokens[0], 0.0) + chance
    assert sum(law.values()) == pytest.approx(1)
    rng, times, seen = random.Random(5), 20_000, [0] * VOCABULARY
    ours, drafts = p.law((0,)).tolist(), q.law((0,)).tolist()
    for _ in range(times):
        (x,) = rng.choices(range(VOCABULARY), drafts)
        if rng.random() >= min(1, ours[x] / drafts[x]):
            left = [max(a - b, 0) for a, b in zip(ours, drafts, strict=True)]
            (x,) = rng.choices(range(VOCABULARY), left)
        seen[x] += 1
    for token, count in enumerate(seen):
        assert count / times == pytest.approx(law[token], abs=0.02)


def test_the_example_is_counted() -> None:
    target, draft, tokens = example()
    assert (target.passes, draft.passes, tokens) == (1, 4, (1, 2, 3, 4))
    assert [ordinary_passes(n) for n in (1, 4, 5)] == [1, 4, 5]


@pytest.mark.parametrize("moving", ["keys and values", "queries"])
def test_both_rings_give_what_one_device_gives(moving: str) -> None:
    assert is_right(moving)
    assert ("partial results" in ring(moving)[1]) is (moving == "queries")


def test_the_sketch_decodes_on_an_empty_cache() -> None:
    assert cached_at_first_decode(prefilled=False) == 0
    assert cached_at_first_decode(prefilled=True) == PROMPT_OF_SKETCH
