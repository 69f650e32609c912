"""BLAS and LAPACK without the interpreter lock, and the factorisations built on them."""
