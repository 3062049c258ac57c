"""The front page: the life of a request, and how long the chapters take to read."""
