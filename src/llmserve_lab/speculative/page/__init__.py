"""What the chapter on speculative decoding shows."""
