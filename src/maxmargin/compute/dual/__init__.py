"""Jitted steps of the dual engine."""
