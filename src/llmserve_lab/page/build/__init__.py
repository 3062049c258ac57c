"""What happens to a page when the book is built."""
