"""Chapter 8: what counts."""
