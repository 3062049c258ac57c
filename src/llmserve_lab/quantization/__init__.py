"""Fewer bytes: number formats, quantization (quantisation), eviction, shared heads."""
