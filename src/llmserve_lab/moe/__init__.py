"""Mixture of experts: many small FFNs, a router, and ranks that share them out."""
