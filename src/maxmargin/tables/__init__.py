"""Tables of users: reading files, recognising columns, and the models that fit them."""
