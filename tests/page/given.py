"""What prompts tell of a case, from shapes, rates and runs: numbers in their order.

Of questions with options, of data that a formula passes over, of factors of a product.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence.serving import BLOCK_COUNTS
from llmserve_lab.continuous_batching.machine import LONG, calm
from llmserve_lab.continuous_batching.page import slots
from llmserve_lab.continuous_batching.workloads import four as requests
from llmserve_lab.engine import IterationLoad, Pool, Static, simulate
from llmserve_lab.how_wrong.pairs import pairs
from llmserve_lab.kv_memory.machine import BLOCK, blocks_with, num_blocks
from llmserve_lab.kv_memory.serving import SYSTEM
from llmserve_lab.quantization import outliers
from llmserve_lab.running_example import cost
from llmserve_lab.speculative import machine as drafting
from llmserve_lab.symptoms.cases.memory import CLIENTS
from llmserve_lab.symptoms.served import SLOTS
from llmserve_lab.validation.cache_blocks import reserve
from tests.disaggregation.test_each_column import decode_s, each_s
from tests.disaggregation.test_whys import STEP
from tests.moe.test_whys import parts

SMALL, BIG = catalog.model("llama-3.1-8b"), catalog.model("llama-3.1-70b")
SCOUT = catalog.model("llama-4-scout")
HBM = 3.35e12  # bytes a second of the book's H100
READ = 2 * (SMALL.params_total - SMALL.vocab * SMALL.d_model)  # the LM head with it
CACHED = 131_072  # bytes that a token of the 8B model leaves in 16 bits


def in_one_piece_s(tokens: int) -> float:
    """An iteration that reads so many tokens beside the decodes."""
    return cost().seconds(calm().plus(IterationLoad.of(chunk=tokens)))


def waited_s() -> float:
    run = simulate(requests(), Pool(cost(), Static(2)))
    return float(run.ttft_s[run.id == slots.LATE][0])


def nemo() -> list[float]:
    """The published start of a server of Mistral-Nemo, its reserve from the others."""
    (mine,) = (
        each for each in BLOCK_COUNTS if "Nemo" in each.model.name and each.tp == 2
    )
    others = [reserve(each) for each in BLOCK_COUNTS if each.model != mine.model]
    shape, each = mine.model, catalog.accelerator("h100-sxm").usable_bytes
    token = 4 * shape.n_layers * 8 * 128
    weights = 2 * shape.params_total
    return [2, float(each), 0.85, weights, float(np.mean(others)), 16, 16 * token]


def seesaw() -> list[float]:
    return [float(np.median([b.tpot_s / a.tpot_s for a, b in pairs("vllm", "sglang")]))]


def kimi() -> list[float]:
    """Routed experts and the rest in bytes, and of a GPU all and what is kept."""
    shape = catalog.model("kimi-k2")
    experts = 60 * 384 * 3 * 7168 * 2048
    return [experts, shape.params_total - experts, 134e9, 25e9]


def shape_of(model: Any) -> tuple[float, ...]:
    spec = model.attention
    return model.n_layers, spec.n_heads, spec.n_kv_heads, spec.d_head


LAYERS, HEADS, KV_HEADS, WIDE = shape_of(BIG)


def ported() -> list[float]:
    """8A–1F and nine machines of the paper's six coefficients, in seconds."""
    rows, micro = 256, 1e-6
    attn, ffn = 0.00165 * rows * 600 + 50, 0.083 * 8 * rows + 100
    group = 2 * (50 + 100 / 9), 0.00165 * 600 + 0.083
    took = [each * micro for each in (0.022, 20, attn, ffn, *group)]
    return [8, 1, took[0], 8 * rows, *took[1:]]


