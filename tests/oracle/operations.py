"""Every operation, by being imported."""
from oracle import by_hand, duck_rows, duck_shape, duck_upkeep, iceberg_rows, iceberg_shape  # noqa: F401
