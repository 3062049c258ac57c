"""The step model: setup, assumptions, and every term of a decode step."""
