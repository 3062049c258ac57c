"""Throughput, latency and cost of a replica, traced by the engine as the load grows."""

from __future__ import annotations

from llmserve_lab.capacity.level import ServiceLevel

ROWS = 2048  # budget of an iteration, vLLM: max_num_batched_tokens
MODELS = {"llama-3.1-8b": 1, "llama-3.1-70b": 4}  # and the GPUs of a replica
DEVICES = ("h100-sxm", "a100-80-sxm", "h200-sxm", "b200-sxm")
TTFTS_S = (0.2, 0.5, 1.0, 2.0, 5.0)
TPOTS_S = (0.015, 0.02, 0.03, 0.05, 0.1)
LEVEL = ServiceLevel(ttft_s=0.5, tpot_s=0.02)  # of the page
SECONDS = 120.0  # of arrivals at each rate
# Rates, as shares of what comes out of a short backlog.
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5)
LASTS_S = 5.0  # beyond this P90 of TTFT the queue grows while the run lasts
