"""Synthetic cities: streets, venues and people that are invented."""
