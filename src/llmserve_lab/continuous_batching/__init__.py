"""Iteration-level scheduling and chunked prefill: which requests share an iteration."""
