"""One small transformer in NumPy, the reference that every cut must reproduce.

``Transformer(shape, seed=0).forward(tokens)`` gives logits. The pieces it is made of
are functions of rows and weights, so that ranks and batches use the same ones.
"""

from llmserve_lab.transformer.arithmetic import ORDERED, PLAIN, Execution
from llmserve_lab.transformer.attention import attend, causal_mask
from llmserve_lab.transformer.attention_context import AttentionContext
from llmserve_lab.transformer.block import Block
from llmserve_lab.transformer.cache import KVCache
from llmserve_lab.transformer.generate import generate, next_token
from llmserve_lab.transformer.meter import Meter
from llmserve_lab.transformer.model import Transformer
from llmserve_lab.transformer.packing import (
    Packing,
    cumulative,
    masked_attention,
    varlen_attention,
)
from llmserve_lab.transformer.paged import PagedKVStore
from llmserve_lab.transformer.tiny import tiny_latent, tiny_moe, tiny_shape
from llmserve_lab.transformer.trace import ShapeAt, ShapeTrace, Tracer, trace
from llmserve_lab.transformer.weights import Weights, seeded

__all__ = [
    "ORDERED",
    "PLAIN",
    "AttentionContext",
    "Block",
    "Execution",
    "KVCache",
    "Meter",
    "Packing",
    "PagedKVStore",
    "ShapeAt",
    "ShapeTrace",
    "Tracer",
    "Transformer",
    "Weights",
    "attend",
    "causal_mask",
    "cumulative",
    "generate",
    "masked_attention",
    "next_token",
    "seeded",
    "tiny_latent",
    "tiny_moe",
    "tiny_shape",
    "trace",
    "varlen_attention",
]
