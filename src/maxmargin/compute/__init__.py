"""All jitted code, by subject. README.md in this folder has the rules and the measurements."""
