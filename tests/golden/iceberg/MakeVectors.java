package org.apache.iceberg.deletes;

import java.io.File;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Files;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.puffin.Blob;
import org.apache.iceberg.puffin.Puffin;
import org.apache.iceberg.puffin.PuffinWriter;

/** Writes deletion vectors with the Java implementation: see README.md. */
public class MakeVectors {
  /** The positions that sample_vectors.h has, too. */
  static BitmapPositionDeleteIndex positions(int file) {
    BitmapPositionDeleteIndex index = new BitmapPositionDeleteIndex();
    switch (file) {
      case 0 -> {
        index.delete(1);
        index.delete(7);
      }
      case 1 -> {
        index.delete(0, 70_000); // a full container of runs and a part of one
        for (long i = 131_072; i < 151_072; i += 2) index.delete(i); // a bit set
        for (long i = 200_000; i < 203_000; i += 3) index.delete(i); // an array
        index.delete(300_000); // so many containers that their places are listed
        index.delete(400_000);
      }
      default -> {
        index.delete(5);
        index.delete((1L << 32) + 3);
      }
    }
    return index;
  }

  static Blob blob(int file) {
    BitmapPositionDeleteIndex index = positions(file);
    return new Blob(
        "deletion-vector-v1",
        List.of(MetadataColumns.ROW_POSITION.fieldId()),
        -1,
        -1,
        index.serialize(),
        null,
        Map.of(
            "referenced-data-file", "s3://lake/data/" + file + ".parquet",
            "cardinality", String.valueOf(index.cardinality())));
  }

  public static void main(String[] args) throws Exception {
    try (PuffinWriter writer =
        Puffin.write(Files.localOutput(new File(args[0], "java_vectors.puffin")))
            .createdBy("MakeVectors")
            .build()) {
      for (int file = 0; file < 3; ++file) writer.write(blob(file));
    }
  }
}
