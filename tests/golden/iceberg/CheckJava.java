package org.apache.iceberg;

import java.io.File;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.util.ByteBuffers;

/** Reads our files with the Java implementation, and finds what it finds in its own. */
public class CheckJava {
  /** Finds "s3://.../name" in a local folder. */
  record Folder(File folder) implements FileIO {
    @Override
    public InputFile newInputFile(String path) {
      return Files.localInput(new File(folder, new File(path).getName()));
    }

    @Override
    public OutputFile newOutputFile(String path) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void deleteFile(String path) {
      throw new UnsupportedOperationException();
    }
  }

  // MakeJava leaves the fixed partition value out.
  static String comparable(Object value) {
    return value.toString().replace("[0, 1, 2, 3]", "null");
  }

  static void same(Object found, Object wanted) {
    if (!comparable(found).equals(comparable(wanted))) {
      throw new AssertionError("found  " + found + "\nwanted " + wanted);
    }
  }

  static Object sorted(Map<Integer, ?> map) {
    return map == null ? "null" : new TreeMap<>(map);
  }

  static String text(ManifestEntry<?> entry) {
    ContentFile<?> file = entry.file();
    List<Object> out = new ArrayList<>();
    for (int i = 0; i < file.partition().size(); i++) {
      Object value = file.partition().get(i, Object.class);
      if (value instanceof ByteBuffer bytes) value = Arrays.toString(ByteBuffers.toByteArray(bytes));
      if (value instanceof byte[] bytes) value = Arrays.toString(bytes);
      out.add(value);
    }
    ByteBuffer key = file.keyMetadata();
    Collections.addAll(
        out, entry.status(), entry.snapshotId(), entry.dataSequenceNumber(),
        entry.fileSequenceNumber(), file.content(), file.location(), file.format(), file.specId(),
        file.recordCount(), file.fileSizeInBytes(), sorted(file.columnSizes()),
        sorted(file.valueCounts()), sorted(file.nullValueCounts()), sorted(file.nanValueCounts()),
        sorted(file.lowerBounds()), sorted(file.upperBounds()),
        key == null ? "null" : Arrays.toString(ByteBuffers.toByteArray(key)), file.splitOffsets(),
        file.equalityFieldIds(), file.sortOrderId());
    if (file instanceof DeleteFile delete) out.add(delete.referencedDataFile());
    return out.toString();
  }

  static List<String> entries(ManifestFile manifest, FileIO io) throws Exception {
    List<String> out = new ArrayList<>();
    if (manifest.content() == ManifestContent.DATA) {
      // The spec comes from the manifest's own header.
      try (ManifestReader<DataFile> reader = ManifestFiles.read(manifest, io, null)) {
        for (ManifestEntry<DataFile> entry : reader.entries()) out.add(text(entry));
      }
    } else {
      Map<Integer, PartitionSpec> specs = Map.of(0, PartitionSpec.unpartitioned());
      try (ManifestReader<DeleteFile> reader =
          ManifestFiles.readDeleteManifest(manifest, io, specs)) {
        for (ManifestEntry<DeleteFile> entry : reader.entries()) out.add(text(entry));
      }
    }
    return out;
  }

  static String counts(ManifestFile m) {
    return List.of(
            m.partitionSpecId(), m.content(), m.sequenceNumber(), m.minSequenceNumber(),
            m.snapshotId(), m.addedFilesCount(), m.existingFilesCount(), m.deletedFilesCount(),
            m.addedRowsCount(), m.existingRowsCount(), m.deletedRowsCount(), m.partitions())
        .toString();
  }

  public static void main(String[] args) throws Exception {
    FileIO io = new Folder(new File(args[0]));
    List<ManifestFile> ours = ManifestLists.read(io.newInputFile("written_v2_list.avro"));
    List<ManifestFile> theirs = ManifestLists.read(io.newInputFile("java_v2_list.avro"));
    same(ours.size(), theirs.size());
    for (int i = 0; i < ours.size(); i++) {
      same(counts(ours.get(i)), counts(theirs.get(i)));
      List<String> found = entries(ours.get(i), io);
      List<String> wanted = entries(theirs.get(i), io);
      for (int j = 0; j < wanted.size(); j++) {
        same(found.get(j), wanted.get(j));
      }
      same(found.size(), wanted.size());
    }
    System.out.println("Java reads in our files what it reads in its own");
  }
}
