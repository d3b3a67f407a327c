#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/engine/deletes/delete_files.h"
#include "lakeproxy/engine/deletes/position_deletes.h"
#include "lakeproxy/engine/equality/candidate_file.h"
#include "lakeproxy/engine/equality/equality_match.h"
#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/files/transfer.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::RequestContext;
using base::Result;
using base::Task;
using storage::ObjectKey;
using Indexes = std::vector<std::size_t>;

/// Searched by one statement, which builds its table of keys once.
constexpr std::size_t kFilesInBatch = 8;
constexpr std::size_t kMostCandidates = 1'000'000;

// Delete files that are read as one, and the candidates that all apply to.
struct Group {
  std::vector<DeleteColumn> columns;
  std::vector<LocalFile> files;
  Indexes candidates;
  DeleteKeys keys;
};

struct Found {
  std::size_t candidate;
  Positions positions;
};

base::Status check_search(const EqualitySearch& search) {
  RETURN_IF_ERROR(check_sizes(search.deletes));
  if (search.candidates.size() > kMostCandidates) {
    return fail(ErrorKind::kTooLarge, "more data files than are searched at once");
  }
  for (const Candidate& candidate : search.candidates) {
    for (std::size_t index : candidate.deletes) {
      if (index >= search.deletes.size()) {
        return fail(ErrorKind::kInternal, "a candidate names a delete file that is not there");
      }
    }
  }
  return {};
}

Result<std::vector<DeleteColumn>> columns_of(const EqualitySearch& search, std::size_t index) {
  const model::DataFile& file = search.deletes[index];
  if (auto checked = check_delete_file(file, model::FileContent::kEqualityDeletes); !checked) {
    return as_given(std::move(checked).error(), file.file_path);
  }
  auto columns = delete_columns(search.schema, file.equality_ids);
  if (!columns) return as_given(std::move(columns).error(), file.file_path);
  return columns;
}

LocalFile local_delete(const EqualitySearch& search, const ScratchFolder& scratch,
                       std::size_t index) {
  return {scratch.file(fmt::format("deletes-{}.parquet", index)), search.deletes[index].file_path};
}

// The candidates of each set of delete files with equal columns.
std::map<Indexes, Indexes> candidates_of_sets(const EqualitySearch& search) {
  std::map<Indexes, Indexes> candidates_of;
  for (std::size_t c = 0; c < search.candidates.size(); ++c) {
    std::map<std::vector<model::FieldId>, Indexes> by_columns;
    for (std::size_t d : search.candidates[c].deletes) {
      std::vector<model::FieldId> ids = search.deletes[d].equality_ids;
      std::ranges::sort(ids);
      by_columns[std::move(ids)].push_back(d);
    }
    for (auto& [ids, deletes] : by_columns) candidates_of[std::move(deletes)].push_back(c);
  }
  return candidates_of;
}

Result<std::vector<Group>> make_groups(const EqualitySearch& search, const ScratchFolder& scratch) {
  std::vector<std::vector<DeleteColumn>> columns;
  for (std::size_t d = 0; d < search.deletes.size(); ++d) {
    ASSIGN_OR_RETURN(auto of_file, columns_of(search, d));
    columns.push_back(std::move(of_file));
  }
  std::vector<Group> groups;
  for (const auto& [deletes, candidates] : candidates_of_sets(search)) {
    Group group{
        .columns = columns[deletes.front()], .files = {}, .candidates = candidates, .keys = {}};
    for (std::size_t d : deletes) group.files.push_back(local_delete(search, scratch, d));
    groups.push_back(std::move(group));
  }
  return groups;
}

Task<Result<int>> bring_delete(Means means, RequestContext context, const EqualitySearch* search,
                               std::size_t index, LocalFile to) {
  CO_ASSIGN_OR_RETURN(ObjectKey key, key_below(*means.store, search->prefix, to.location));
  auto brought = co_await bring_whole(means, context, std::move(key), search->deletes[index],
                                      std::move(to.path));
  if (!brought) co_return as_given(std::move(brought).error(), to.location);
  co_return 0;
}

Task<base::Status> bring_deletes(Means means, RequestContext context, const EqualitySearch* search,
                                 const ScratchFolder* scratch) {
  std::vector<Task<Result<int>>> jobs;
  for (std::size_t i = 0; i < search->deletes.size(); ++i) {
    jobs.push_back(bring_delete(means, context, search, i, local_delete(*search, *scratch, i)));
  }
  return run_few<int>(std::move(jobs), [](int) { return base::Status{}; });
}

