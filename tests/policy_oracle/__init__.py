"""The oracle of governance: random histories of policies and tables, held against a small model of the rules. docs/oracle.md."""
