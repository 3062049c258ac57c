"""Fewer bytes: number formats, quantization, eviction, shared heads."""
