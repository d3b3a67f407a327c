#include "lakeproxy/iceberg/puffin/deletion_vector.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/core/text.h"
#include "lakeproxy/iceberg/puffin/puffin_footer.h"

namespace lake::materialize {
namespace {

using base::ErrorKind;
using base::fail;
using base::puffin::kDeletionVectorType;
using base::puffin::read_deletion_vector;

base::Error corrupt(const char* message) { return fail(ErrorKind::kCorrupt, message); }

using Positions = std::vector<std::int64_t>;

// A deletion vector that a footer lists.
struct ListedVector {
  std::optional<std::int64_t> snapshot;
  std::string_view blob;
};

base::Result<std::optional<std::int64_t>> snapshot_of(const base::json::Object& blob) {
  const auto* properties = blob.if_contains("properties");
  const auto* object = properties == nullptr ? nullptr : properties->if_object();
  const auto* snapshot = object == nullptr ? nullptr : object->if_contains("ducklake-snapshot-id");
  if (snapshot == nullptr) return std::nullopt;
  auto id = snapshot->is_string() ? base::parse_int64(std::string_view(snapshot->get_string()))
                                  : std::nullopt;
  if (!id || *id < 0) return corrupt("a deletion vector's snapshot is no number");
  return id;
}

// Nothing for a blob of another type.
base::Result<std::optional<ListedVector>> listed_vector(std::string_view file,
                                                        const base::json::Value& value,
                                                        std::uint64_t& bytes_left) {
  const auto* blob = value.if_object();
  if (blob == nullptr) return corrupt("a Puffin footer's blob is not an object");
  const auto* type = blob->if_contains("type");
  if (type == nullptr || !type->is_string()) return corrupt("a Puffin footer's blob has no type");
  if (std::string_view(type->get_string()) != kDeletionVectorType) return std::nullopt;
  const auto* codec = blob->if_contains("compression-codec");
  if (codec != nullptr && !codec->is_null()) {
    return fail(ErrorKind::kUnsupported, "a deletion vector is compressed");
  }
  ListedVector vector;
  ASSIGN_OR_RETURN(vector.snapshot, snapshot_of(*blob));
  auto place = place_of_blob(*blob, file.size());
  if (!place) return corrupt("a Puffin footer's blob lies outside the file");
  const auto offset = static_cast<std::size_t>(place->offset);
  const auto length = static_cast<std::size_t>(place->length);
  // Or one vector, listed many times over, would keep us busy for long.
  if (length > bytes_left) return corrupt("a Puffin footer's blobs overlap");
  bytes_left -= length;
  vector.blob = file.substr(offset, length);
  return vector;
}

base::Result<std::vector<ListedVector>> listed_vectors(std::string_view bytes) {
  ASSIGN_OR_RETURN(auto blobs, read_puffin_footer(bytes));
  std::vector<ListedVector> vectors;
  std::uint64_t bytes_left = bytes.size();
  for (const auto& blob : blobs) {
    ASSIGN_OR_RETURN(auto vector, listed_vector(bytes, blob, bytes_left));
    if (vector) vectors.push_back(*vector);
  }
  std::ranges::sort(vectors, {}, [](const ListedVector& vector) {
    return std::pair(vector.snapshot, vector.blob.size());
  });
  if (!vectors.empty() &&
      vectors.front().snapshot.has_value() != vectors.back().snapshot.has_value()) {
    return corrupt("some deletion vectors of a file have a snapshot and some have none");
  }
  return vectors;
}

// Of no snapshot: all of them count together.
base::Result<Positions> unite(const std::vector<ListedVector>& vectors, std::size_t limit) {
  Positions positions;
  for (const ListedVector& vector : vectors) {
    ASSIGN_OR_RETURN(auto more, read_deletion_vector(vector.blob, limit - positions.size()));
    positions.insert(positions.end(), more.begin(), more.end());
  }
  std::ranges::sort(positions);
  positions.erase(std::ranges::unique(positions).begin(), positions.end());
  return positions;
}

// What `after` has more than `before`, which it must hold.
base::Result<Positions> added(const Positions& before, const Positions& after) {
  if (!std::ranges::includes(after, before)) {
    return corrupt("a deletion vector lacks positions of an older one");
  }
  Positions more;
  std::ranges::set_difference(after, before, std::back_inserter(more));
  return more;
}

// By rising snapshots; each holds the one before it. A run is a few bytes however long it is,
// so the work is bounded by what all of them hold.
base::Result<std::vector<VectorPosition>> by_snapshot(const std::vector<ListedVector>& vectors,
                                                      std::size_t limit) {
  constexpr std::size_t kVectorsOfMostPositions = 16;
  std::size_t left = limit * kVectorsOfMostPositions;
  std::vector<VectorPosition> result;
  Positions before;
  for (const ListedVector& vector : vectors) {
    ASSIGN_OR_RETURN(auto positions, read_deletion_vector(vector.blob, std::min(limit, left)));
    left -= positions.size();
    ASSIGN_OR_RETURN(auto more, added(before, positions));
    for (std::int64_t position : more) result.push_back({position, vector.snapshot});
    before = std::move(positions);
  }
  std::ranges::sort(result, {}, &VectorPosition::position);
  return result;
}

std::vector<VectorPosition> without_snapshots(const Positions& positions) {
  std::vector<VectorPosition> result;
  result.reserve(positions.size());
  for (std::int64_t position : positions) result.push_back({position, std::nullopt});
  return result;
}

}  // namespace

base::Result<std::vector<VectorPosition>> read_deletion_vectors(std::string_view bytes,
                                                                std::size_t limit) {
  // A bare vector begins with its length, which "PFA1" would give as 1.3 GB.
  if (!bytes.starts_with(kPuffinMagic)) {
    ASSIGN_OR_RETURN(auto positions, read_deletion_vector(bytes, limit));
    return without_snapshots(positions);
  }
  ASSIGN_OR_RETURN(auto vectors, listed_vectors(bytes));
  if (!vectors.empty() && vectors.front().snapshot) return by_snapshot(vectors, limit);
  ASSIGN_OR_RETURN(auto positions, unite(vectors, limit));
  return without_snapshots(positions);
}

}  // namespace lake::materialize
