"""Style, views and drawing functions that several displays share."""
