"""Every operation, by being imported."""
from oracle import (by_hand_definitions, by_hand_deletes, by_hand_files, by_hand_metadata, duck_rows, duck_shape,  # noqa: F401
                    duck_tables, duck_upkeep, iceberg_rows, iceberg_shape, migrated, variants, views)
