import java.io.File;
import org.apache.iceberg.Files;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetWriter;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.types.Types;

/** Writes delete files with the Java implementation: see README.md. */
public class MakeDeletes {
  static final Schema ROWS =
      new Schema(
          Types.NestedField.required(1, "id", Types.LongType.get()),
          Types.NestedField.optional(2, "name", Types.StringType.get()));

  static Record row(long id, String name) {
    Record row = GenericRecord.create(ROWS);
    row.setField("id", id);
    row.setField("name", name);
    return row;
  }

  static void positions(File file) throws Exception {
    PositionDeleteWriter<Record> writer =
        Parquet.writeDeletes(Files.localOutput(file))
            .overwrite()
            .withSpec(PartitionSpec.unpartitioned())
            .buildPositionWriter();
    try (writer) {
      PositionDelete<Record> delete = PositionDelete.create();
      writer.write(delete.set("s3://lake/t/a.parquet", 0L));
      writer.write(delete.set("s3://lake/t/a.parquet", 7L));
      writer.write(delete.set("s3://lake/t/b.parquet", 3L));
    }
  }

  static void equality(File file) throws Exception {
    EqualityDeleteWriter<Record> writer =
        Parquet.writeDeletes(Files.localOutput(file))
            .overwrite()
            .withSpec(PartitionSpec.unpartitioned())
            .rowSchema(ROWS)
            .equalityFieldIds(2)
            .createWriterFunc(type -> GenericParquetWriter.create(ROWS, type))
            .buildEqualityWriter();
    try (writer) {
      writer.write(row(100, "b"));
      writer.write(row(200, null));
    }
  }

  public static void main(String[] args) throws Exception {
    positions(new File(args[0], "java_positions.parquet"));
    equality(new File(args[0], "java_equality.parquet"));
  }
}
