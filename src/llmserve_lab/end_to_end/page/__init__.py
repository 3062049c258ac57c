"""The chapter on the page: live figures, stills, questions, playground."""
