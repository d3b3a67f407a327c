#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/runtime/gather.h"
#include "lakeproxy/iceberg/scan/task_json.h"
#include "lakeproxy/planning/scan_plan.h"

namespace lake::planning {
namespace {

using base::Result;
using materialize::Entries;

constexpr base::AtOnce kReadsAtOnce{16};
// What is written on the event loop: a millisecond or two.
constexpr std::size_t kFewFiles = 200;

struct Range {
  std::size_t begin;
  std::size_t end;
};

Range range_of(const ScanPlan& plan, std::size_t page) {
  const std::size_t begin = std::min(plan.files.size(), page * plan.page_size);
  return {begin, std::min(plan.files.size(), begin + plan.page_size)};
}

/// Of the manifests that a page names.
using EntriesOf = std::map<std::uint32_t, Entries>;

// Writes one page. Plain work on values, for any thread.
class Page {
 public:
  Page(const ScanPlan& plan, Range range, const EntriesOf& entries)
      : plan_(plan), range_(range), entries_(entries) {}
  std::string write();

 private:
  [[nodiscard]] const model::DataFile& file_at(FilePlace place) const {
    return (*entries_.at(place.manifest))[place.entry].data_file;
  }
  void append(std::string& out, FilePlace place) const;
  void append_references(std::string& out, const PlannedFile& file);
  const std::string& residual_of(FilePlace place);

  const ScanPlan& plan_;
  Range range_;
  const EntriesOf& entries_;
  std::map<std::uint32_t, std::size_t> numbers_;  ///< Of the page's delete files.
  std::string deletes_;
  // Files of one partition mostly stand together.
  std::optional<std::pair<std::int32_t, model::PartitionTuple>> last_partition_;
  std::string last_residual_;
};

void Page::append(std::string& out, FilePlace place) const {
  const std::int32_t spec_id = plan_.manifests[place.manifest].row.partition_spec_id;
  const SpecPlan& spec = plan_.specs.find(spec_id)->second;
  scan::append_file(out, file_at(place),
                    {spec_id, plan_.row_ids, &spec.partition_types, &plan_.stats});
}

void Page::append_references(std::string& out, const PlannedFile& file) {
  if (file.deletes_begin == file.deletes_end) return;
  out += R"(,"delete-file-references":[)";
  for (std::uint32_t i = file.deletes_begin; i < file.deletes_end; ++i) {
    const std::uint32_t reference = plan_.delete_references[i];
    auto [number, is_new] = numbers_.try_emplace(reference, numbers_.size());
    if (is_new) {
      if (!deletes_.empty()) deletes_ += ',';
      append(deletes_, plan_.deletes[reference]);
    }
    if (i > file.deletes_begin) out += ',';
    out += std::to_string(number->second);
  }
  out += ']';
}

const std::string& Page::residual_of(FilePlace place) {
  const std::int32_t spec_id = plan_.manifests[place.manifest].row.partition_spec_id;
  const model::PartitionTuple& partition = file_at(place).partition;
  if (!last_partition_ || last_partition_->first != spec_id ||
      last_partition_->second != partition) {
    last_partition_.emplace(spec_id, partition);
    last_residual_ = plan_.specs.find(spec_id)->second.filter.residual(partition);
  }
  return last_residual_;
}

std::string Page::write() {
  std::string tasks;
  for (std::size_t i = range_.begin; i < range_.end; ++i) {
    const PlannedFile& file = plan_.files[i];
    tasks += tasks.empty() ? R"({"data-file":)" : R"(,{"data-file":)";
    append(tasks, file.place);
    append_references(tasks, file);
    tasks += R"(,"residual-filter":)";
    tasks += residual_of(file.place);
    tasks += '}';
  }
  return R"("delete-files":[)" + deletes_ + R"(],"file-scan-tasks":[)" + tasks + "]";
}

std::vector<std::uint32_t> manifests_of(const ScanPlan& plan, Range range) {
  std::set<std::uint32_t> wanted;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const PlannedFile& file = plan.files[i];
    wanted.insert(file.place.manifest);
    for (std::uint32_t d = file.deletes_begin; d < file.deletes_end; ++d) {
      wanted.insert(plan.deletes[plan.delete_references[d]].manifest);
    }
  }
  return {wanted.begin(), wanted.end()};
}

}  // namespace

base::Task<Result<std::string>> page_json(base::RequestContext context,
                                          publish::ManifestStore* manifests, ScanPlanPtr plan,
                                          std::size_t page) {
  const Range range = range_of(*plan, page);
  const auto wanted = manifests_of(*plan, range);
  auto read = [&](std::size_t i) {
    return manifests->entries(context, plan->manifests[wanted[i]].row.manifest_path);
  };
  EntriesOf entries;
  auto keep = [&](std::size_t i, Entries some) {
    entries.emplace(wanted[i], std::move(some));
    return base::Status{};
  };
  CO_RETURN_IF_ERROR(co_await base::gather_few(kReadsAtOnce, wanted.size(), read, keep));
  auto write = [plan, range, entries = std::move(entries)] {
    return Page(*plan, range, entries).write();
  };
  if (range.end - range.begin <= kFewFiles) co_return write();
  co_return co_await manifests->decoder().run(std::move(write));
}

}  // namespace lake::planning
