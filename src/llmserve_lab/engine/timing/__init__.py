"""Iteration time: cost model, and spans of iterations in closed form."""
