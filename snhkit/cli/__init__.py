"""The command-line interface of snhkit."""
