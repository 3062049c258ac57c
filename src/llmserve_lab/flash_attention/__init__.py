"""FlashAttention: attention without the square, in tiles and in splits."""
