"""Latent attention and routing, executed and counted."""
