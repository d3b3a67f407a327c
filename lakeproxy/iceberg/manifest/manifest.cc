#include "lakeproxy/iceberg/manifest/manifest.h"

#include <algorithm>
#include <utility>

namespace lake::model {
namespace {

bool equals_in_any_case(std::string_view text, std::string_view upper) {
  return std::ranges::equal(text, upper, [](char given, char wanted) {
    return (given >= 'a' && given <= 'z' ? given - 'a' + 'A' : given) == wanted;
  });
}

}  // namespace

std::string_view to_string(FileFormat format) {
  switch (format) {
    case FileFormat::kParquet: return "PARQUET";
    case FileFormat::kAvro: return "AVRO";
    case FileFormat::kOrc: return "ORC";
    case FileFormat::kPuffin: return "PUFFIN";
  }
  std::unreachable();
}

// Writers disagree on the case: manifests hold "PARQUET", some hold "parquet".
std::optional<FileFormat> parse_file_format(std::string_view text) {
  for (const FileFormat format :
       {FileFormat::kParquet, FileFormat::kAvro, FileFormat::kOrc, FileFormat::kPuffin}) {
    if (equals_in_any_case(text, to_string(format))) return format;
  }
  return std::nullopt;
}

}  // namespace lake::model
