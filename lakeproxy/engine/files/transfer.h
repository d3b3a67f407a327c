#pragma once

// Files on their way between the object store and the engine's scratch folder:
// on disk whole, in memory a part at a time.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/runtime/gather.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/engine/files/engine_pool.h"
#include "lakeproxy/storage/location_rules.h"
#include "lakeproxy/storage/store.h"

namespace base::duckdb {
class Engine;
}

namespace lake::exporter {

/// What a job of the exporter works with; all outlive it.
struct Means {
  base::duckdb::Engine* engine;
  EnginePool* blocking;
  storage::ObjectStore* store;
};

/// Jobs at once: each may hold an object in memory.
inline constexpr base::AtOnce kJobsAtOnce{4};
/// What one file holds in memory while it is brought.
inline constexpr std::uint64_t kPartBytes = 2 << 20;

/// The bytes that a piece of work may still read from the store, all its jobs together. Of
/// one event loop.
class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t bytes) : left_(bytes) {}
  /// One job's part of `whole`, which outlives it: `taken` were taken for it, more is taken
  /// as it is needed, and what is left in the end is given back.
  ByteBudget(ByteBudget& whole, std::uint64_t taken) : left_(taken), whole_(&whole) {}
  ~ByteBudget() {
    if (whole_ != nullptr) whole_->left_ += left_;
  }
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  [[nodiscard]] std::uint64_t left() const { return left_; }
  /// Takes `bytes` off. Errors: kTooLarge  so many are not left; none are taken.
  [[nodiscard]] base::Status take(std::uint64_t bytes);

 private:
  std::uint64_t left_;
  ByteBudget* whole_ = nullptr;
};

/// A file that the lake lists. Errors: kCorrupt  not in the lake's bucket.
[[nodiscard]] base::Result<storage::ObjectKey> key_of(const storage::ObjectStore& store,
                                                      std::string_view location);
/// A file that a client names. Errors: kInvalid  not below `prefix`.
[[nodiscard]] base::Result<storage::ObjectKey> key_below(const storage::ObjectStore& store,
                                                         const storage::Location& prefix,
                                                         std::string_view location);

/// A file that the lake lists and the store does not have is the lake's fault,
/// not the request's.
[[nodiscard]] base::Error as_listed(base::Error error);
/// Names the file, and blames the client for one that is missing or broken.
[[nodiscard]] base::Error as_given(base::Error error, std::string_view location);

/// Puts `bytes` unless there is an object. The size of the one that stands
/// there in the end. Errors: key_of(), ObjectStore::put_if_absent().
[[nodiscard]] base::Task<base::Result<std::int64_t>> upload(Means means,
                                                            base::RequestContext context,
                                                            std::string location,
                                                            std::string bytes);

/// `length` > 0 bytes from `begin`.
/// Errors: those of ObjectStore::get_range(); kCorrupt  the object is shorter.
[[nodiscard]] base::Task<base::Result<std::string>> get_exactly(Means means,
                                                                base::RequestContext context,
                                                                storage::ObjectKey key,
                                                                std::uint64_t begin,
                                                                std::uint64_t length);

/// The bytes [begin, end) of an object, to the same place of the file at
/// `path`; what lies before may stay a hole.
/// Errors: as get_exactly(); kInternal  scratch is full.
[[nodiscard]] base::Task<base::Status> bring(Means means, base::RequestContext context,
                                             storage::ObjectKey key, std::string path,
                                             std::uint64_t begin, std::uint64_t end);

/// Runs the jobs a few at a time and hands on what each gives, in their order;
/// the first error ends it. What `take` refers to outlives it.
template <class T>
base::Task<base::Status> run_few(std::vector<base::Task<base::Result<T>>> jobs,
                                 std::function<base::Status(T)> take) {
  auto begin = [&](std::size_t i) { return std::move(jobs[i]); };
  auto hand_on = [&](std::size_t, T given) { return take(std::move(given)); };
  co_return co_await base::gather_few(kJobsAtOnce, jobs.size(), begin, hand_on);
}

}  // namespace lake::exporter
