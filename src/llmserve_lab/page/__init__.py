"""What a page is made of: live figures, stills, questions, tables, glue."""
