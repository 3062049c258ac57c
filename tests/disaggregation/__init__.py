"""Disaggregation: handed over layer by layer, queued, and served, then compared."""
