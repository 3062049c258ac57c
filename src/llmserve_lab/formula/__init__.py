"""Formulas: quantities with units, one expression, and what is made of it."""
