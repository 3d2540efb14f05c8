"""Counts of records that are read from files block by block, in bounded memory."""
