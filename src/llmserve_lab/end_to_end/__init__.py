"""An LLM, end to end: tokens in, next token out, and the loop that makes a reply."""
