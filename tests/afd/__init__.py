"""Tests of the chapter on Attention/FFN disaggregation."""
