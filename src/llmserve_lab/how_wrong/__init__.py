"""How wrong is this book? Errors of its predictions on what was measured."""
