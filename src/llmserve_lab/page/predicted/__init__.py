"""Which numbers of a page are predictions, told by the code that they come from."""
