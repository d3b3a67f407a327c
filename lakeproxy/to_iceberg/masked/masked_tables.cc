#include "lakeproxy/to_iceberg/masked/masked_tables.h"

#include <fmt/format.h>

#include <set>

#include "base/runtime/gather.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/to_iceberg/masked/mask_marks.h"

namespace lake::masked {
namespace {

using base::ErrorKind;
using base::RequestContext;
using base::Result;
using base::Task;
using materialize::ListedManifest;
using publish::LoadedTablePtr;

constexpr base::AtOnce kReadsAtOnce{32};

// Of a table; with a signature, of one of its shadows.
std::string key_of(const std::string& schema, const publish::LoadedTable& base) {
  return fmt::format("{}:{}\x1f{}", schema.size(), schema, base.table.table_id.value);
}
std::string key_of(const std::string& schema, const publish::LoadedTable& base,
                   const policy::MaskPlan& plan) {
  return key_of(schema, base) + '\x1f' + plan.signature;
}

// Whether it was made of this very state. A rename makes none, and the answer tells the name.
bool is_of(const MaskedEntry& entry, const publish::LoadedTable& base) {
  return entry.base_state == base.etag && entry.loaded->table.name == base.table.name;
}

// Beyond, what was used before is forgotten: it is made at the next load instead of before it.
constexpr std::size_t kMostTables = 4096;
constexpr std::size_t kMostPlans = 64;  // Of one table.
// PostgreSQL is told so often within the time that an idle signature stays.
constexpr int kNotesInIdleTime = 4;

}  // namespace

Task<Result<std::vector<ListedManifest>>> newest_manifests(RequestContext context,
                                                           publish::ManifestStore* manifests,
                                                           LoadedTablePtr base) {
  std::vector<ListedManifest> list;
  const model::Snapshot* newest = base->metadata.current_snapshot();
  if (newest == nullptr) co_return list;
  CO_ASSIGN_OR_RETURN(auto files, co_await manifests->list(context, newest->manifest_list));
  for (const auto& file : *files) list.push_back({file, nullptr});
  auto read = [&](std::size_t i) {
    return manifests->entries(context, list[i].manifest.manifest_path);
  };
  auto keep = [&](std::size_t i, materialize::Entries entries) {
    list[i].entries = std::move(entries);
    return base::Status{};
  };
  CO_RETURN_IF_ERROR(co_await base::gather_few(kReadsAtOnce, list.size(), read, keep));
  co_return list;
}

Task<Result<LoadedTablePtr>> MaskedTables::get(RequestContext context, LoadedTablePtr base,
                                               std::shared_ptr<const policy::MaskPlan> plan) {
  std::string key = key_of(metadata_schema_, *base, *plan);
  CO_ASSIGN_OR_RETURN(const bool is_kept, co_await this->is_kept(context, base, plan));
  if (!is_kept) tools_.cache->entries.erase(key);
  auto held = tools_.cache->entries.get(key);
  if (held && is_of(**held, *base)) co_return (*held)->loaded;
  CO_ASSIGN_OR_RETURN(auto lease, co_await tools_.cache->single_flight.take(context, key));
  held = tools_.cache->entries.get(key);
  if (held && is_of(**held, *base)) co_return (*held)->loaded;
  auto built = co_await build(context, key, base, plan);
  // Copies of the newest state are being made: the one before it is whole.
  const bool waits = !built && built.error().reason() == kCopiesMissing;
  if (waits && held) co_return (*held)->loaded;
  co_return built;
}

LoadedTablePtr MaskedTables::marked(const LoadedTablePtr& base,
                                    std::shared_ptr<const policy::MaskPlan> plan) {
  const std::string key = key_of(metadata_schema_, *base, *plan) + "\x1fmarked";
  auto held = tools_.cache->entries.get(key);
  // Policies of other names may have the same signature, and the marks name them.
  const bool is_same =
      held && is_of(**held, *base) && ((*held)->plan == plan || *(*held)->plan == *plan);
  if (is_same) return (*held)->loaded;
  auto entry = std::make_shared<MaskedEntry>();
  entry->loaded = marked_table(*base, *plan);
  entry->base_state = base->etag;
  entry->plan = std::move(plan);
  LoadedTablePtr made = entry->loaded;
  tools_.cache->entries.put(key, std::move(entry), publish::bytes_of(*made));
  return made;
}

Task<Result<std::vector<std::shared_ptr<const policy::MaskPlan>>>> MaskedTables::used_lately(
    RequestContext context, LoadedTablePtr base) {
  std::vector<std::shared_ptr<const policy::MaskPlan>> plans;
  const std::string table = key_of(metadata_schema_, *base);
  {
    std::lock_guard lock(tools_.cache->mutex);
    if (!tools_.cache->plans.contains(table)) co_return plans;
  }
  const ducklake::SchemaSql sql(metadata_schema_);
  CO_ASSIGN_OR_RETURN(
      auto rows,
      co_await tools_.pool->query(
          context,
          {sql("SELECT DISTINCT signature FROM @lakeproxy_masked_state WHERE table_id = $1 "
               "AND used_at >= clock_timestamp() - make_interval(secs => $2)"),
           {base::pg::param(base->table.table_id.value),
            base::pg::param(retention_.idle.count())}}));
  std::set<std::string_view> used;
  for (std::size_t i = 0; i < rows->size(); ++i) used.insert(rows->text(i, 0));
  std::lock_guard lock(tools_.cache->mutex);
  auto found = tools_.cache->plans.find(table);
  if (found == tools_.cache->plans.end()) co_return plans;
  std::erase_if(found->second, [&](const auto& item) { return !used.contains(item.first); });
  for (const auto& [signature, known] : found->second) plans.push_back(known.plan);
  co_return plans;
}

Task<void> MaskedTables::refresh(RequestContext context, LoadedTablePtr base) {
  auto plans = co_await used_lately(context, base);
  if (!plans) co_return;
  for (const auto& plan : *plans) {
    std::string key = key_of(metadata_schema_, *base, *plan);
    auto lease = co_await tools_.cache->single_flight.take(context, key);
    if (!lease) co_return;
    auto held = tools_.cache->entries.get(key);
    if (held && is_of(**held, *base)) continue;
    static_cast<void>(co_await build(context, std::move(key), base, plan));
  }
}

Task<Result<bool>> MaskedTables::is_kept(RequestContext context, LoadedTablePtr base,
                                         std::shared_ptr<const policy::MaskPlan> plan) {
  const auto now = std::chrono::steady_clock::now();
  {
    std::lock_guard lock(tools_.cache->mutex);
    auto& tables = tools_.cache->plans;
    if (tables.size() >= kMostTables) tables.clear();
    auto& plans = tables[key_of(metadata_schema_, *base)];
    if (plans.size() >= kMostPlans && !plans.contains(plan->signature)) plans.clear();
    auto [used, is_new] = plans.try_emplace(plan->signature, UsedPlan{plan, now});
    used->second.plan = plan;
    const bool is_due = is_new || now - used->second.noted > retention_.idle / kNotesInIdleTime;
    if (!is_due) co_return true;
    used->second.noted = now;
  }
  const ducklake::SchemaSql sql(metadata_schema_);
  CO_ASSIGN_OR_RETURN(
      auto rows, co_await tools_.pool->query(
                     context, {sql("UPDATE @lakeproxy_masked_state SET used_at = clock_timestamp() "
                                   "WHERE table_id = $1 AND signature = $2"),
                               {base::pg::param(base->table.table_id.value),
                                base::pg::param(plan->signature)}}));
  co_return rows->affected() > 0;
}

Task<Result<LoadedTablePtr>> MaskedTables::build(RequestContext context, std::string key,
                                                 LoadedTablePtr base,
                                                 std::shared_ptr<const policy::MaskPlan> plan) {
  const MaskedTableName of{metadata_schema_, base->table.table_id, plan->signature,
                           base->table.name};
  CO_ASSIGN_OR_RETURN(auto list, co_await newest_manifests(context, tools_.manifests, base));
  CO_ASSIGN_OR_RETURN(auto files, files_to_mask(base->metadata, list, *plan));
  CO_ASSIGN_OR_RETURN(Recorded known, co_await recorded(context, &of, &files));
  if (!known.failure.empty()) {
    co_return base::fail(
        ErrorKind::kUnsupported,
        fmt::format("table {}: a file of it cannot be masked: {}", of.shown, known.failure));
  }
  if (!known.missing.empty()) {
    tools_.maker->make(of, known.missing);
    co_return base::fail(ErrorKind::kUnavailable,
                         fmt::format("table {}: its files are being masked: masked {} of {} files; "
                                     "try again",
                                     of.shown, files.size() - known.missing.size(), files.size()))
        .with_reason(kCopiesMissing);
  }
  CO_ASSIGN_OR_RETURN(ShadowTable shadow,
                      shadow_table(*base, *plan, files, known.made, &tools_.manifests->headers()));
  CO_RETURN_IF_ERROR(co_await note(context, &of, &shadow, &files));
  CO_RETURN_IF_ERROR(co_await tools_.manifests->put(context, std::move(shadow.objects)));
  auto entry = std::make_shared<const MaskedEntry>(
      MaskedEntry{LoadedTablePtr(shadow.loaded), base->etag, plan});
  tools_.cache->entries.put(key, entry, publish::bytes_of(*entry->loaded));
  co_return entry->loaded;
}

Task<Result<MaskedTables::Recorded>> MaskedTables::recorded(RequestContext context,
                                                            const MaskedTableName* of,
                                                            const std::vector<FileToMask>* files) {
  const ducklake::SchemaSql sql(metadata_schema_);
  CO_ASSIGN_OR_RETURN(
      auto rows,
      co_await tools_.pool->query(
          context, {sql("SELECT c.name, c.failure, p.location, p.rows, p.bytes "
                        "FROM @lakeproxy_masked_copy c LEFT JOIN LATERAL "
                        "unnest(c.locations, c.record_counts, c.file_sizes) WITH ORDINALITY "
                        "AS p(location, rows, bytes, place) ON true "
                        "WHERE c.table_id = $1 AND c.signature = $2 ORDER BY c.name, p.place"),
                    {base::pg::param(of->table.value), base::pg::param(of->signature)}}));
  MadeCopies made;
  std::map<std::string, std::string> failed;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    std::string name(rows->text(i, 0));
    if (!rows->is_null(i, 1)) {
      failed.emplace(std::move(name), rows->text(i, 1));
    } else {
      made[std::move(name)].push_back(
          {std::string(rows->text(i, 2)), rows->int64(i, 3), rows->int64(i, 4)});
    }
  }
  Recorded known;
  for (const FileToMask& file : *files) {
    if (auto found = failed.find(file.name); found != failed.end()) {
      if (known.failure.empty()) known.failure = found->second;
    } else if (!made.contains(file.name)) {
      known.missing.push_back(file);
    }
  }
  known.made = std::move(made);
  co_return known;
}

// Before the objects are put: what is not noted is nobody's, and the removal of orphans may come
// between.
Task<base::Status> MaskedTables::note(RequestContext context, const MaskedTableName* of,
                                      const ShadowTable* shadow,
                                      const std::vector<FileToMask>* files) {
  const ducklake::SchemaSql sql(metadata_schema_);
  std::vector<std::optional<std::string>> objects;
  for (const auto& object : shadow->objects) objects.emplace_back(object.location);
  std::vector<std::optional<std::string>> names;
  for (const FileToMask& file : *files) names.emplace_back(file.name);
  CO_RETURN_IF_ERROR(co_await tools_.pool->query(
      context,
      {sql("SELECT @lakeproxy_note_masked_state($1, $2, $3, $4, $5, $6, make_interval(secs => $7), "
           "make_interval(secs => $8))"),
       {base::pg::param(of->table.value), base::pg::param(of->signature),
        base::pg::param(shadow->loaded->metadata_location), base::pg::array_param(objects),
        base::pg::array_param(names), base::pg::param(retention_.states),
        base::pg::param(retention_.grace.count()), base::pg::param(retention_.idle.count())}}));
  co_return base::Status{};
}

}  // namespace lake::masked