// Reads the keys and leaves the candidates that can hold one of them.
base::Status prune(base::duckdb::Engine& engine, const EqualitySearch& search, Group& group,
                   base::Deadline deadline) {
  ASSIGN_OR_RETURN(group.keys, read_delete_keys(engine, group.files, group.columns, deadline));
  std::vector<const model::DataFile*> files;
  for (std::size_t c : group.candidates) files.push_back(&search.candidates[c].file);
  auto matching = may_match(engine, group.keys, files, deadline);
  if (!matching) return as_given(std::move(matching).error(), group.files.front().location);
  Indexes left;
  for (std::size_t i : *matching) left.push_back(group.candidates[i]);
  group.candidates = std::move(left);
  return {};
}

Task<Result<int>> prune_group(Means means, RequestContext context, const EqualitySearch* search,
                              Group* group) {
  auto work = [engine = means.engine, search, group, deadline = context.deadline] {
    return prune(*engine, *search, *group, deadline);
  };
  CO_RETURN_IF_ERROR(co_await means.blocking->run(std::move(work)));
  co_return 0;
}

Task<Result<std::vector<Found>>> search_batch(Means means, RequestContext context,
                                              const EqualitySearch* search, const Group* group,
                                              Indexes batch) {
  CO_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(means.engine->scratch_dir()));
  std::vector<BroughtTo> candidates;
  for (std::size_t c : batch) {
    candidates.push_back({&search->candidates[c], scratch.file(fmt::format("data-{}.parquet", c))});
  }
  CO_ASSIGN_OR_RETURN(
      auto files, co_await bring_candidates(means, context, search->prefix, std::move(candidates),
                                            &group->columns));
  auto match = [engine = means.engine, group, files = std::move(files),
                deadline = context.deadline] {
    return match_rows(*engine, group->keys, files, deadline);
  };
  CO_ASSIGN_OR_RETURN(auto positions, co_await means.blocking->run(std::move(match)));
  std::vector<Found> found;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!positions[i].empty()) found.push_back({batch[i], std::move(positions[i])});
  }
  co_return found;
}

std::vector<Task<Result<std::vector<Found>>>> batches_of(Means means, RequestContext context,
                                                         const EqualitySearch* search,
                                                         const std::vector<Group>& groups) {
  std::vector<Task<Result<std::vector<Found>>>> jobs;
  for (const Group& group : groups) {
    const Indexes& all = group.candidates;
    for (std::size_t begin = 0; begin < all.size(); begin += kFilesInBatch) {
      auto end = std::min(begin + kFilesInBatch, all.size());
      Indexes batch(all.begin() + static_cast<std::ptrdiff_t>(begin),
                    all.begin() + static_cast<std::ptrdiff_t>(end));
      jobs.push_back(search_batch(means, context, search, &group, std::move(batch)));
    }
  }
  return jobs;
}

// The searches of several groups may find the same row.
class Union {
 public:
  explicit Union(const EqualitySearch& search) : search_(search) {}

  base::Status add(std::vector<Found> found) {
    for (Found& one : found) {
      count_ += one.positions.size();
      Positions& all = positions_[search_.candidates[one.candidate].file.file_path];
      ASSIGN_OR_RETURN(all, unite_positions(std::move(one.positions), all));
    }
    if (count_ > kMostPositionsAtOnce) {
      return fail(ErrorKind::kTooLarge, "equality deletes delete more rows than can be at once");
    }
    return {};
  }
  PositionsByFile take() { return std::move(positions_); }

 private:
  const EqualitySearch& search_;
  PositionsByFile positions_;
  std::size_t count_ = 0;
};

}  // namespace

Task<Result<PositionsByFile>> Exporter::find_equal(RequestContext context, EqualitySearch search) {
  Means means{engine_, blocking_, store_};
  CO_RETURN_IF_ERROR(check_search(search));
  CO_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(engine_->scratch_dir()));
  CO_ASSIGN_OR_RETURN(std::vector<Group> groups, make_groups(search, scratch));
  CO_RETURN_IF_ERROR(co_await bring_deletes(means, context, &search, &scratch));
  std::vector<Task<Result<int>>> prunings;
  for (Group& group : groups) prunings.push_back(prune_group(means, context, &search, &group));
  CO_RETURN_IF_ERROR(
      co_await run_few<int>(std::move(prunings), [](int) { return base::Status{}; }));
  Union all(search);
  CO_RETURN_IF_ERROR(co_await run_few<std::vector<Found>>(
      batches_of(means, context, &search, groups),
      [&all](std::vector<Found> found) { return all.add(std::move(found)); }));
  co_return all.take();
}

}  // namespace lake::exporter
