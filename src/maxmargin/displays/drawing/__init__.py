"""Style, views and parts of pictures that several displays use."""
