"""Jitted passes of the online learners."""
