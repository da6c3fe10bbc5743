"""Changes of shape and order, joining and splitting."""
