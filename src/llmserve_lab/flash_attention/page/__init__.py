"""What the chapter on FlashAttention shows."""
