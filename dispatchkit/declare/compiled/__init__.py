"""The functions that call and compute operations, compiled from one text: public ones and default implementations."""
