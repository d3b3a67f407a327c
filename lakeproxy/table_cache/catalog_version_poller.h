#pragma once

// Every request must see what was committed before it was sent, so every
// request asks PostgreSQL for the lake's version. Requests that wait at the
// same time share one question: a request joins the next one to be asked,
// never the one already under way, which may have been answered too early.

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/table_cache/table_invalidation.h"

namespace lake::publish {

/// One lake on one event loop. `reader` and `invalidation` outlive it.
class CatalogVersionPoller {
 public:
  CatalogVersionPoller(ducklake::LakeReader& reader, TableInvalidation& invalidation);
  ~CatalogVersionPoller();

  /// Brings `invalidation` to the state of the lake at some moment after the call.
  /// Errors: those of LakeReader.
  [[nodiscard]] base::Task<base::Status> refresh(base::RequestContext context);

 private:
  struct Round;
  base::Task<base::Status> ask(base::RequestContext context);
  base::Task<void> lead();

  ducklake::LakeReader* reader_;
  TableInvalidation* invalidation_;
  std::shared_ptr<Round> next_;  ///< Joined by whoever comes now; null when nobody waits.
  bool running_ = false;
};

}  // namespace lake::publish
