"""How a reader of the tour connects with clients of their own."""
from lake_clients import duck, iceberg, spark
from stack import paths


def show(lake, name):
    print('\n-- The servers stay up. To connect:')
    print(f'\nshell variables: source {paths.env_file(name).relative_to(paths.ROOT)}')
    print('\nDuckDB, directly on the lake (INSTALL ducklake; INSTALL postgres; first):')
    for statement in (duck.secret(lake), duck.attach_lake(lake)):
        print(f'   {statement};')
    print('\nDuckDB, through the catalog (INSTALL iceberg; first):')
    for statement in (*duck.catalog_secrets(lake), duck.attach_catalog(lake)):
        print(f'   {statement};')
    print('\nPyIceberg:')
    print(f"   from pyiceberg.catalog import load_catalog\n   load_catalog('lake', **{iceberg.properties(lake)})")
    print('\nSpark, for spark-sql or spark-submit:')
    packages = 'org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0,org.apache.iceberg:iceberg-aws-bundle:1.12.0'
    print(f'   --packages {packages}')
    for key, value in spark.catalog_settings(lake).items():
        print(f'   --conf {key}={value}')
    argument = '' if name == paths.DEFAULT_STACK else f' --name {name}'
    print(f'\nPrompts: ./dev shell psql | duckdb | python      Stop: ./dev down{argument}')
