"""Checks that take more than one call: of the forms of a call, of instances as objects, of companions, of chains."""
