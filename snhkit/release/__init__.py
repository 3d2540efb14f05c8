"""Releases, their file format, their cards, and their answers for boxes and polygons."""

from snhkit.release.card import card_json, card_markdown
from snhkit.release.release import Release

__all__ = ["Release", "card_json", "card_markdown"]
