"""What the chapter on cost and capacity shows and asks."""
