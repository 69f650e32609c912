"""Jitted kernel values: rows, tiles and whole matrices."""
