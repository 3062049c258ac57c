"""Two pools instead of one engine: what the split costs, and when it pays."""
