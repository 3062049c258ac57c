"""Speculative decoding: a cheap model guesses, the served model checks in one pass."""
