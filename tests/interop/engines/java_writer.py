"""Iceberg's Java library, which alone writes equality deletes, in the Java that Spark brings along.

Rows come from a table of keys: a number that passes through Python loses its Java type.
"""


class JavaWriter:
    """One commit's files of a table, as a Java engine (Flink, say) writes them."""

    def __init__(self, spark, table, number=1, catalog='lake.'):
        """`catalog` stands before the names of all tables."""
        self.spark = spark
        self.catalog = catalog
        self.java = spark._jvm.org.apache.iceberg
        self.table = self.load(table)
        self.places = self.java.io.OutputFileFactory.builderFor(self.table, number, number).format(
            self.java.FileFormat.PARQUET).build()

    def load(self, table):
        return self.java.spark.Spark3Util.loadIcebergTable(self.spark._jsparkSession, f'{self.catalog}{table}')

    def records(self, table, *columns):
        """The rows of `table` as Java records of these columns."""
        read = self.java.data.IcebergGenerics.read(self.load(table)).select(list(columns)).build()
        rows = read.iterator()
        while rows.hasNext():
            yield rows.next()

    def equality_deletes(self, keys, *columns, partition=None):
        """A file that deletes the rows with the values that `columns` have in the table `keys`.
        `partition` is a row of this table in the partition meant; without one the file is for all partitions."""
        schema = self.table.schema().select(list(columns))
        ids = self.spark._sc._gateway.new_array(self.spark._jvm.int, len(columns))
        for i, column in enumerate(columns):
            ids[i] = self.table.schema().findField(column).fieldId()
        factory = self.factory().equalityFieldIds(ids).equalityDeleteRowSchema(schema).build()
        writer = factory.newEqualityDeleteWriter(*self.place(partition))
        for record in self.records(keys, *columns):
            writer.write(record)
        writer.close()
        file = writer.toDeleteFile()
        assert file.content().toString() == 'EQUALITY_DELETES'
        return file

    def data(self, source, partition=None):
        """A file with the rows of the table `source`; `partition` as above."""
        writer = self.factory().build().newDataWriter(*self.place(partition))
        for record in self.records(source, '*'):
            writer.write(record)
        writer.close()
        return writer.toDataFile()

    def factory(self):
        parquet = self.java.FileFormat.PARQUET
        build = getattr(self.java.data, 'GenericFileWriterFactory$Builder')
        return build(self.table).dataFileFormat(parquet).deleteFileFormat(parquet).dataSchema(self.table.schema())

    def place(self, row):
        """(output file, spec, partition) of a file."""
        if row is None:
            spec = self.java.PartitionSpec.unpartitioned()
            specs = [one for one in self.table.specs().values() if one.isUnpartitioned()]
            return self.places.newOutputFile(), specs[0] if specs else spec, None
        spec = self.table.spec()
        key = self.java.PartitionKey(spec, self.table.schema())
        key.partition(self.java.data.InternalRecordWrapper(self.table.schema().asStruct()).wrap(row))
        return self.places.newOutputFile(spec, key), spec, key

    def commit(self, deletes=(), rows=()):
        self.change(self.table, deletes, rows)

    def commit_together(self, *changes):
        """A snapshot for each (deletes, rows), all in one commit."""
        transaction = self.table.newTransaction()
        for deletes, rows in changes:
            self.change(transaction, deletes, rows)
        transaction.commitTransaction()

    @staticmethod
    def change(of, deletes, rows):
        change = of.newRowDelta()
        for file in deletes:
            change = change.addDeletes(file)
        for file in rows:
            change = change.addRows(file)
        change.commit()
