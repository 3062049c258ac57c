"""What a record of the catalog holds, each number with its source."""
