"""Efficiencies read off measurements of single kernels and links."""
