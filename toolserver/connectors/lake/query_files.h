#pragma once

// The files of one query, in a folder that is made for it and goes with it. The process that runs
// the statement has no network: the service brings what the statement names, and nothing else is
// there.

#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/files/descriptor.h"
#include "base/http/loop_clients.h"
#include "base/runtime/workers.h"
#include "toolserver/connectors/lake/lake_catalog.h"

namespace tool::lake {

/// The folder of all queries, held by one service at a time.
class ScratchFolder {
 public:
  /// Removes what a service before has left there.
  /// Errors: kInvalid  no folder that this user may write, open to others, or held by another
  ///         service.
  [[nodiscard]] static base::Result<std::unique_ptr<ScratchFolder>> open(std::string path);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  ScratchFolder(std::string path, base::files::Descriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  base::files::Descriptor lock_;
};

/// A folder of one query; it goes with this object.
class QueryFolder {
 public:
  /// Errors: kUnavailable  it cannot be made.
  [[nodiscard]] static base::Result<QueryFolder> make(const ScratchFolder& scratch,
                                                      base::Random& random);
  QueryFolder(QueryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  QueryFolder& operator=(QueryFolder&&) = delete;
  ~QueryFolder();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit QueryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// A file to be brought.
struct Wanted {
  connectors::QualifiedName table;
  ScanFile file;
  std::string name;  ///< In the folder.
};

struct Brought {
  std::uint64_t bytes = 0;
};

/// Brings each file as the lake signs for it, four at a time. Errors: as error_of(); E_UPSTREAM  a
/// file that is not as long as the plan says; E_LIMIT  the disk is full.
[[nodiscard]] base::Task<LakeAnswer<Brought>> bring(base::RequestContext context,
                                                    LakeCatalog* catalog,
                                                    base::http::LoopClients* store,
                                                    base::BlockingPool* pool,
                                                    std::vector<Wanted> wanted, std::string folder);

}  // namespace tool::lake
