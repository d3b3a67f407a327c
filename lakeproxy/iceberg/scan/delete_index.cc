#include "lakeproxy/iceberg/scan/delete_index.h"

#include <algorithm>

#include "lakeproxy/iceberg/value/single_value.h"

namespace lake::scan {
namespace {

// The reserved column of position deletes that holds the data file's path.
constexpr model::FieldId kFilePath = 2147483546;

// Equal for equal tuples of one spec, and for no others.
std::string partition_key(const ListedFile& file) {
  std::string key = std::to_string(file.spec_id);
  for (const auto& value : file.file->partition) {
    if (!value) {
      key += ":-";
      continue;
    }
    const std::string bytes = materialize::encode_single_value(*value);
    key += ':' + std::to_string(bytes.size()) + '=';
    key += bytes;
  }
  return key;
}

}  // namespace

const std::string* referenced_file(const model::DataFile& deletes) {
  if (deletes.referenced_data_file) return &*deletes.referenced_data_file;
  auto found = deletes.metrics.find(kFilePath);
  if (found == deletes.metrics.end()) return nullptr;
  const model::ColumnMetrics& metrics = found->second;
  // An upper bound that was shortened was raised, too, so equal ones are the whole path.
  if (!metrics.lower_bound || metrics.lower_bound != metrics.upper_bound) return nullptr;
  return &*metrics.lower_bound;
}

void DeleteIndex::add(const ListedFile& deletes, bool is_unpartitioned) {
  const Delete added{deletes.sequence_number, count_++};
  const model::DataFile& file = *deletes.file;
  if (file.content == model::FileContent::kEqualityDeletes) {
    (is_unpartitioned ? everywhere_ : equality_[partition_key(deletes)]).push_back(added);
  } else if (file.file_format == model::FileFormat::kPuffin && file.referenced_data_file) {
    vectors_[*file.referenced_data_file].push_back(added);
  } else if (const std::string* path = referenced_file(file)) {
    positions_of_file_[*path].push_back(added);
  } else {
    positions_[partition_key(deletes)].push_back(added);
  }
}

std::vector<std::uint32_t> DeleteIndex::find(const ListedFile& data) const {
  std::vector<std::uint32_t> found;
  // Position deletes count for rows of their own commit, too; equality deletes do not.
  auto take = [&](const Deletes& deletes, std::int64_t least) {
    for (const Delete& one : deletes) {
      if (one.sequence_number >= least) found.push_back(one.place);
    }
  };
  auto take_from = [&](const ByKey& index, const std::string& key, std::int64_t least) {
    auto deletes = index.find(key);
    if (deletes != index.end()) take(deletes->second, least);
  };
  const std::int64_t own = data.sequence_number;
  const std::string& path = data.file->file_path;
  take(everywhere_, own + 1);
  const bool asks_partition = !equality_.empty() || !positions_.empty();
  const std::string partition = asks_partition ? partition_key(data) : "";
  take_from(equality_, partition, own + 1);
  const std::size_t before = found.size();
  take_from(vectors_, path, own);
  if (found.size() == before) {
    take_from(positions_, partition, own);
    take_from(positions_of_file_, path, own);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace lake::scan
