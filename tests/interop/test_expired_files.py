"""An object with a live row outlives the expiry of a dead one: DuckLake itself looks at rows alone."""


def data_file(duck, schema, name):
    return duck.execute("SELECT data_file FROM ducklake_list_files('lake', ?, schema => ?)", [name, schema]).fetchone()[0]


def fill(duck, table):
    duck.execute(f'CREATE TABLE lake.{table}(i INTEGER)')
    duck.execute(f'INSERT INTO lake.{table} SELECT * FROM range(1000)')


def expire_and_clean(duck):
    duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
    return [row[0] for row in
            duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)").fetchall()]


def test_a_file_that_came_back_is_not_cleaned_up(duck, schema):
    table = f'{schema}.back'
    fill(duck, table)
    file = data_file(duck, schema, 'back')
    duck.execute(f'DELETE FROM lake.{table}')
    duck.execute("CALL ducklake_add_data_files('lake', 'back', ?, schema => ?)", [file, schema])
    assert not any(path.endswith(file.split('/')[-1]) for path in expire_and_clean(duck))
    assert duck.execute(f'SELECT count(*), sum(i) FROM lake.{table}').fetchone() == (1000, 499500)


def test_a_file_that_nothing_shows_is_cleaned_up(duck, schema):
    table = f'{schema}.gone'
    fill(duck, table)
    file = data_file(duck, schema, 'gone')
    duck.execute(f'DELETE FROM lake.{table}')
    assert any(path.endswith(file.split('/')[-1]) for path in expire_and_clean(duck))
