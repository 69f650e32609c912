"""Pictures of kernels, machines and their fits."""
