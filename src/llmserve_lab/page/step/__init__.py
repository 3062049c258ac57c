"""Step figures: an executed log, frame by frame."""
