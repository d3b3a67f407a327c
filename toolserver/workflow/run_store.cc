#include "toolserver/workflow/run_store.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "base/json/canonical.h"
#include "base/json/fields.h"

namespace tool::workflow {
namespace {

namespace fs = std::filesystem;
namespace json = base::json;
using std::chrono::microseconds;

constexpr std::string_view kEnd = ".jsonl";
constexpr std::int64_t kVersion = 1;
// Of what an earlier configuration may have let grow.
constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 30;

std::string sha256_hex(std::string_view text) {
  auto digest = base::crypto::sha256(text);
  return base::crypto::to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

Fault not_written(const base::Error& error) {
  Fault fault = refuse(Code::kBusy, "the run cannot be recorded just now");
  fault.retry_after = std::chrono::milliseconds(1'000);
  fault.detail = error.message() + " " + error.detail();
  return fault;
}

Fault not_read(std::string detail) {
  Fault fault = refuse(Code::kInternal, "the record of the run cannot be read");
  fault.detail = std::move(detail);
  return fault;
}

std::string write_start(const RunName& name, const Start& start) {
  auto at = std::chrono::duration_cast<microseconds>(start.at.time_since_epoch()).count();
  json::Object line{{"version", kVersion},         {"run", name.id.text()},
                    {"principal", name.principal}, {"workflow", start.workflow},
                    {"input", start.input},        {"at", at}};
  if (!start.tool.empty()) line["tool"] = start.tool;
  return json::write(line);
}

base::Result<Start> read_start(std::string_view line, const RunName& name) {
  ASSIGN_OR_RETURN(auto value, json::parse(line, {.bytes = kMostFileBytes, .depth = 80}));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "start"));
  ASSIGN_OR_RETURN(auto version, fields.int64("version"));
  ASSIGN_OR_RETURN(auto principal, fields.string("principal"));
  ASSIGN_OR_RETURN(auto run, fields.string("run"));
  if (version != kVersion || principal != name.principal || run != name.id.text()) {
    return base::fail(base::ErrorKind::kCorrupt, "start: is of another run");
  }
  ASSIGN_OR_RETURN(auto workflow, fields.value("workflow"));
  if (!workflow->is_object()) {
    return base::fail(base::ErrorKind::kCorrupt, "start.workflow: must be an object");
  }
  Start start;
  start.workflow = workflow->get_object();
  if (const auto* input = fields.find("input")) start.input = *input;
  ASSIGN_OR_RETURN(auto at, fields.int64("at"));
  start.at = base::WallTime(microseconds(at));
  ASSIGN_OR_RETURN(auto tool, fields.opt_string("tool"));
  start.tool = tool.value_or("");
  return start;
}

base::WallTime time_of(const std::string& path) {
  std::error_code ec;
  auto written = fs::last_write_time(path, ec);
  if (ec) return {};
  return std::chrono::time_point_cast<microseconds>(std::chrono::file_clock::to_sys(written));
}

// A task of its own: a pool's work cannot be cancelled, and what it says of that
// would hold for the rest of the caller's.
template <class Work>
auto off_loop(base::BlockingPool& pool, Work work) -> base::Task<decltype(work())> {
  auto loop = co_await boost::asio::this_coro::executor;
  auto task = pool.run(std::move(work));
  co_return co_await boost::asio::co_spawn(loop, std::move(task), boost::asio::use_awaitable);
}

}  // namespace

std::string Start::digest() const {
  auto text = json::canonical(json::Object{{"workflow", workflow}, {"input", input}});
  // What has no canonical form is never equal to another.
  return text ? sha256_hex(*text) : std::string();
}

RunStore::Driving::~Driving() {
  std::lock_guard held(store_.mutex_);
  auto found = store_.driven_.find(name_);
  // Another one may have come since the last owner let go.
  if (found != store_.driven_.end() && found->second.expired()) store_.driven_.erase(found);
}

void RunStore::Driving::cancel() {
  cancelled_ = true;
  std::lock_guard held(mutex_);
  if (wake_) wake_();
}

void RunStore::Driving::on_cancel(std::function<void()> call) {
  std::lock_guard held(mutex_);
  wake_ = std::move(call);
}

RunStore::RunStore(StoreOptions options, const base::Clock& clock, audit::FolderLock lock)
    : options_(std::move(options)), clock_(clock), lock_(std::move(lock)) {}

base::Result<std::unique_ptr<RunStore>> RunStore::open(StoreOptions options,
                                                       const base::Clock& clock) {
  ASSIGN_OR_RETURN(auto lock, audit::FolderLock::take(options.folder));
  std::unique_ptr<RunStore> made(new RunStore(std::move(options), clock, std::move(lock)));
  made->sweep();
  made->sweeping_ = std::thread([raw = made.get()] { raw->keep_sweeping(); });
  return made;
}

RunStore::~RunStore() {
  {
    std::lock_guard held(mutex_);
    is_ending_ = true;
  }
  wake_.notify_all();
  if (sweeping_.joinable()) sweeping_.join();
}

std::string RunStore::folder_of(const std::string& principal) const {
  return options_.folder + "/" + sha256_hex(principal);
}

std::string RunStore::path_of(const RunName& name) const {
  return folder_of(name.principal) + "/" + std::string(name.id.text()) + std::string(kEnd);
}

base::Task<Outcome<std::optional<RunStore::Loaded>>> RunStore::load(RunName name) {
  auto work = [this, name = std::move(name)] { return load_now(name); };
  co_return co_await off_loop(reads_, std::move(work));
}

Outcome<std::optional<RunStore::Loaded>> RunStore::load_now(const RunName& name) const {
  std::string path = path_of(name);
  std::error_code ec;
  if (!fs::exists(path, ec)) return std::optional<Loaded>();
  if (fs::file_size(path, ec) > kMostFileBytes || ec) return not_read("its size");
  auto changed = time_of(path);
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return not_read("reading failed");
  auto whole = text.rfind('\n');
  // Its making was cut off before anything was done.
  if (whole == std::string::npos) return std::optional<Loaded>();
  text.resize(whole + 1);
  std::string_view rest = text;
  auto next = [&rest] {
    auto end = rest.find('\n');
    auto line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return line;
  };
  auto start = read_start(next(), name);
  if (!start) return not_read(start.error().message());
  // It passed the bounds when it began.
  Bounds wide{.steps = 1'000'000, .parallel = 1'000'000, .time = std::chrono::hours(24 * 365)};
  auto workflow = read_workflow(start->workflow, wide);
  if (!workflow) return not_read(workflow.error().message);
  Run run(std::move(*workflow), start->input);
  Loaded out{std::move(*start), std::move(run), text.size(), changed};
  while (!rest.empty()) {
    auto record = read_record(next(), out.run.workflow().steps.size());
    if (!record) return not_read(record.error().message());
    // Skips are no lines; they follow from what was before.
    std::ignore = out.run.ready();
    if (auto applied = out.run.apply(*record); !applied) return not_read(applied.error().message());
  }
  std::ignore = out.run.ready();
  return std::optional(std::move(out));
}

base::Task<Outcome<std::unique_ptr<RunFile>>> RunStore::create(RunName name, Start start) {
  auto work = [this, name = std::move(name), start = std::move(start)] {
    return create_now(name, start);
  };
  co_return co_await off_loop(pool_, std::move(work));
}

Outcome<std::unique_ptr<RunFile>> RunStore::create_now(const RunName& name, const Start& start) {
  std::string folder = folder_of(name.principal);
  {
    std::lock_guard held(mutex_);
    std::size_t all = 0;
    for (const auto& [one, count] : counts_) all += count;
    if (all >= options_.runs || counts_[folder] >= std::max<std::size_t>(options_.runs / 2, 1)) {
      Fault fault = refuse(Code::kBusy, "no room for the record of another run");
      fault.retry_after = std::chrono::milliseconds(1'000);
      return fault;
    }
    ++counts_[folder];
  }
  auto give_up = [&](const base::Error& error) {
    std::lock_guard held(mutex_);
    --counts_[folder];
    return not_written(error);
  };
  std::error_code ec;
  fs::create_directory(folder, ec);
  if (!ec) fs::permissions(folder, fs::perms::owner_all, ec);
  if (ec) return give_up(base::fail(base::ErrorKind::kUnavailable, ec.message()));
  // What a crash left of its making.
  fs::remove(path_of(name), ec);
  auto segment = audit::Segment::open(path_of(name), audit::Segment::Open::kNew);
  if (!segment) return give_up(segment.error());
  auto written = write(*segment, write_start(name, start) + "\n");
  if (!written) {
    fs::remove(path_of(name), ec);
    return give_up(written.error());
  }
  return std::unique_ptr<RunFile>(new RunFile(std::move(*segment)));
}

base::Task<Outcome<std::unique_ptr<RunFile>>> RunStore::resume(RunName name, std::uint64_t size) {
  auto work = [this, name = std::move(name), size] { return resume_now(name, size); };
  co_return co_await off_loop(pool_, std::move(work));
}

Outcome<std::unique_ptr<RunFile>> RunStore::resume_now(const RunName& name,
                                                       std::uint64_t size) const {
  auto segment = audit::Segment::open(path_of(name), audit::Segment::Open::kExisting);
  if (!segment) return not_written(segment.error());
  if (auto cut = segment->cut_to(size); !cut) return not_written(cut.error());
  return std::unique_ptr<RunFile>(new RunFile(std::move(*segment)));
}

base::Task<Outcome<void>> RunStore::append(RunFile& file, std::vector<Record> records) {
  auto work = [this, &file, records = std::move(records)] { return append_now(file, records); };
  co_return co_await off_loop(pool_, std::move(work));
}

Outcome<void> RunStore::append_now(RunFile& file, const std::vector<Record>& records) const {
  // One by one where somebody watches; else they go out together.
  std::string lines;
  for (const auto& record : records) {
    lines += write_record(record) + "\n";
    if (!options_.watch) continue;
    if (auto written = write(file.segment_, lines); !written) return not_written(written.error());
    lines.clear();
  }
  if (lines.empty()) return {};
  if (auto written = write(file.segment_, lines); !written) return not_written(written.error());
  return {};
}

base::Status RunStore::write(audit::Segment& segment, const std::string& line) const {
  if (options_.watch) options_.watch(false);
  RETURN_IF_ERROR(segment.append(line));
  if (options_.durability == outcomes::Durability::kSynced) RETURN_IF_ERROR(segment.sync());
  if (options_.watch) options_.watch(true);
  return {};
}

std::shared_ptr<RunStore::Driving> RunStore::drive(const RunName& name) {
  std::lock_guard held(mutex_);
  auto& place = driven_[name];
  if (!place.expired()) return nullptr;
  auto made = std::make_shared<Driving>(*this, name);
  place = made;
  return made;
}

bool RunStore::cancel(const RunName& name) {
  std::shared_ptr<Driving> driving;
  {
    std::lock_guard held(mutex_);
    auto found = driven_.find(name);
    if (found != driven_.end()) driving = found->second.lock();
  }
  if (!driving) return false;
  driving->cancel();
  return true;
}

bool RunStore::is_driven(const RunName& name) {
  std::lock_guard held(mutex_);
  auto found = driven_.find(name);
  return found != driven_.end() && !found->second.expired();
}

// Counts anew what is left; one that is made meanwhile may be missed until the
// next time. A run that somebody drives has had a line lately, or
// will have one soon: it is left alone.
void RunStore::sweep() {
  std::vector<std::string> driven;
  {
    std::lock_guard held(mutex_);
    for (const auto& [name, one] : driven_) driven.push_back(path_of(name));
  }
  auto now = std::chrono::file_clock::from_sys(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(clock_.now()));
  std::map<std::string, std::size_t> counts;
  std::error_code ec;
  for (fs::directory_iterator it(options_.folder, ec), end; !ec && it != end; it.increment(ec)) {
    if (!it->is_directory(ec)) continue;
    std::error_code inner;
    std::size_t left = 0;
    for (fs::directory_iterator file(it->path(), inner); !inner && file != end;
         file.increment(inner)) {
      std::error_code ignored;
      bool is_old = fs::last_write_time(file->path(), ignored) + options_.retention <= now;
      bool is_kept = std::ranges::find(driven, file->path().string()) != driven.end();
      if (is_old && !ignored && !is_kept && fs::remove(file->path(), ignored)) continue;
      ++left;
    }
    if (left > 0) counts[it->path().string()] = left;
  }
  std::lock_guard held(mutex_);
  counts_ = std::move(counts);
}

void RunStore::keep_sweeping() {
  std::unique_lock held(mutex_);
  while (!is_ending_) {
    wake_.wait_for(held, options_.sweep, [this] { return is_ending_; });
    if (is_ending_) return;
    held.unlock();
    sweep();
    held.lock();
  }
}

}  // namespace tool::workflow
