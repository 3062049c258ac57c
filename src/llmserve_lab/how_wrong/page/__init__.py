"""What the page shows: figures, stills, tables, questions and the bench."""
