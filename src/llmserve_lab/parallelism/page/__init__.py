"""Figures, questions and the bench of the chapter on axes of parallelism."""
