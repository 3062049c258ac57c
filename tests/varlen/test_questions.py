"""What a question asks to foresee comes true where it is carried out."""

import numpy as np
import pytest

from llmserve_lab.page.question.content import text_of
from llmserve_lab.running_example import cost, model
from llmserve_lab.transformer import Packing, varlen_attention
from llmserve_lab.transformer.packing import cumulative
from llmserve_lab.transformer.tiling import tiles
from llmserve_lab.varlen.lengths import prompts
from llmserve_lab.varlen.page import questions as module
from tests.varlen.batches import carried_out


def test_the_predictions_come_true_in_a_run() -> None:
    masked, varlen = (carried_out(way, [2] * 64).pairs for way in ("masked", "varlen"))
    assert module.predict_masked.right == masked / varlen
    assert module.BRANCHES[int(module.predict_dominates.right)] == "the linear layers"


def test_the_share_of_padding_is_nearest_to_the_right_option() -> None:
    drawn = prompts("conversation").draw(np.random.default_rng(5), 8 * 500)
    found = []
    for batch in drawn.reshape(-1, 8):
        rows = np.zeros((8, max(batch)), dtype=bool)
        for row, length in zip(rows, batch, strict=True):
            row[:length] = True
        found.append((int((~rows).sum()), rows.size))
    padding, all_rows = np.sum(found, axis=0)
    options = [float(text.split()[1]) / 100 for text in module.SHARES]
    nearest = min(options, key=lambda option: abs(option - padding / all_rows))
    assert module.predict_padding.right == options.index(nearest)


def test_padding_takes_its_time_row_by_row() -> None:
    lengths = [1500] + [433] * 10 + [434] * 5
    assert sum(lengths) == 16 * 500
    rows = sum(1500 - length for length in lengths)
    assert module.padding_time.right == rows * cost().row_s


def test_the_share_of_useful_pairs_is_counted_in_tiles() -> None:
    one = Packing(cumulative([260]), (0,))
    seen = list(tiles(varlen_attention(one), 128, skip=True))
    useful = sum(tile.useful for tile in seen) / (len(seen) * 128**2)
    assert module.tiles.right == useful


def test_each_other_number_of_the_reasons_is_counted() -> None:
    """Squares of tokens, a prompt's triangle against its rows, padding row by row."""
    square, blocks = (64 * 128) ** 2, 64 * 128**2
    assert text_of(module.predict_masked.why).startswith(
        f"The square has {square:,} pairs, the 64 blocks have {blocks:,}: as many"
    )
    shape = model()
    row = 2 * (shape.params_active - shape.vocab * shape.d_model)
    pair = shape.attn_flops_per_pair()
    share = pair * 20_001 / 2 / (pair * 20_001 / 2 + row)
    said = text_of(module.predict_dominates.why)
    assert f"attention does {100 * share:.1f} % of the FLOPs" in said
    assert said.endswith(f"level at {2 * row / pair - 1:,.0f} tokens.")
    padding = text_of(module.predict_padding.why).split(" ")[2]
    drawn = prompts("conversation").draw(np.random.default_rng(7), 8 * 4000)
    batches = drawn.reshape(-1, 8)
    found = 1 - batches.sum() / (8 * batches.max(axis=1).sum())
    assert float(padding.removesuffix("\N{NO-BREAK SPACE}%")) == pytest.approx(
        100 * found, abs=1.5
    )
