"""Instructions that Numba does not offer by itself, each with a plain twin."""
