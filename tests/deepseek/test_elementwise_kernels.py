"""What lies between GEMMs is played out: every array of a layer, made and weighed."""

import numpy as np

from llmserve_lab.deepseek.model.elementwise_kernels import (
    ABSORBED,
    AT_HOME,
    OF_A_COPY,
    VANILLA,
    moved,
    row_traffic,
)
from llmserve_lab.deepseek.model.setup import SETUPS
from tests.deepseek.twins import twin

PLACE = SETUPS["9 × 8 H100"]
HALF, BYTE = np.float16, np.uint8  # as wide as BF16 and FP8


def played(*numbers: tuple[int, type]) -> int:
    """Bytes of arrays that a row has at one place after the other."""
    return sum(np.empty(width, kind).nbytes for width, kind in numbers)


def test_a_row_moves_what_arrays_of_its_layer_hold() -> None:
    """Every array that a kernel reads or writes, made and weighed."""
    model, heads, latent, rotary, query, expert = 7168, 128, 512, 64, 1536, 2048
    before = played(
        *[(model, HALF)] * 4,  # residual and addend in, sum and norm out
        *[(model, HALF), (model, BYTE)],
        *[(query, HALF)] * 2,
        *[(latent, HALF)] * 2,
        *[(query, HALF), (query, BYTE)],
        *[(model, BYTE), (query + latent + rotary, HALF)],  # products, down and up
        *[(query, BYTE), (heads * (128 + rotary), HALF)],
    )
    after = played(
        *[(latent + rotary, HALF)] * 2,
        *[(heads * 128, HALF), (heads * 128, BYTE)],
        *[(heads * 128, BYTE), (model, HALF)],  # the product of the output
    )
    absorbed = played(
        *[((heads + 1) * rotary, HALF)] * 2,
        *[(heads * 128, HALF), (heads * latent, HALF)] * 2,
        *[(heads * (latent + rotary), HALF), (heads * latent, HALF)],  # attention
    )
    vanilla = played(
        *[(heads * (128 + rotary), HALF)] * 2,
        *[(latent, HALF), (latent, BYTE)],
        *[(latent, BYTE), (heads * 2 * 128, HALF)],  # keys and values made
        *[(heads * 128, HALF), (heads * (128 + rotary), HALF)],
        *[(heads * (128 + rotary), HALF)] * 2,  # attention: queries and keys
        *[(heads * 128, HALF)] * 2,  # values in, results out
    )
    assert moved(ABSORBED, PLACE) == before + after + absorbed
    assert moved(VANILLA, PLACE) == before + after + vanilla
    assert moved(AT_HOME, PLACE) == played(
        *[(model, HALF)] * 4,
        (model, HALF),  # router
        *[(model, HALF), (model, BYTE)] * 2,
        *[(model, BYTE), (2 * expert, HALF)],  # the shared expert, up
        *[(expert, HALF)] * 3,
        *[(expert, HALF), (expert, BYTE)],
        *[(expert, BYTE), (model, HALF)],  # and down
        *[(model, HALF)] * 4,
    )
    assert moved(OF_A_COPY, PLACE) == played(
        *[(model, BYTE)] * 2,
        *[(expert, HALF)] * 4,  # up writes two, activating reads them
        *[(expert, BYTE)] * 2,  # and writes one, which down reads
        *[(model, HALF)] * 3,
    )


def test_every_byte_of_a_row_is_charged_once() -> None:
    """GEMMs, elementwise kernels and the attention kernel share out all kernels."""
    layers, with_experts = 61, 58
    found = row_traffic(PLACE, "absorbed")
    attention = found["attn_gemm_row_bytes"] + found["attn_row_bytes"]
    inside = layers * moved(ABSORBED, PLACE, "attention")
    assert attention + inside == layers * moved(ABSORBED, PLACE)
    copies = found["moe_gemm_copy_bytes"] + found["moe_copy_bytes"]
    assert copies == with_experts * moved(OF_A_COPY, PLACE)
    home = found["moe_gemm_row_bytes"] + found["moe_row_bytes"]
    assert home == with_experts * moved(AT_HOME, PLACE)
    assert set(twin(PLACE, elementwise=False).rows.values()) == {0.0}
