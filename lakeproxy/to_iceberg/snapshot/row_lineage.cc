#include "lakeproxy/to_iceberg/snapshot/row_lineage.h"

#include <algorithm>

namespace lake::materialize {

void set_row_ids(const model::Snapshot* parent, const std::vector<FileView>& added_data,
                 model::Snapshot& snapshot) {
  std::int64_t first = 0;
  if (parent != nullptr) first = parent->first_row_id.value_or(0) + parent->added_rows.value_or(0);
  std::int64_t end = first;
  for (const FileView& view : added_data) {
    const model::DataFile& file = view.file;
    if (view.row_id_end) {
      end = std::max(end, *view.row_id_end);
    } else if (file.first_row_id) {
      end = std::max(end, *file.first_row_id + file.record_count);
    }
  }
  snapshot.first_row_id = first;
  snapshot.added_rows = end - first;
}

std::int64_t lowest_row_id(const std::vector<model::ManifestEntry>& entries,
                           const model::Snapshot& snapshot) {
  std::int64_t lowest = snapshot.first_row_id.value_or(0);
  for (const model::ManifestEntry& entry : entries) {
    lowest = std::min(lowest, entry.data_file.first_row_id.value_or(lowest));
  }
  return lowest;
}

}  // namespace lake::materialize
