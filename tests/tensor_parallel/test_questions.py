"""What a question asks to foresee comes true where it is carried out."""

from __future__ import annotations

from llmserve_lab.tensor_parallel import article, midhead
from llmserve_lab.tensor_parallel.page import questions as module


def test_the_predictions_come_true_on_ranks() -> None:
    sent = {
        name: article.execute(name, 2, article.batch()).ledger.sent_bytes(rank=0)
        for name in ("gathered", "paired")
    }
    assert sent["paired"] > sent["gathered"] / 2 and module.predict_bytes.right == 2
    rows, weights = article.batch()[:, :16], midhead.projections(16, 1)
    assert midhead.error(2, rows, weights, synced=False) > 0.01
    assert module.predict_head.right == 1
