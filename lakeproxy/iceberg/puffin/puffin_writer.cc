#include "lakeproxy/iceberg/puffin/puffin_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/core/text.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/puffin/deletion_vector.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using base::fail;
using base::puffin::kDeletionVectorType;
using base::puffin::kMostPositions;
using base::puffin::write_deletion_vector;

// Of the column _pos. Source: Iceberg table specification, "Reserved Field IDs".
constexpr std::int64_t kRowPositionId = 2'147'483'645;
// Snapshot and sequence number, as the format rules for this type of blob.
constexpr std::int64_t kInherited = -1;
constexpr const char* kWriter = "lakeproxy";

base::Status check(const DeletionVector& vector) {
  const auto& positions = vector.positions;
  if (!base::is_utf8(vector.data_file)) {
    return fail(ErrorKind::kInvalid, "a data file's location is not UTF-8");
  }
  if (positions.empty() || positions.front() < 0 ||
      std::ranges::adjacent_find(positions, std::ranges::greater_equal{}) != positions.end()) {
    return fail(ErrorKind::kInvalid,
                "deleted positions are missing, negative or not ascending: " + vector.data_file);
  }
  if (positions.size() > kMostPositions) {
    return fail(ErrorKind::kTooLarge, "too many deleted positions: " + vector.data_file);
  }
  return {};
}

base::json::Object describe(const DeletionVector& vector, const BlobPlace& place) {
  base::json::Object properties;
  properties["referenced-data-file"] = vector.data_file;
  properties["cardinality"] = fmt::format("{}", vector.positions.size());
  base::json::Object blob;
  blob["type"] = std::string(kDeletionVectorType);
  blob["fields"] = base::json::Array{kRowPositionId};
  blob["snapshot-id"] = kInherited;
  blob["sequence-number"] = kInherited;
  blob["offset"] = place.offset;
  blob["length"] = place.length;
  blob["properties"] = std::move(properties);
  return blob;
}

// Payload between magics, its size, no flags, and the magic that ends the file.
std::string footer(base::json::Array blobs) {
  base::json::Object properties;
  properties["created-by"] = kWriter;
  base::json::Object payload;
  payload["blobs"] = std::move(blobs);
  payload["properties"] = std::move(properties);
  std::string text = base::json::write(payload);
  std::string out = std::string(kPuffinMagic) + text;
  for (int shift = 0; shift < 32; shift += 8) {
    out += static_cast<char>(text.size() >> shift & 0xff);
  }
  return out + std::string(4, '\0') + std::string(kPuffinMagic);
}

}  // namespace

base::Result<PuffinFile> write_puffin(const std::vector<DeletionVector>& vectors) {
  if (vectors.empty()) return fail(ErrorKind::kInvalid, "no deletion vector to write");
  PuffinFile file{.bytes = std::string(kPuffinMagic), .blobs = {}};
  base::json::Array blobs;
  std::set<std::string_view> named;
  for (const auto& vector : vectors) {
    RETURN_IF_ERROR(check(vector));
    if (!named.insert(vector.data_file).second) {
      return fail(ErrorKind::kInvalid, "two deletion vectors of one file: " + vector.data_file);
    }
    std::string blob = write_deletion_vector(vector.positions);
    file.blobs.push_back({.offset = static_cast<std::int64_t>(file.bytes.size()),
                          .length = static_cast<std::int64_t>(blob.size())});
    blobs.emplace_back(describe(vector, file.blobs.back()));
    file.bytes += blob;
  }
  file.bytes += footer(std::move(blobs));
  return file;
}

}  // namespace lake::materialize
