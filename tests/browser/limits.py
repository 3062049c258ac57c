"""What a built page may weigh: HTML as a browser reads it, and as it is sent."""

MOST_BYTES, MOST_SENT = 360_000, 90_000
