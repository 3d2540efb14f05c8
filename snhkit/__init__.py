"""Private locations in, range counts out."""
