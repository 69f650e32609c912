"""Jitted statistics of single columns and of nearest rows."""
