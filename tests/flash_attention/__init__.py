"""Tests of the chapter on FlashAttention."""
