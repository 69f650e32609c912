"""What the pictures share."""
