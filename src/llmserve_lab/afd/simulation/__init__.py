"""Attention–FFN disaggregation simulated: lengths, slots, pipelines, ratio sweeps."""
