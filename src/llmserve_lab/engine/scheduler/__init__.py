"""Continuous batching: requests, batch state, scheduling policies, prefix cache."""
