package org.apache.iceberg.deletes;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.Files;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.io.IOUtil;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.iceberg.puffin.BlobMetadata;
import org.apache.iceberg.puffin.Puffin;
import org.apache.iceberg.puffin.PuffinReader;

/** Reads our deletion vectors with the Java implementation, by footer and by place. */
public class CheckVectors {
  static List<Long> values(PositionDeleteIndex index) {
    List<Long> out = new ArrayList<>();
    index.forEach(out::add);
    return out;
  }

  static PositionDeleteIndex read(File file, BlobMetadata blob) throws Exception {
    DeleteFile delete =
        FileMetadata.deleteFileBuilder(PartitionSpec.unpartitioned())
            .ofPositionDeletes()
            .withFormat(FileFormat.PUFFIN)
            .withPath(file.getPath())
            .withFileSizeInBytes(file.length())
            .withReferencedDataFile(blob.properties().get("referenced-data-file"))
            .withContentOffset(blob.offset())
            .withContentSizeInBytes(blob.length())
            .withRecordCount(Long.parseLong(blob.properties().get("cardinality")))
            .build();
    byte[] bytes = new byte[(int) blob.length()];
    try (SeekableInputStream in = Files.localInput(file).newStream()) {
      in.seek(blob.offset());
      IOUtil.readFully(in, bytes, 0, bytes.length);
    }
    return PositionDeleteIndex.deserialize(bytes, delete);
  }

  public static void main(String[] args) throws Exception {
    File file = new File(args[0], "written_vectors.puffin");
    try (PuffinReader reader = Puffin.read(Files.localInput(file)).build()) {
      List<BlobMetadata> blobs = reader.fileMetadata().blobs();
      for (int i = 0; i < blobs.size(); ++i) {
        BlobMetadata blob = blobs.get(i);
        if (!blob.type().equals("deletion-vector-v1")
            || !blob.inputFields().equals(MakeVectors.blob(i).inputFields())
            || !blob.properties().equals(MakeVectors.blob(i).properties())
            || !values(read(file, blob)).equals(values(MakeVectors.positions(i)))) {
          throw new IllegalStateException("blob " + i + " differs");
        }
      }
      System.out.println(blobs.size() + " vectors are the same");
    }
  }
}
