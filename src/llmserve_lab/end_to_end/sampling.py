"""From logits to a token, as every chapter draws it: temperature, top-p, and a draw."""

from llmserve_lab.transformer.sampling import chances, draw, nucleus

__all__ = ["chances", "draw", "nucleus"]
