SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA golden;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE golden.ducklake_column (
    column_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    table_id bigint,
    column_order bigint,
    column_name character varying,
    column_type character varying,
    initial_default character varying,
    default_value character varying,
    nulls_allowed boolean,
    parent_column bigint,
    default_value_type character varying,
    default_value_dialect character varying
);
CREATE TABLE golden.ducklake_column_mapping (
    mapping_id bigint,
    table_id bigint,
    type character varying
);
CREATE TABLE golden.ducklake_column_tag (
    table_id bigint,
    column_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    key character varying,
    value character varying
);
CREATE TABLE golden.ducklake_data_file (
    data_file_id bigint NOT NULL,
    table_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    file_order bigint,
    path character varying,
    path_is_relative boolean,
    file_format character varying,
    record_count bigint,
    file_size_bytes bigint,
    footer_size bigint,
    row_id_start bigint,
    partition_id bigint,
    encryption_key character varying,
    mapping_id bigint,
    partial_max bigint
);
CREATE TABLE golden.ducklake_delete_file (
    delete_file_id bigint NOT NULL,
    table_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    data_file_id bigint,
    path character varying,
    path_is_relative boolean,
    format character varying,
    delete_count bigint,
    file_size_bytes bigint,
    footer_size bigint,
    encryption_key character varying,
    partial_max bigint
);
CREATE TABLE golden.ducklake_file_column_stats (
    data_file_id bigint,
    table_id bigint,
    column_id bigint,
    column_size_bytes bigint,
    value_count bigint,
    null_count bigint,
    min_value character varying,
    max_value character varying,
    contains_nan boolean,
    extra_stats character varying
);
CREATE TABLE golden.ducklake_file_partition_value (
    data_file_id bigint,
    table_id bigint,
    partition_key_index bigint,
    partition_value character varying
);
CREATE TABLE golden.ducklake_file_variant_stats (
    data_file_id bigint,
    table_id bigint,
    column_id bigint,
    variant_path character varying,
    shredded_type character varying,
    column_size_bytes bigint,
    value_count bigint,
    null_count bigint,
    min_value character varying,
    max_value character varying,
    contains_nan boolean,
    extra_stats character varying
);
CREATE TABLE golden.ducklake_files_scheduled_for_deletion (
    data_file_id bigint,
    path character varying,
    path_is_relative boolean,
    schedule_start timestamp with time zone
);
CREATE TABLE golden.ducklake_inlined_data_10_22 (
    row_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    i integer,
    z integer
);
CREATE TABLE golden.ducklake_inlined_data_11_23 (
    row_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    i integer
);
CREATE TABLE golden.ducklake_inlined_data_12_24 (
    row_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    t character varying,
    h character varying
);
CREATE TABLE golden.ducklake_inlined_data_13_25 (
    row_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    d character varying,
    u uuid,
    s bytea
);
CREATE TABLE golden.ducklake_inlined_data_13_26 (
    row_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    d character varying,
    u uuid,
    s bytea
);
CREATE TABLE golden.ducklake_inlined_data_2_12 (
    row_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    i bigint,
    s bytea,
    ts character varying
);
CREATE TABLE golden.ducklake_inlined_data_2_2 (
    row_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    i integer,
    s bytea,
    ts character varying
);
CREATE TABLE golden.ducklake_inlined_data_6_16 (
    row_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    x character varying,
    l character varying,
    m character varying
);
CREATE TABLE golden.ducklake_inlined_data_8_18 (
    row_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    i integer
);
CREATE TABLE golden.ducklake_inlined_data_9_20 (
    row_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    b boolean,
    f double precision,
    s bytea,
    y bytea,
    u uuid,
    d character varying,
    p numeric(9,2),
    l character varying
);
CREATE TABLE golden.ducklake_inlined_data_tables (
    table_id bigint,
    table_name character varying,
    schema_version bigint
);
CREATE TABLE golden.ducklake_inlined_delete_10 (
    file_id bigint,
    row_id bigint,
    begin_snapshot bigint
);
CREATE TABLE golden.ducklake_macro (
    schema_id bigint,
    macro_id bigint,
    macro_name character varying,
    begin_snapshot bigint,
    end_snapshot bigint
);
CREATE TABLE golden.ducklake_macro_impl (
    macro_id bigint,
    impl_id bigint,
    dialect character varying,
    sql character varying,
    type character varying
);
CREATE TABLE golden.ducklake_macro_parameters (
    macro_id bigint,
    impl_id bigint,
    column_id bigint,
    parameter_name character varying,
    parameter_type character varying,
    default_value character varying,
    default_value_type character varying
);
CREATE TABLE golden.ducklake_metadata (
    key character varying NOT NULL,
    value character varying NOT NULL,
    scope character varying,
    scope_id bigint
);
CREATE TABLE golden.ducklake_name_mapping (
    mapping_id bigint,
    column_id bigint,
    source_name character varying,
    target_field_id bigint,
    parent_column bigint,
    is_partition boolean
);
CREATE TABLE golden.ducklake_partition_column (
    partition_id bigint,
    table_id bigint,
    partition_key_index bigint,
    column_id bigint,
    transform character varying
);
CREATE TABLE golden.ducklake_partition_info (
    partition_id bigint,
    table_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint
);
CREATE TABLE golden.ducklake_schema (
    schema_id bigint NOT NULL,
    schema_uuid uuid,
    begin_snapshot bigint,
    end_snapshot bigint,
    schema_name character varying,
    path character varying,
    path_is_relative boolean
);
CREATE TABLE golden.ducklake_schema_versions (
    begin_snapshot bigint,
    schema_version bigint,
    table_id bigint
);
CREATE TABLE golden.ducklake_snapshot (
    snapshot_id bigint NOT NULL,
    snapshot_time timestamp with time zone,
    schema_version bigint,
    next_catalog_id bigint,
    next_file_id bigint
);
CREATE TABLE golden.ducklake_snapshot_changes (
    snapshot_id bigint NOT NULL,
    changes_made character varying,
    author character varying,
    commit_message character varying,
    commit_extra_info character varying
);
CREATE TABLE golden.ducklake_sort_expression (
    sort_id bigint,
    table_id bigint,
    sort_key_index bigint,
    expression character varying,
    dialect character varying,
    sort_direction character varying,
    null_order character varying
);
CREATE TABLE golden.ducklake_sort_info (
    sort_id bigint,
    table_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint
);
CREATE TABLE golden.ducklake_table (
    table_id bigint,
    table_uuid uuid,
    begin_snapshot bigint,
    end_snapshot bigint,
    schema_id bigint,
    table_name character varying,
    path character varying,
    path_is_relative boolean
);
CREATE TABLE golden.ducklake_table_column_stats (
    table_id bigint,
    column_id bigint,
    contains_null boolean,
    contains_nan boolean,
    min_value character varying,
    max_value character varying,
    extra_stats character varying
);
CREATE TABLE golden.ducklake_table_stats (
    table_id bigint,
    record_count bigint,
    next_row_id bigint,
    file_size_bytes bigint
);
CREATE TABLE golden.ducklake_tag (
    object_id bigint,
    begin_snapshot bigint,
    end_snapshot bigint,
    key character varying,
    value character varying
);
CREATE TABLE golden.ducklake_view (
    view_id bigint,
    view_uuid uuid,
    begin_snapshot bigint,
    end_snapshot bigint,
    schema_id bigint,
    view_name character varying,
    dialect character varying,
    sql character varying,
    column_aliases character varying
);
INSERT INTO golden.ducklake_column VALUES
	(2, 2, NULL, 2, 2, 's', 'varchar', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(3, 2, NULL, 2, 3, 'ts', 'timestamp', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(1, 2, 10, 2, 1, 'i', 'int32', NULL, 'NULL', false, NULL, 'literal', 'duckdb'),
	(1, 10, 11, 2, 1, 'i', 'int32', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(1, 11, NULL, 2, 1, 'i', 'int64', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(4, 12, 14, 2, 4, 'we"ird,:x', 'float64', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(1, 15, NULL, 6, 1, 'x', 'struct', NULL, 'NULL', true, NULL, '', 'duckdb'),
	(4, 15, NULL, 6, 4, 'l', 'list', NULL, 'NULL', true, NULL, '', 'duckdb'),
	(5, 15, NULL, 6, 5, 'element', 'int32', NULL, 'NULL', true, 4, 'literal', 'duckdb'),
	(6, 15, NULL, 6, 6, 'm', 'map', NULL, 'NULL', true, NULL, '', 'duckdb'),
	(7, 15, NULL, 6, 7, 'key', 'varchar', NULL, 'NULL', true, 6, 'literal', 'duckdb'),
	(8, 15, NULL, 6, 8, 'value', 'int32', NULL, 'NULL', true, 6, 'literal', 'duckdb'),
	(9, 16, NULL, 6, 9, 'c', 'varchar', NULL, 'NULL', false, 1, 'literal', 'duckdb'),
	(2, 15, 17, 6, 2, 'a', 'int32', NULL, 'NULL', true, 1, 'literal', 'duckdb'),
	(2, 17, NULL, 6, 2, 'aa', 'int32', NULL, 'NULL', false, 1, '', 'duckdb'),
	(3, 15, 18, 6, 3, 'b', 'int32', NULL, 'NULL', true, 1, 'literal', 'duckdb'),
	(1, 20, 21, 8, 1, 'i', 'int32', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(1, 22, NULL, 9, 1, 'b', 'boolean', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(2, 22, NULL, 9, 2, 'f', 'float64', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(3, 22, NULL, 9, 3, 's', 'varchar', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(4, 22, NULL, 9, 4, 'y', 'blob', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(5, 22, NULL, 9, 5, 'u', 'uuid', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(6, 22, NULL, 9, 6, 'd', 'date', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(7, 22, NULL, 9, 7, 'p', 'decimal(9,2)', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(8, 22, NULL, 9, 8, 'l', 'list', NULL, 'NULL', true, NULL, '', 'duckdb'),
	(9, 22, NULL, 9, 9, 'element', 'varchar', NULL, 'NULL', true, 8, 'literal', 'duckdb'),
	(1, 25, NULL, 10, 1, 'i', 'int32', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(2, 29, NULL, 10, 2, 'z', 'int32', '5', '5', true, NULL, 'literal', 'duckdb'),
	(1, 30, NULL, 11, 1, 'i', 'int32', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(1, 36, NULL, 12, 1, 't', 'timestamp_s', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(2, 36, NULL, 12, 2, 'h', 'int128', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(1, 37, NULL, 13, 1, 'd', 'date', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(2, 37, NULL, 13, 2, 'u', 'uuid', NULL, 'NULL', true, NULL, 'literal', 'duckdb'),
	(3, 37, NULL, 13, 3, 's', 'varchar', NULL, 'NULL', true, NULL, 'literal', 'duckdb');
INSERT INTO golden.ducklake_column_tag VALUES
	(2, 1, 4, NULL, 'comment', 'column comment');
INSERT INTO golden.ducklake_data_file VALUES
	(1, 2, 7, NULL, NULL, 'i=0/day=1/ducklake-01a1fdf6-1b29-7d37-82ea-e65ab0819646.parquet', true, 'parquet', 2, 430, 309, 1, 3, NULL, NULL, NULL),
	(2, 2, 7, NULL, NULL, 'i=1/day=16/ducklake-01a1fdf6-1b29-7679-a6c3-27495ae2f926.parquet', true, 'parquet', 2, 430, 309, 3, 3, NULL, NULL, NULL),
	(3, 2, 7, NULL, NULL, 'i=0/day=31/ducklake-01a1fdf6-1b2a-74fd-91d7-1e5b285a8ce2.parquet', true, 'parquet', 2, 430, 309, 5, 3, NULL, NULL, NULL),
	(4, 2, 7, NULL, NULL, 'i=1/day=15/ducklake-01a1fdf6-1b2a-7501-b9b1-795df05f3275.parquet', true, 'parquet', 3, 447, 309, 7, 3, NULL, NULL, NULL),
	(5, 2, 7, NULL, NULL, 'i=0/day=30/ducklake-01a1fdf6-1b2a-722b-ad57-8cc3e010ed58.parquet', true, 'parquet', 2, 430, 309, 10, 3, NULL, NULL, NULL),
	(6, 2, 7, NULL, NULL, 'i=1/day=14/ducklake-01a1fdf6-1b2b-79d6-8f33-0c618d46944c.parquet', true, 'parquet', 1, 412, 308, 12, 3, NULL, NULL, NULL),
	(8, 10, 26, NULL, NULL, 'ducklake-01a1fdf6-20c0-726f-9262-5b52b3b5a3c6.parquet', true, 'parquet', 20, 274, 157, 0, NULL, NULL, NULL, NULL),
	(10, 11, 31, NULL, NULL, 'ducklake-01a1fdf6-21b8-7af8-9346-00e9986a978d.parquet', true, 'parquet', 20, 274, 157, 0, NULL, NULL, NULL, NULL),
	(13, 11, 32, NULL, NULL, 'ducklake-01a1fdf6-2202-7a07-94a4-fc9c6e8af16c.parquet', true, 'parquet', 2, 567, 440, 20, NULL, NULL, NULL, 33),
	(15, 13, 39, NULL, NULL, 'bucket=2/year=2024/month=1/bucket_s=0/ducklake-01a1fdf6-23dd-7edb-8fdc-bd4e18d9d84e.parquet', true, 'parquet', 1, 451, 338, 0, 14, NULL, NULL, NULL),
	(16, 13, 39, NULL, NULL, 'bucket=1/year=2024/month=2/bucket_s=3/ducklake-01a1fdf6-23ea-7439-9674-94e8cc496f8b.parquet', true, 'parquet', 1, 451, 338, 1, 14, NULL, NULL, NULL),
	(17, 13, 39, NULL, NULL, 'bucket=3/year=2024/month=4/bucket_s=1/ducklake-01a1fdf6-23ea-7b56-866a-357958300398.parquet', true, 'parquet', 1, 451, 338, 2, 14, NULL, NULL, NULL),
	(18, 13, 39, NULL, NULL, 'bucket=1/year=2024/month=5/bucket_s=4/ducklake-01a1fdf6-23eb-720c-9334-a20de956b3b4.parquet', true, 'parquet', 1, 451, 338, 3, 14, NULL, NULL, NULL),
	(19, 13, 39, NULL, NULL, 'bucket=1/year=2024/month=6/bucket_s=4/ducklake-01a1fdf6-23eb-79e1-85a7-226c5e3c8e2a.parquet', true, 'parquet', 1, 451, 338, 4, 14, NULL, NULL, NULL),
	(20, 13, 39, NULL, NULL, 'bucket=2/year=2024/month=8/bucket_s=0/ducklake-01a1fdf6-23ec-7324-9974-0c248d514ce2.parquet', true, 'parquet', 1, 451, 338, 5, 14, NULL, NULL, NULL),
	(21, 13, 39, NULL, NULL, 'bucket=0/year=2024/month=9/bucket_s=6/ducklake-01a1fdf6-23ec-7886-bc66-29a920c0a50a.parquet', true, 'parquet', 1, 451, 338, 6, 14, NULL, NULL, NULL),
	(22, 13, 39, NULL, NULL, 'bucket=3/year=2024/month=10/bucket_s=5/ducklake-01a1fdf6-23ed-7a6f-9658-c3ce34f29fd2.parquet', true, 'parquet', 1, 451, 338, 7, 14, NULL, NULL, NULL),
	(23, 13, 39, NULL, NULL, 'bucket=2/year=2024/month=11/bucket_s=2/ducklake-01a1fdf6-23f6-71d8-95ea-0ee1c0da828f.parquet', true, 'parquet', 1, 451, 338, 8, 14, NULL, NULL, NULL),
	(24, 13, 39, NULL, NULL, 'bucket=1/year=2025/month=1/bucket_s=3/ducklake-01a1fdf6-23f6-7bb8-becc-64e6360103f1.parquet', true, 'parquet', 1, 451, 338, 9, 14, NULL, NULL, NULL),
	(25, 13, 39, NULL, NULL, 'bucket=0/year=2025/month=2/bucket_s=7/ducklake-01a1fdf6-23f7-7b2a-8ed6-44e8c6b14ba4.parquet', true, 'parquet', 1, 456, 342, 10, 14, NULL, NULL, NULL),
	(26, 13, 39, NULL, NULL, 'bucket=2/year=2025/month=3/bucket_s=6/ducklake-01a1fdf6-23f8-7cee-8836-1cfd129a05a0.parquet', true, 'parquet', 1, 456, 342, 11, 14, NULL, NULL, NULL);
INSERT INTO golden.ducklake_delete_file VALUES
	(9, 10, 28, NULL, 8, 'ducklake-01a1fdf6-210d-7384-b650-bea472d0fab7-delete.parquet', true, 'parquet', 14, 863, 583, NULL, NULL);
INSERT INTO golden.ducklake_file_column_stats VALUES
	(1, 2, 1, 33, 2, 0, '0', '0', NULL, NULL),
	(1, 2, 2, 35, 2, 0, 'y', 'y', NULL, NULL),
	(1, 2, 3, 41, 2, 0, '2024-01-01 00:00:00', '2024-03-01 00:00:00', NULL, NULL),
	(2, 2, 1, 33, 2, 0, '1', '1', NULL, NULL),
	(2, 2, 2, 35, 2, 0, 'y', 'y', NULL, NULL),
	(2, 2, 3, 41, 2, 0, '2024-01-16 00:00:00', '2024-03-16 00:00:00', NULL, NULL),
	(3, 2, 1, 33, 2, 0, '0', '0', NULL, NULL),
	(3, 2, 2, 35, 2, 0, 'y', 'y', NULL, NULL),
	(3, 2, 3, 41, 2, 0, '2024-01-31 00:00:00', '2024-03-31 00:00:00', NULL, NULL),
	(4, 2, 1, 37, 3, 0, '1', '1', NULL, NULL),
	(4, 2, 2, 40, 3, 0, 'y', 'y', NULL, NULL),
	(4, 2, 3, 49, 3, 0, '2024-02-15 00:00:00', '2024-05-15 00:00:00', NULL, NULL),
	(5, 2, 1, 33, 2, 0, '0', '0', NULL, NULL),
	(5, 2, 2, 35, 2, 0, 'y', 'y', NULL, NULL),
	(5, 2, 3, 41, 2, 0, '2024-04-30 00:00:00', '2024-05-30 00:00:00', NULL, NULL),
	(6, 2, 1, 29, 1, 0, '1', '1', NULL, NULL),
	(6, 2, 2, 30, 1, 0, 'y', 'y', NULL, NULL),
	(6, 2, 3, 33, 1, 0, '2024-06-14 00:00:00', '2024-06-14 00:00:00', NULL, NULL),
	(8, 10, 1, 105, 20, 0, '0', '19', NULL, NULL),
	(10, 11, 1, 105, 20, 0, '0', '19', NULL, NULL),
	(13, 11, 1, 33, 2, 0, '100', '101', NULL, NULL),
	(15, 13, 1, 29, 1, 0, '2024-01-15', '2024-01-15', NULL, NULL),
	(15, 13, 2, 41, 1, 0, '66799fd4-bafc-4c1c-8e5f-ddec59e65aa6', '66799fd4-bafc-4c1c-8e5f-ddec59e65aa6', NULL, NULL),
	(15, 13, 3, 31, 1, 0, 's0', 's0', NULL, NULL),
	(16, 13, 1, 29, 1, 0, '2024-02-24', '2024-02-24', NULL, NULL),
	(16, 13, 2, 41, 1, 0, '06e77edb-b422-4c2f-8fea-30a989fd6dcf', '06e77edb-b422-4c2f-8fea-30a989fd6dcf', NULL, NULL),
	(16, 13, 3, 31, 1, 0, 's1', 's1', NULL, NULL),
	(17, 13, 1, 29, 1, 0, '2024-04-04', '2024-04-04', NULL, NULL),
	(17, 13, 2, 41, 1, 0, '156af64b-0943-4784-8b63-f7b0f1e7c312', '156af64b-0943-4784-8b63-f7b0f1e7c312', NULL, NULL),
	(17, 13, 3, 31, 1, 0, 's2', 's2', NULL, NULL),
	(18, 13, 1, 29, 1, 0, '2024-05-14', '2024-05-14', NULL, NULL),
	(18, 13, 2, 41, 1, 0, '5210426b-8b26-44c3-bc74-d06c0e7a59d2', '5210426b-8b26-44c3-bc74-d06c0e7a59d2', NULL, NULL),
	(18, 13, 3, 31, 1, 0, 's3', 's3', NULL, NULL),
	(19, 13, 1, 29, 1, 0, '2024-06-23', '2024-06-23', NULL, NULL),
	(19, 13, 2, 41, 1, 0, '511c6c73-67f6-46f4-8676-be5e4ee4aff6', '511c6c73-67f6-46f4-8676-be5e4ee4aff6', NULL, NULL),
	(19, 13, 3, 31, 1, 0, 's4', 's4', NULL, NULL),
	(20, 13, 1, 29, 1, 0, '2024-08-02', '2024-08-02', NULL, NULL),
	(20, 13, 2, 41, 1, 0, '7fbc1a1a-1cbf-4d5b-bd09-206cc02a39fa', '7fbc1a1a-1cbf-4d5b-bd09-206cc02a39fa', NULL, NULL),
	(20, 13, 3, 31, 1, 0, 's5', 's5', NULL, NULL),
	(21, 13, 1, 29, 1, 0, '2024-09-11', '2024-09-11', NULL, NULL),
	(21, 13, 2, 41, 1, 0, 'bc10a724-fc2d-4149-a6ed-5aa5eebabd35', 'bc10a724-fc2d-4149-a6ed-5aa5eebabd35', NULL, NULL),
	(21, 13, 3, 31, 1, 0, 's6', 's6', NULL, NULL),
	(22, 13, 1, 29, 1, 0, '2024-10-21', '2024-10-21', NULL, NULL),
	(22, 13, 2, 41, 1, 0, '481b6cf6-45d9-4b2a-ab7b-1de6a19a23c0', '481b6cf6-45d9-4b2a-ab7b-1de6a19a23c0', NULL, NULL),
	(22, 13, 3, 31, 1, 0, 's7', 's7', NULL, NULL),
	(23, 13, 1, 29, 1, 0, '2024-11-30', '2024-11-30', NULL, NULL),
	(23, 13, 2, 41, 1, 0, '4f861b44-0def-423f-a681-10754d085400', '4f861b44-0def-423f-a681-10754d085400', NULL, NULL),
	(23, 13, 3, 31, 1, 0, 's8', 's8', NULL, NULL),
	(24, 13, 1, 29, 1, 0, '2025-01-09', '2025-01-09', NULL, NULL),
	(24, 13, 2, 41, 1, 0, '287b9984-5e9e-492f-a9f7-0c4b0b5ca3e1', '287b9984-5e9e-492f-a9f7-0c4b0b5ca3e1', NULL, NULL),
	(24, 13, 3, 31, 1, 0, 's9', 's9', NULL, NULL),
	(25, 13, 1, 29, 1, 0, '2025-02-18', '2025-02-18', NULL, NULL),
	(25, 13, 2, 41, 1, 0, 'ade95e8f-8341-4b53-9176-1bdd8a49d295', 'ade95e8f-8341-4b53-9176-1bdd8a49d295', NULL, NULL),
	(25, 13, 3, 32, 1, 0, 's10', 's10', NULL, NULL),
	(26, 13, 1, 29, 1, 0, '2025-03-30', '2025-03-30', NULL, NULL),
	(26, 13, 2, 41, 1, 0, 'ee242e06-c8a9-4551-98bd-f6bcfb599aac', 'ee242e06-c8a9-4551-98bd-f6bcfb599aac', NULL, NULL),
	(26, 13, 3, 32, 1, 0, 's11', 's11', NULL, NULL);
INSERT INTO golden.ducklake_file_partition_value VALUES
	(1, 2, 0, '0'),
	(1, 2, 1, '1'),
	(2, 2, 0, '1'),
	(2, 2, 1, '16'),
	(3, 2, 0, '0'),
	(3, 2, 1, '31'),
	(4, 2, 0, '1'),
	(4, 2, 1, '15'),
	(5, 2, 0, '0'),
	(5, 2, 1, '30'),
	(6, 2, 0, '1'),
	(6, 2, 1, '14'),
	(15, 13, 0, '2'),
	(15, 13, 1, '2024'),
	(15, 13, 2, '1'),
	(15, 13, 3, '0'),
	(16, 13, 0, '1'),
	(16, 13, 1, '2024'),
	(16, 13, 2, '2'),
	(16, 13, 3, '3'),
	(17, 13, 0, '3'),
	(17, 13, 1, '2024'),
	(17, 13, 2, '4'),
	(17, 13, 3, '1'),
	(18, 13, 0, '1'),
	(18, 13, 1, '2024'),
	(18, 13, 2, '5'),
	(18, 13, 3, '4'),
	(19, 13, 0, '1'),
	(19, 13, 1, '2024'),
	(19, 13, 2, '6'),
	(19, 13, 3, '4'),
	(20, 13, 0, '2'),
	(20, 13, 1, '2024'),
	(20, 13, 2, '8'),
	(20, 13, 3, '0'),
	(21, 13, 0, '0'),
	(21, 13, 1, '2024'),
	(21, 13, 2, '9'),
	(21, 13, 3, '6'),
	(22, 13, 0, '3'),
	(22, 13, 1, '2024'),
	(22, 13, 2, '10'),
	(22, 13, 3, '5'),
	(23, 13, 0, '2'),
	(23, 13, 1, '2024'),
	(23, 13, 2, '11'),
	(23, 13, 3, '2'),
	(24, 13, 0, '1'),
	(24, 13, 1, '2025'),
	(24, 13, 2, '1'),
	(24, 13, 3, '3'),
	(25, 13, 0, '0'),
	(25, 13, 1, '2025'),
	(25, 13, 2, '2'),
	(25, 13, 3, '7'),
	(26, 13, 0, '2'),
	(26, 13, 1, '2025'),
	(26, 13, 2, '3'),
	(26, 13, 3, '6');
INSERT INTO golden.ducklake_inlined_data_11_23 VALUES
	(22, 35, NULL, 102);
INSERT INTO golden.ducklake_inlined_data_2_2 VALUES
	(0, 5, NULL, 1, '\x78', '2024-01-01 00:00:00');
INSERT INTO golden.ducklake_inlined_data_9_20 VALUES
	(0, 23, NULL, true, 'NaN', '\x68c3a9', '\x00ff', '00000000-0000-0000-0000-000000000001', '2024-02-29', 1.50, '[q, r]'),
	(1, 23, 24, false, '-Infinity', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO golden.ducklake_inlined_data_tables VALUES
	(2, 'ducklake_inlined_data_2_2', 2),
	(2, 'ducklake_inlined_data_2_12', 12),
	(6, 'ducklake_inlined_data_6_16', 16),
	(8, 'ducklake_inlined_data_8_18', 18),
	(9, 'ducklake_inlined_data_9_20', 20),
	(10, 'ducklake_inlined_data_10_22', 22),
	(11, 'ducklake_inlined_data_11_23', 23),
	(12, 'ducklake_inlined_data_12_24', 24),
	(13, 'ducklake_inlined_data_13_25', 25),
	(13, 'ducklake_inlined_data_13_26', 26);
INSERT INTO golden.ducklake_inlined_delete_10 VALUES
	(8, 3, 27);
INSERT INTO golden.ducklake_metadata VALUES
	('version', '1.0', NULL, NULL),
	('created_by', 'DuckDB d8cdaa33fd', NULL, NULL),
	('data_path', 's3://lake/data/', NULL, NULL),
	('encrypted', 'false', NULL, NULL);
INSERT INTO golden.ducklake_partition_column VALUES
	(3, 2, 0, 1, 'identity'),
	(3, 2, 1, 3, 'day'),
	(14, 13, 0, 2, 'bucket(4)'),
	(14, 13, 1, 1, 'year'),
	(14, 13, 2, 1, 'month'),
	(14, 13, 3, 3, 'bucket(8)');
INSERT INTO golden.ducklake_partition_info VALUES
	(3, 2, 6, 8),
	(4, 2, 8, NULL),
	(14, 13, 38, NULL);
INSERT INTO golden.ducklake_schema VALUES
	(0, '42768882-2af7-4079-a9f9-7e38d760a7bf', 0, NULL, 'main', 'main/', true),
	(1, '01a1fdf6-1a0d-7666-b60b-93b8d712ec7a', 1, NULL, 's1', 's1/', true);
INSERT INTO golden.ducklake_schema_versions VALUES
	(2, 2, 2),
	(6, 5, 2),
	(8, 6, 2),
	(10, 8, 2),
	(11, 9, 2),
	(12, 10, 2),
	(13, 11, 2),
	(14, 12, 2),
	(15, 13, 6),
	(16, 14, 6),
	(17, 15, 6),
	(18, 16, 6),
	(20, 18, 8),
	(22, 20, 9),
	(25, 21, 10),
	(29, 22, 10),
	(30, 23, 11),
	(36, 24, 12),
	(37, 25, 13),
	(38, 26, 13);
INSERT INTO golden.ducklake_snapshot VALUES
	(0, '2026-11-21 11:55:26.277565+00', 0, 1, 0),
	(1, '2026-11-21 11:55:26.604606+00', 1, 2, 0),
	(2, '2026-11-21 11:55:26.614374+00', 2, 3, 0),
	(3, '2026-11-21 11:55:26.65841+00', 3, 3, 0),
	(4, '2026-11-21 11:55:26.702497+00', 4, 3, 0),
	(5, '2026-11-21 11:55:26.742358+00', 4, 3, 1),
	(6, '2026-11-21 11:55:26.829528+00', 5, 4, 1),
	(7, '2026-11-21 11:55:26.872741+00', 5, 4, 7),
	(8, '2026-11-21 11:55:26.918686+00', 6, 5, 7),
	(9, '2026-11-21 11:55:26.949537+00', 7, 6, 7),
	(10, '2026-11-21 11:55:27.014321+00', 8, 6, 7),
	(11, '2026-11-21 11:55:27.074522+00', 9, 6, 7),
	(12, '2026-11-21 11:55:27.150914+00', 10, 6, 7),
	(13, '2026-11-21 11:55:27.244303+00', 11, 6, 7),
	(14, '2026-11-21 11:55:27.334506+00', 12, 6, 7),
	(15, '2026-11-21 11:55:27.434131+00', 13, 7, 7),
	(16, '2026-11-21 11:55:27.510781+00', 14, 7, 7),
	(17, '2026-11-21 11:55:27.643058+00', 15, 7, 7),
	(18, '2026-11-21 11:55:27.742094+00', 16, 7, 7),
	(19, '2026-11-21 11:55:27.829982+00', 17, 8, 7),
	(20, '2026-11-21 11:55:27.898653+00', 18, 9, 7),
	(21, '2026-11-21 11:55:27.981336+00', 19, 9, 7),
	(22, '2026-11-21 11:55:28.03108+00', 20, 10, 7),
	(23, '2026-11-21 11:55:28.122774+00', 20, 10, 8),
	(24, '2026-11-21 11:55:28.1944+00', 20, 10, 8),
	(25, '2026-11-21 11:55:28.230788+00', 21, 11, 8),
	(26, '2026-11-21 11:55:28.278588+00', 21, 11, 9),
	(27, '2026-11-21 11:55:28.329865+00', 21, 11, 9),
	(28, '2026-11-21 11:55:28.370679+00', 21, 11, 10),
	(29, '2026-11-21 11:55:28.422831+00', 22, 11, 10),
	(30, '2026-11-21 11:55:28.466566+00', 23, 12, 10),
	(31, '2026-11-21 11:55:28.546859+00', 23, 12, 11),
	(32, '2026-11-21 11:55:28.58253+00', 23, 12, 12),
	(33, '2026-11-21 11:55:28.598823+00', 23, 12, 13),
	(34, '2026-11-21 11:55:28.626883+00', 23, 12, 14),
	(35, '2026-11-21 11:55:28.792212+00', 23, 12, 15),
	(36, '2026-11-21 11:55:28.833742+00', 24, 13, 15),
	(37, '2026-11-21 11:55:28.878692+00', 25, 14, 15),
	(38, '2026-11-21 11:55:28.978847+00', 26, 15, 15),
	(39, '2026-11-21 11:55:29.058929+00', 26, 15, 27);
INSERT INTO golden.ducklake_snapshot_changes VALUES
	(0, 'created_schema:"main"', NULL, NULL, NULL),
	(1, 'created_schema:"s1"', NULL, NULL, NULL),
	(2, 'created_table:"s1"."a"', NULL, NULL, NULL),
	(3, 'altered_table:2', NULL, NULL, NULL),
	(4, 'altered_table:2', NULL, NULL, NULL),
	(5, 'inlined_insert:2', NULL, NULL, NULL),
	(6, 'altered_table:2', NULL, NULL, NULL),
	(7, 'inserted_into_table:2', NULL, NULL, NULL),
	(8, 'altered_table:2', NULL, NULL, NULL),
	(9, 'altered_table:2', NULL, NULL, NULL),
	(10, 'altered_table:2', NULL, NULL, NULL),
	(11, 'altered_table:2', NULL, NULL, NULL),
	(12, 'altered_table:2', NULL, NULL, NULL),
	(13, 'created_table:"s1"."b"', NULL, NULL, NULL),
	(14, 'altered_table:2', NULL, NULL, NULL),
	(15, 'created_table:"s1"."nested"', NULL, NULL, NULL),
	(16, 'altered_table:6', NULL, NULL, NULL),
	(17, 'altered_table:6', NULL, NULL, NULL),
	(18, 'altered_table:6', NULL, NULL, NULL),
	(19, 'created_view:"s1"."v"', NULL, NULL, NULL),
	(20, 'created_table:"main"."q""t,x"', NULL, NULL, NULL),
	(21, 'dropped_table:8', NULL, NULL, NULL),
	(22, 'created_table:"s1"."inlined"', NULL, NULL, NULL),
	(23, 'inlined_insert:9', NULL, NULL, NULL),
	(24, 'inlined_delete:9', NULL, NULL, NULL),
	(25, 'created_table:"s1"."grown"', NULL, NULL, NULL),
	(26, 'inserted_into_table:10', NULL, NULL, NULL),
	(27, 'inlined_delete:10', NULL, NULL, NULL),
	(28, 'deleted_from_table:10', NULL, NULL, NULL),
	(29, 'altered_table:10', NULL, NULL, NULL),
	(30, 'created_table:"s1"."flushed"', NULL, NULL, NULL),
	(31, 'inserted_into_table:11', NULL, NULL, NULL),
	(32, 'inlined_insert:11', NULL, NULL, NULL),
	(33, 'inlined_insert:11', NULL, NULL, NULL),
	(34, 'inline_flush:11', NULL, NULL, NULL),
	(35, 'inlined_insert:11', NULL, NULL, NULL),
	(36, 'created_table:"s1"."wide"', NULL, NULL, NULL),
	(37, 'created_table:"s1"."spread"', NULL, NULL, NULL),
	(38, 'altered_table:13', NULL, NULL, NULL),
	(39, 'inserted_into_table:13', NULL, NULL, NULL);
INSERT INTO golden.ducklake_sort_expression VALUES
	(5, 2, 0, 's', 'duckdb', 'ASC', 'NULLS_FIRST'),
	(5, 2, 1, '(i + 1)', 'duckdb', 'DESC', 'NULLS_LAST');
INSERT INTO golden.ducklake_sort_info VALUES
	(5, 2, 9, NULL);
INSERT INTO golden.ducklake_table VALUES
	(2, '01a1fdf6-1a22-70b2-a9d0-7785cd123f4a', 2, 13, 1, 'a', 'a/', true),
	(2, '01a1fdf6-1a22-70b2-a9d0-7785cd123f4a', 13, NULL, 1, 'b', 'a/', true),
	(6, '01a1fdf6-1d66-7c1d-a1d0-683a3366663d', 15, NULL, 1, 'nested', 'nested/', true),
	(8, '01a1fdf6-1f3b-783c-93a7-f32c086e4a86', 20, 21, 0, 'q"t,x', '01a1fdf6-1f3b-783c-93a7-f32c086e4a86/', true),
	(9, '01a1fdf6-1fcf-73b0-9af1-7abafa44f76c', 22, NULL, 1, 'inlined', 'inlined/', true),
	(10, '01a1fdf6-2069-732e-9307-9b4c5ec36bdd', 25, NULL, 1, 'grown', 'grown/', true),
	(11, '01a1fdf6-216f-7391-85d3-a68530a497d3', 30, NULL, 1, 'flushed', 'flushed/', true),
	(12, '01a1fdf6-22c2-775f-aba7-af9c4bb0035b', 36, NULL, 1, 'wide', 'wide/', true),
	(13, '01a1fdf6-2312-7428-8ce8-47489649021a', 37, NULL, 1, 'spread', 'spread/', true);
INSERT INTO golden.ducklake_table_column_stats VALUES
	(2, 1, false, NULL, '0', '1', NULL),
	(2, 2, false, NULL, 'x', 'y', NULL),
	(2, 3, false, NULL, '2024-01-01 00:00:00', '2024-06-14 00:00:00', NULL),
	(9, 1, false, NULL, 'false', 'true', NULL),
	(9, 2, false, NULL, '-inf', 'nan', NULL),
	(9, 3, true, NULL, 'hé', 'hé', NULL),
	(9, 4, true, NULL, '\x00\xFF', '\x00\xFF', NULL),
	(9, 5, true, NULL, '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000001', NULL),
	(9, 6, true, NULL, '2024-02-29', '2024-02-29', NULL),
	(9, 7, true, NULL, '1.50', '1.50', NULL),
	(9, 9, false, NULL, 'q', 'r', NULL),
	(10, 1, false, NULL, '0', '19', NULL),
	(11, 1, false, NULL, '0', '102', NULL),
	(13, 1, false, NULL, '2024-01-15', '2025-03-30', NULL),
	(13, 2, false, NULL, '06e77edb-b422-4c2f-8fea-30a989fd6dcf', 'ee242e06-c8a9-4551-98bd-f6bcfb599aac', NULL),
	(13, 3, false, NULL, 's0', 's9', NULL);
INSERT INTO golden.ducklake_table_stats VALUES
	(2, 13, 13, 2579),
	(9, 2, 2, 0),
	(10, 20, 20, 274),
	(11, 23, 23, 841),
	(13, 12, 12, 5422);
INSERT INTO golden.ducklake_tag VALUES
	(2, 3, NULL, 'comment', 'table comment');
INSERT INTO golden.ducklake_view VALUES
	(7, 'f79eaa88-c8c5-4fa0-94da-f03abe4d5a6f', 19, NULL, 1, 'v', 'duckdb', 'SELECT 1 AS one', '');
ALTER TABLE ONLY golden.ducklake_data_file
    ADD CONSTRAINT ducklake_data_file_pkey PRIMARY KEY (data_file_id);
ALTER TABLE ONLY golden.ducklake_delete_file
    ADD CONSTRAINT ducklake_delete_file_pkey PRIMARY KEY (delete_file_id);
ALTER TABLE ONLY golden.ducklake_schema
    ADD CONSTRAINT ducklake_schema_pkey PRIMARY KEY (schema_id);
ALTER TABLE ONLY golden.ducklake_snapshot_changes
    ADD CONSTRAINT ducklake_snapshot_changes_pkey PRIMARY KEY (snapshot_id);
ALTER TABLE ONLY golden.ducklake_snapshot
    ADD CONSTRAINT ducklake_snapshot_pkey PRIMARY KEY (snapshot_id);
