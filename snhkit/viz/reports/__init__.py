"""HTML reports that open without a network, and the tables in them."""
