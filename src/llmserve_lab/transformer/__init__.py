"""One small transformer in NumPy, the reference that every cut must reproduce.

``Transformer(shape, seed=0).forward(tokens)`` gives logits. The pieces it is made of
are functions of rows and weights, so that ranks and batches use the same ones.
"""

from llmserve_lab.transformer.arithmetic import ORDERED, PLAIN, Execution
from llmserve_lab.transformer.attention import attend, causal_mask
from llmserve_lab.transformer.attention_context import AttentionContext
from llmserve_lab.transformer.block import Block
from llmserve_lab.transformer.cache import KVCache
from llmserve_lab.transformer.flash import FlashKernel, attend_tiles, flash_attention
from llmserve_lab.transformer.flash_decoding import split_decode
from llmserve_lab.transformer.generate import generate, next_token
from llmserve_lab.transformer.hbm import HbmMeter, plain_attention
from llmserve_lab.transformer.meter import Meter
from llmserve_lab.transformer.model import Transformer
from llmserve_lab.transformer.online_softmax import Partial, RunningSoftmax, merge
from llmserve_lab.transformer.packing import (
    Packing,
    cumulative,
    masked_attention,
    varlen_attention,
)
from llmserve_lab.transformer.paged import PagedKVStore
from llmserve_lab.transformer.sampling import chances, nucleus
from llmserve_lab.transformer.tiling import tile_reads, tiles, tiles_of
from llmserve_lab.transformer.tiny import tiny_latent, tiny_moe, tiny_shape
from llmserve_lab.transformer.trace import ShapeAt, ShapeTrace, Tracer, trace
from llmserve_lab.transformer.weights import Weights, seeded

__all__ = [
    "ORDERED",
    "PLAIN",
    "AttentionContext",
    "Block",
    "Execution",
    "FlashKernel",
    "HbmMeter",
    "KVCache",
    "Meter",
    "Packing",
    "PagedKVStore",
    "Partial",
    "RunningSoftmax",
    "ShapeAt",
    "ShapeTrace",
    "Tracer",
    "Transformer",
    "Weights",
    "attend",
    "attend_tiles",
    "causal_mask",
    "chances",
    "cumulative",
    "flash_attention",
    "generate",
    "masked_attention",
    "merge",
    "next_token",
    "nucleus",
    "plain_attention",
    "seeded",
    "split_decode",
    "tile_reads",
    "tiles",
    "tiles_of",
    "tiny_latent",
    "tiny_moe",
    "tiny_shape",
    "trace",
    "varlen_attention",
]
