"""Requests of different lengths in one forward pass: padded, masked, or varlen."""
