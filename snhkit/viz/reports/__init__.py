"""HTML reports that need no network connection, and the tables in the reports."""
