"""Which tokens stay, and what forgetting the others does to outputs and logits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.quantization import kv_eviction as ev
from llmserve_lab.quantization import tiny_model as tm
from llmserve_lab.quantization.page import forgetting


@given(st.integers(1, 60), st.integers(0, 6), st.integers(1, 70))
def test_a_window_keeps_the_first_and_the_last(
    length: int, sinks: int, more: int
) -> None:
    keep = sinks + more
    kept = ev.window(length, keep, sinks=sinks).tolist()
    assert len(kept) == min(keep, length) and kept == sorted(set(kept))
    assert set(kept) >= set(range(min(sinks, length))) | {length - 1}
    dropped = set(range(length)) - set(kept)
    assert not dropped or (max(dropped) < length - more and min(dropped) == sinks)


@given(st.integers(0, 99), st.integers(1, 30), st.integers(1, 8))
def test_observed_attention_keeps_the_best_and_the_recent(
    seed: int, more: int, recent: int
) -> None:
    weights = np.random.default_rng(seed).random((3, 40))
    kept = set(ev.observed(weights, recent + more, recent=recent).tolist())
    assert len(kept) == min(recent + more, 40) and set(range(40 - recent, 40)) <= kept
    dropped = set(range(40)) - kept
    votes = weights.sum(axis=0)
    older = kept - set(range(40 - recent, 40))
    if dropped and older:
        assert min(votes[list(older)]) >= max(votes[list(dropped)])


def test_the_sink_matters_most_and_what_was_looked_at_next() -> None:
    head = ev.synthetic_head()
    weights = head.weights()
    assert weights[:, 0].min() > 0.4 and np.abs(head.values[0]).max() < 0.1
    for keep in (24, 32, 64, 128):
        bare, sinks, seen = (
            head.error(kept) for kept in ev.kept_by(head, keep).values()
        )
        assert bare > 2.5 and sinks < 0.5 and seen < 0.06


def test_rescaling_is_all_that_happens_after_forgetting() -> None:
    head = ev.synthetic_head()
    for kept in ev.kept_by(head, 64).values():
        share = head.weights()[-1][kept].sum()
        np.testing.assert_allclose(head.remaining(kept) / share, head.output(kept))


def test_what_keeps_everything_changes_nothing() -> None:
    head, model, tokens = ev.synthetic_head(), tm.model(), tm.text(33, seed=5)
    for kept in ev.kept_by(head, 256).values():
        assert head.error(kept) == 0
    everything = [ev.window(32, 32)] * model.shape.n_layers
    assert ev.logit_error(model, tokens, everything) < 1e-12


def test_an_evicted_cache_is_a_mask_over_the_same_tokens() -> None:
    """Dropping entries is hiding them: checked with the head's own softmax."""
    head = ev.synthetic_head(length=40)
    kept = ev.window(40, 12, sinks=2)
    scores = head.queries[-1] @ head.keys.T / np.sqrt(32)
    hidden = np.full(40, -np.inf)
    hidden[kept] = scores[kept]
    weights = np.exp(hidden - hidden.max())
    expected = weights @ head.values / weights.sum()
    np.testing.assert_allclose(head.output(kept), expected, atol=1e-12)


def test_the_logits_move_the_more_the_less_is_kept() -> None:
    model, tokens = tm.model(), tm.text(97, seed=5)
    errors = [
        ev.logit_error(model, tokens, [ev.window(96, keep)] * 2)
        for keep in (12, 48, 96)
    ]
    assert errors[0] > errors[1] > errors[2] and errors[2] < 1e-12


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="keep must be more than sinks = 4 tokens"):
        ev.window(10, 4, sinks=4)
    with pytest.raises(ValueError, match="sinks must be at least 0 token, got -1"):
        ev.window(10, 4, sinks=-1)
    with pytest.raises(ValueError, match="keep must be at least recent = 8 tokens"):
        ev.observed(np.ones((2, 20)), 4, recent=8)
    with pytest.raises(ValueError, match="length must be at least 1 token, got 0"):
        ev.window(0, 4)


def test_the_errors_of_all_choices_stand_side_by_side() -> None:
    """At the end, where each is chosen; before it, only what the frame is about."""
    head = forgetting.small_head()
    kept = ev.kept_by(head, forgetting.KEEP)
    errors = {name: head.error(each) for name, each in kept.items()}
    for name, log in forgetting.forgetting().logs.items():
        for frame, made in enumerate(log.frames):
            bars, names = (
                [
                    row
                    for row in log.tables[table]
                    if row.get("since", 0) <= frame < row.get("until", 9)
                ]
                for table in ("bars", "names")
            )
            written = [row["text"] for row in names]
            said = [each for each in written if each.endswith("%")]
            last = frame == len(log.frames) - 1
            seen = list(kept) if last else [name]
            shown = dict(zip(seen, said, strict=True))
            assert [each for each in written if each in kept] == seen
            assert shown[name] == made.counters[-1]
            others = {other: f"{errors[other]:.0%}" for other in set(seen) - {name}}
            assert {other: shown[other] for other in others} == others
            for error, row in zip(shown.values(), bars, strict=True):
                length = (row["x2"] - row["x"]) / forgetting.LONGEST
                share = float(error[:-1]) / 100 / max(errors.values())
                assert length == pytest.approx(share, abs=0.01)
