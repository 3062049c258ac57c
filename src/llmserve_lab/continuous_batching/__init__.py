"""Iteration-level scheduling and chunked prefill: who shares an iteration."""
