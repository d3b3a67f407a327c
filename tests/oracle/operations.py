"""Every operation, by being imported."""
from oracle import (by_hand_deletes, by_hand_files, by_hand_metadata, duck_rows, duck_shape, duck_upkeep,  # noqa: F401
                    iceberg_rows, iceberg_shape, variants)
