package org.apache.iceberg;

import java.io.File;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.types.Types;

/** Writes manifests and lists with the Java implementation: see README.md. */
public class MakeJava {
  static final Schema SCHEMA =
      new Schema(
          2,
          Types.NestedField.optional(1, "id", Types.LongType.get()),
          Types.NestedField.optional(2, "name", Types.StringType.get()),
          Types.NestedField.optional(3, "ts", Types.TimestampType.withZone()),
          Types.NestedField.optional(4, "day", Types.DateType.get()),
          Types.NestedField.optional(5, "amount", Types.DecimalType.of(9, 2)),
          Types.NestedField.optional(6, "uid", Types.UUIDType.get()),
          Types.NestedField.optional(7, "code", Types.FixedType.ofLength(4)),
          Types.NestedField.optional(8, "raw", Types.BinaryType.get()),
          Types.NestedField.optional(9, "flag", Types.BooleanType.get()),
          Types.NestedField.optional(10, "ratio", Types.DoubleType.get()),
          Types.NestedField.optional(11, "gr\u00f6\u00dfe", Types.IntegerType.get()),
          Types.NestedField.optional(12, "clock", Types.TimeType.get()),
          Types.NestedField.optional(13, "single", Types.FloatType.get()));

  static final PartitionSpec SPEC =
      PartitionSpec.builderFor(SCHEMA)
          .withSpecId(3)
          .bucket("id", 16, "id_bucket")
          .truncate("name", 4, "name_trunc")
          .day("ts", "ts_day")
          .month("day", "day_month")
          .identity("amount")
          .identity("uid")
          .identity("code")
          .identity("raw")
          .identity("flag")
          .identity("ratio")
          .identity("gr\u00f6\u00dfe")
          .identity("clock")
          .identity("ts", "1st ts")
          .alwaysNull("single", "single")
          .build();

  static ByteBuffer bytes(int... values) {
    ByteBuffer out = ByteBuffer.allocate(values.length);
    for (int value : values) out.put((byte) value);
    return out.flip();
  }

  static ByteBuffer longBytes(int low) {
    return bytes(low, 0, 0, 0, 0, 0, 0, 0);
  }

  // iceberg-core 1.11.0 writes a fixed partition value with a length before it,
  // against its own Avro schema, so nobody else can read such a file.
  static final Object NO_FIXED = null;

  static PartitionData partition() {
    Object[] values = {
      5, "iceb", 17486, 574, new BigDecimal("14.20"),
      UUID.fromString("f79c3e09-677c-4bbd-a479-3f349cb785e7"), NO_FIXED, bytes(1, 255), true,
      1.5, -7, 81068000000L, 1510871468000000L, null
    };
    PartitionData out = new PartitionData(SPEC.partitionType());
    for (int i = 0; i < values.length; i++) out.set(i, values[i]);
    return out;
  }

  static DataFile full() {
    return DataFiles.builder(SPEC)
            .withPath("s3://lake/t/data/a.parquet")
            .withFormat(FileFormat.PARQUET)
            .withPartition(partition())
            .withFileSizeInBytes(4096)
            .withMetrics(
                new Metrics(
                    100L,
                    Map.of(1, 800L, 2, 1200L),
                    Map.of(1, 100L, 2, 100L, 10, 100L),
                    Map.of(1, 0L, 2, 7L),
                    Map.of(10, 2L),
                    Map.of(1, longBytes(1), 2, ByteBuffer.wrap("abc".getBytes())),
                    Map.of(1, longBytes(100), 2, ByteBuffer.wrap("xyz".getBytes()))))
            .withEncryptionKeyMetadata(bytes(0, 255))
            .withSplitOffsets(List.of(4L, 2048L))
            .build();
  }

  static DataFile plain(String path, FileFormat format, Long firstRowId) {
    DataFiles.Builder builder = DataFiles.builder(SPEC)
        .withPath(path)
        .withFormat(format)
        .withPartition(new PartitionData(SPEC.partitionType()))
        .withRecordCount(1)
        .withFileSizeInBytes(512);
    if (firstRowId != null) builder.withFirstRowId(firstRowId);
    return builder.build();
  }

  static ManifestFile data(File folder, int version) throws Exception {
    File file = new File(folder, "java_v" + version + ".avro");
    file.delete();
    ManifestWriter<DataFile> writer =
        ManifestFiles.write(version, SPEC, Files.localOutput(file), 9L);
    try (writer) {
      writer.add(full());
      Long firstRowId = version == 3 ? 1000L : null;
      writer.existing(
          plain("s3://lake/t/data/b.parquet", FileFormat.PARQUET, firstRowId), 7L, 3L, 2L);
      writer.delete(plain("s3://lake/t/data/c.parquet", FileFormat.ORC, null), 4L, 4L);
    }
    return writer.toManifestFile();
  }

  static ManifestFile deletes(File folder, int version) throws Exception {
    File file = new File(folder, "java_v" + version + "_deletes.avro");
    file.delete();
    PartitionSpec spec =
        PartitionSpec.builderFor(SCHEMA).withSpecId(0).build();
    ManifestWriter<DeleteFile> writer =
        ManifestFiles.writeDeleteManifest(version, spec, Files.localOutput(file), 9L);
    try (writer) {
      FileMetadata.Builder position =
          FileMetadata.deleteFileBuilder(spec)
              .ofPositionDeletes()
              .withPath("s3://lake/t/data/d." + (version == 3 ? "puffin" : "parquet"))
              .withFormat(version == 3 ? FileFormat.PUFFIN : FileFormat.PARQUET)
              .withRecordCount(2)
              .withFileSizeInBytes(100)
              .withReferencedDataFile("s3://lake/t/data/a.parquet");
      if (version == 3) position.withContentOffset(4).withContentSizeInBytes(40);
      writer.add(position.build());
      writer.add(
          FileMetadata.deleteFileBuilder(spec)
              .ofEqualityDeletes(1, 2)
              .withPath("s3://lake/t/data/e.parquet")
              .withFormat(FileFormat.PARQUET)
              .withRecordCount(3)
              .withFileSizeInBytes(200)
              .build());
    }
    return writer.toManifestFile();
  }

  // The path in the list is one that does not depend on the machine.
  static ManifestFile moved(ManifestFile manifest) throws Exception {
    String name = new File(manifest.path()).getName();
    GenericManifestFile copy = (GenericManifestFile) manifest.copy();
    copy.set(0, "s3://lake/t/metadata/" + name);
    return copy;
  }

  public static void main(String[] args) throws Exception {
    File folder = new File(args[0]);
    for (int version = 1; version <= 3; version++) {
      File file = new File(folder, "java_v" + version + "_list.avro");
      file.delete();
      OutputFile out = Files.localOutput(file);
      try (ManifestListWriter list =
          ManifestLists.write(version, out, plaintext(), 9L, 7L, version == 1 ? 0L : 5L, version == 3 ? 1000L : null)) {
        list.add(moved(data(folder, version)));
        if (version > 1) list.add(moved(deletes(folder, version)));
      }
    }
  }

  static org.apache.iceberg.encryption.EncryptionManager plaintext() {
    return org.apache.iceberg.encryption.PlaintextEncryptionManager.instance();
  }
}
