"""What the page of the chapter shows."""
