"""Plots of kernels, machines and their fits."""
