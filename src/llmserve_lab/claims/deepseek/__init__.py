"""The DeepSeek model paper: sizes, experts, FLOPs, the wire, and the whole step."""

from llmserve_lab.claims.deepseek import (
    experts,
    flops,
    outcome,
    shapes,
    weights,
    whole,
    wire,
)

CLAIMS = (
    *weights.CLAIMS,
    *shapes.CLAIMS,
    *experts.CLAIMS,
    *flops.CLAIMS,
    *wire.CLAIMS,
    *whole.CLAIMS,
    *outcome.CLAIMS,
)
