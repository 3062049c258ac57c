"""A model and prompts small enough to run on ranks while a page is made."""

from __future__ import annotations

from llmserve_lab.transformer import tiny_shape

SMALL = tiny_shape(n_layers=8, n_heads=8, n_kv_heads=2, d_model=64)
PROMPT = tuple(range(5, 21))  # 16 tokens: two pieces for each of up to eight ranks
GROUPS = (((1, 2, 3), (4, 5)), ((6, 7, 8, 9),), ((10,),), ((11, 12),))
