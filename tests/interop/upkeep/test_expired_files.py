"""An object with a live row outlives the expiry of a dead one: DuckLake itself looks at rows alone."""
from own_lake import data_file, expire_and_clean, fill


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
