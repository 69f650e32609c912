"""Vector instructions that Numba does not write from loops, each with a plain twin of the same values.

`llvm_code` holds the instructions and is the only module that writes LLVM code. The other modules hold the
plain twins and choose, once per process, which of the two is used (`choice`).
"""
