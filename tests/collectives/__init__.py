"""Ranks and collectives: what they return, what they cost, how they refuse."""
