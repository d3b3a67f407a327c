"""The tour of ./dev demo: four clients, one lake, and who may see what."""
