"""The tour of ./dev demo: four clients, one lake."""
