#pragma once

// Each commit leaves a few objects to remove, and a request to remove two costs
// the store as much as one to remove a dozen. So what is to go waits a moment,
// and goes with what other commits leave. Nothing here survives the process:
// whoever gives objects here can name them again, or somebody looks for
// orphans.

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::storage {

class ObjectStore;

struct RemovalOptions {
  std::chrono::milliseconds wait{500};  ///< The longest time that an object waits.
  std::size_t objects = 500;            ///< So many do not wait; at most a thousand.
};

/// Used from one event loop. Outlives the tasks of remove().
class RemovalQueue {
 public:
  /// `store` outlives it.
  explicit RemovalQueue(ObjectStore& store, RemovalOptions options = {});
  ~RemovalQueue();

  /// Removes the objects together with those of others; returns when it is done.
  /// `context` is of the request to the store, if this call makes it: it must
  /// have time for the wait. It cannot be cancelled, since others may wait for it.
  /// Errors: those of ObjectStore::remove_many; the store's for the first of
  ///         `keys` that it did not remove.
  [[nodiscard]] base::Task<base::Status> remove(base::RequestContext context,
                                                std::vector<ObjectKey> keys);
  /// From now on nothing waits: the process is about to end.
  void hurry();

 private:
  struct Batch;
  base::Task<void> lead(base::RequestContext context, std::shared_ptr<Batch> batch);

  ObjectStore* store_;
  RemovalOptions options_;
  std::shared_ptr<Batch> open_;  ///< Takes more objects; null when there is none.
};

}  // namespace lake::storage
