"""What a built page may weigh: HTML as a browser reads it, and as it is sent."""

MOST_BYTES, MOST_SENT = 360_000, 90_000
# The list of all formulas of the book: as a browser reads it. It is sent as others are.
LONG_LISTS = {"notation": 500_000}
