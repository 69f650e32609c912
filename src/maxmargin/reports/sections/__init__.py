"""The sections of the report, each a function of the study."""
