"""Closed forms for the ratio: the paper's recipe, corrected, and over a finite run."""
