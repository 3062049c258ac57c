"""All steps but positions and attention return the same bits in any company."""

import numpy as np
import pytest

from llmserve_lab.catalog import ModelShape
from llmserve_lab.transformer import Transformer, tiny_latent, tiny_shape
from llmserve_lab.varlen.rowwise import same_alone, steps
from tests.varlen.batches import model

ROWS = np.random.default_rng(1).standard_normal((6, 16))


def test_only_positions_and_attention_see_who_else_is_there() -> None:
    rows, same = ROWS, {}
    for name, step in steps(model()):
        same[name] = same_alone(step, rows)
        rows = step(rows)
    assert same.pop("attention") == 1  # the first row sees nobody else
    assert same.pop("rotary positions") == 1  # it is turned by nothing
    assert set(same.values()) == {6} and len(same) == 9


def test_a_step_that_looks_at_a_neighbour_is_found_out() -> None:
    assert same_alone(lambda rows: rows - rows.mean(axis=0), ROWS) == 0


def test_the_steps_are_those_of_the_block() -> None:
    """Put together with their residuals they are what the model itself computes."""
    seen = [step for _, step in steps(model())]
    query = seen[1](seen[0](ROWS))
    assert query.shape == (6, 16 + 8 + 8)
    assert seen[2](query).shape == query.shape
    assert seen[9](seen[8](seen[7](ROWS))).shape == ROWS.shape


def test_positions_keep_what_attention_scores() -> None:
    """Turned by the place, a score depends on the distance; values stay as they are."""
    turn = next(step for name, step in steps(model()) if name == "rotary positions")
    alike = np.tile(np.random.default_rng(2).standard_normal((1, 32)), (4, 1))
    turned = turn(alike)
    np.testing.assert_array_equal(turned[:, 24:], alike[:, 24:])
    query, key = turned[:, :4], turned[:, 16:20]
    scores = query @ key.T
    assert np.isclose(scores[1, 0], scores[3, 2])
    assert not np.isclose(scores[1, 0], scores[2, 0])


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (tiny_shape(), "model must have a GeLU FFN, got SwigluFfn"),
        (tiny_shape(attention=tiny_latent()), "must have heads that cache, got MLA"),
    ],
)
def test_another_block_is_refused(shape: ModelShape, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        next(steps(Transformer(shape)))
