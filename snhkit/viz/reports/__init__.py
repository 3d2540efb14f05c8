"""HTML reports that open without a network."""
