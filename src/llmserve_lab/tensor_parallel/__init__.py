"""Tensor-parallel cuts: which parts of a matrix a GPU keeps, and what it must send."""
