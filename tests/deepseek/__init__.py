"""The twin of DeepSeek-V3: what counts."""
