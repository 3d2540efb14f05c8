"""Maps, figures and HTML reports of releases."""
