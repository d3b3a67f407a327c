"""How each client connects to a running lake. The tour, the tests and ./dev shell share this."""
