"""Counting records that stream from files, in bounded memory."""
