"""What the pages show: figures, questions, tables, the bench."""
