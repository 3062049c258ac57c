"""A digital twin of DeepSeek-V3 decoding: every term of a step, beside measurements."""
