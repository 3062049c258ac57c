"""Figures of the front page."""
