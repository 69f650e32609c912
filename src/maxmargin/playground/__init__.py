"""The live page: the real solvers in a browser, for students, lecturers and analysts."""