GIVEN: dict[str, Callable[[], list[float]]] = {
    "afd.predict-context": lambda: [500, 100],
    "afd.same-time": ported,
    "continuous-batching.predict-late": lambda: [waited_s(), 1],
    "continuous-batching.predict-freeze": lambda: [
        LONG, in_one_piece_s(LONG), cost().seconds(calm()), LONG / 6,
    ],
    "continuous-batching.predict-price": lambda: [
        512, -(-LONG // (512 - 5)), in_one_piece_s(LONG),
    ],
    "disaggregation.predict-ride": lambda: [40, cost().seconds(STEP), 1000, each_s(1)],
    "disaggregation.predict-promise": lambda: [1000, 200, 0.01, 0.05],
    "disaggregation.sizing": lambda: [78, 1000, 200, 0.015, each_s(1), decode_s(0.015)],
    "end-to-end.per-token": lambda: [LAYERS, KV_HEADS, WIDE, 2, 1000],
    "end-to-end.token": lambda: [
        LAYERS, BIG.d_model, HEADS, KV_HEADS, WIDE, 28_672, BIG.vocab, 8000,
    ],
    "flash-attention.predict-square": lambda: [
        98_000, 16, 32, 80e9, 2 * SMALL.params_total / 1e9,
    ],
    "flash-attention.predict-tile": lambda: [128, 256],
    "how-wrong.predict-seesaw": seesaw,
    "how-wrong.blocks": nemo,
    "how-wrong.interval": lambda: [0.012, 30, 0.9, 0.2, 0.3, 0.5, 501, 4, 40_000],
    "kv-memory.predict-routing": lambda: [4, num_blocks() * BLOCK // SYSTEM],
    "kv-memory.window": lambda: [
        SCOUT.n_layers, *shape_of(SCOUT)[2:], 16, 36, 8192, 2**17,
    ],
    "moe.predict-touched": lambda: [8, 256, 64],
    "moe.predict-group": lambda: [128, 16, *parts(16.0), 64],
    "moe.predict-skew": lambda: [8, 0.1, 1 - 0.1, 8],
    "moe.sending": lambda: [32, 64, 8, 2 * 7168, 8, 50e9, 48.2e-6],
    "parallelism.predict-alone": lambda: [LAYERS],
    "parallelism.predict-runs": lambda: [0, 7, 7],
    "parallelism.predict-layout": lambda: [2048],
    "parallelism.even": lambda: [16, 13.4e9, 4 * 94 * 4 * 128],
    "quantization.predict-one": lambda: [1100, 16, 128],
    "quantization.predict-group": lambda: [*outliers.matrix().shape, 20, 512 - 4],
    "roofline.predict-batch": lambda: [
        1100, (READ + 1100 * CACHED) / HBM, 32, 1100 * CACHED,
    ],
    "roofline.predict-long": lambda: [14, 2**14, 2 * 14],
    "roofline.kv-per-token": lambda: [16, LAYERS, HEADS, KV_HEADS, WIDE],
    "roofline.fits": lambda: [2**13, 2 * SMALL.params_total, 16, 150e9, CACHED],
    "speculative.break-even": lambda: [
        64, drafting.verify_s(64, 4), drafting.plain_s(64), 2.7e-3,
    ],
    "symptoms.third": lambda: [3, 6000, blocks_with(SLOTS)],
    "symptoms.predict-memory": lambda: [CLIENTS, 1500, 0.9, 0.92],
    "tensor-parallel.predict-degree": lambda: [1000, 16.5e-3],
    "tensor-parallel.prefill-bytes": lambda: [2**11, 8, 16, LAYERS, BIG.d_model],
    "varlen.predict-padding": lambda: [1155],
    "disaggregation.handoff": lambda: [4000, CACHED, 28.3e9],
    "disaggregation.stretch": lambda: [0.015, 12, 0.026],
    "end-to-end.predict-rows": lambda: [1000, 200],
    "flash-attention.keys-that-fit": lambda: [96, 16, 128, 227 * 2**10, 16],
    "flash-attention.splits": lambda: [KV_HEADS, 132],
    "kv-memory.predict-rate": lambda: [27, 328],
    "moe.least-ep": kimi,
    "quantization.predict-prompt": lambda: [2**13, 16, 16],
    "quantization.worst": lambda: [0.63, 7, 7],
    "roofline.speed": lambda: [
        BIG.params_total - BIG.vocab * BIG.d_model, 1000, 4.8e12,
    ],
    "speculative.predict-redraw": lambda: [0.5, 0.3, 0.2, 0.2, 0.6, 0.2],
    "speculative.predict-rows": lambda: [drafting.plain_s(1)],
    "speculative.predict-eight": lambda: [32],
    "symptoms.first": lambda: [1],
    "symptoms.second": lambda: [2],
    "tensor-parallel.fits": lambda: [
        16, 2 * BIG.params_total, 75_251e6, 4 * LAYERS * KV_HEADS * WIDE,
    ],
    "varlen.predict-masked": lambda: [128],
    "varlen.predict-dominates": lambda: [20_000],
    "varlen.tiles": lambda: [64, 260, 128, 128],
    "afd.predict-slowest": lambda: [32, 8],
    "end-to-end.dog": lambda: [0, 3, 2, 0],
}  # fmt: skip
