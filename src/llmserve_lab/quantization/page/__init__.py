"""Figures, charts, questions and the bench of the chapter on fewer bytes."""
