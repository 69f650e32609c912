"""Plots of model quality."""
