import java.nio.file.DirectoryStream;
import java.nio.file.Path;
import java.nio.ByteBuffer;
import java.math.BigDecimal;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.iceberg.*;
import org.apache.iceberg.types.*;

/**
 * What Iceberg's reference implementation makes of hand-written inputs: each table's metadata,
 * printed again; a schema with fresh ids; the text of types and of single values.
 */
public class MakeGolden {
  public static void main(String[] args) throws Exception {
    Path in = Path.of(args[0]);
    Path out = Path.of(args[1]);
    try (DirectoryStream<Path> files = java.nio.file.Files.newDirectoryStream(in, "*.json")) {
      for (Path file : files) {
        TableMetadata metadata = TableMetadataParser.fromJson("s3://lake/meta.json", java.nio.file.Files.readString(file));
        java.nio.file.Files.writeString(out.resolve(file.getFileName()), TableMetadataParser.toJson(metadata));
      }
    }
    Schema schema = SchemaParser.fromJson(java.nio.file.Files.readString(in.resolve("fresh_ids.schema")));
    AtomicInteger last = new AtomicInteger();
    Schema fresh = TypeUtil.assignFreshIds(schema.schemaId(), schema, last::incrementAndGet);
    java.nio.file.Files.writeString(out.resolve("fresh_ids.schema"), SchemaParser.toJson(fresh));
    StringBuilder text = new StringBuilder();
    Object[][] literals = {
      {"boolean", true}, {"boolean", false},
      {"int", 0}, {"int", Integer.MIN_VALUE}, {"int", Integer.MAX_VALUE},
      {"long", Long.MIN_VALUE}, {"long", Long.MAX_VALUE},
      {"float", 1.1f}, {"float", 1.0f}, {"float", 3.4028235e38f}, {"float", 1.4e-45f},
      {"double", 1.1}, {"double", -0.0}, {"double", 1.7976931348623157e308}, {"double", 4.9e-324},
      {"date", 0}, {"date", 17486}, {"date", -1}, {"date", -719529}, {"date", Integer.MAX_VALUE}, {"date", Integer.MIN_VALUE},
      {"time", 0L}, {"time", 81068123456L}, {"time", 81068100000L}, {"time", 86399999999L},
      {"timestamp", 0L}, {"timestamp", 1510871468123456L}, {"timestamp", -1L}, {"timestamp", 1510871468000000L},
      {"timestamp", Long.MAX_VALUE}, {"timestamp", Long.MIN_VALUE},
      {"timestamptz", 0L}, {"timestamptz", 1510871468123456L}, {"timestamptz", -1L},
      {"timestamp_ns", 1510871468123456789L}, {"timestamp_ns", -1L}, {"timestamp_ns", Long.MAX_VALUE}, {"timestamp_ns", Long.MIN_VALUE},
      {"timestamptz_ns", 1510871468123456789L}, {"timestamptz_ns", 1510871468120000000L},
      {"string", ""}, {"string", "caf\u00e9 \"\\ \n \u0001 \ud83d\ude00 </script>"},
      {"uuid", UUID.fromString("f79c3e09-677c-4bbd-a479-3f349cb785e7")},
      {"fixed[4]", ByteBuffer.wrap(new byte[]{0, 1, 2, (byte) 255})},
      {"binary", ByteBuffer.wrap(new byte[]{0, 1, 2, (byte) 0xab, (byte) 255})}, {"binary", ByteBuffer.wrap(new byte[]{})},
      {"decimal(9, 2)", new BigDecimal("14.20")}, {"decimal(9, 2)", new BigDecimal("-0.05")}, {"decimal(9, 2)", new BigDecimal("0.00")},
      {"decimal(38, 0)", new BigDecimal("99999999999999999999999999999999999999")},
      {"decimal(38, 38)", new BigDecimal("-0.99999999999999999999999999999999999999")},
    };
    for (Object[] pair : literals) {
      Type type = Types.fromTypeName((String) pair[0]);
      text.append(type).append('\t').append(SingleValueParser.toJson(type, pair[1])).append('\n');
    }
    java.nio.file.Files.writeString(out.resolve("literals.tsv"), text.toString());
    StringBuilder types = new StringBuilder();
    String[] names = {"boolean","int","long","float","double","date","time","timestamp","timestamptz","timestamp_ns","timestamptz_ns",
      "string","uuid","binary","unknown","variant","fixed[1]","fixed[ 16 ]","decimal(9,2)","decimal( 38 , 38 )","decimal(1, 0)","geometry","geometry(srid:3857)","geometry( EPSG:4326 )",
      "geography","geography(srid:4269)","geography(srid:4269, karney)","geography(srid:4269,spherical)", "DECIMAL(9,2)", "Long", "geometry(OGC:CRS84)", "geography(OGC:CRS84, spherical)", "decimal(39, 2)", "decimal(2, 3)", "decimal(0, 0)", "fixed[0]", "int ", "", "fixed[-1]", "geometry()", "geography(, karney)", "geography(a, wrong)"};
    for (String name : names) {
      String result;
      try { result = Types.fromTypeName(name).toString(); } catch (RuntimeException e) { result = "! " + e.getMessage(); }
      types.append(name).append('\t').append(result).append('\n');
    }
    java.nio.file.Files.writeString(out.resolve("types.tsv"), types.toString());
  }
}
