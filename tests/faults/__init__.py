"""Servers that fall at a step of a commit, and many writers at once."""
