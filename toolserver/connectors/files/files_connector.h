#pragma once

// Tools over one folder of the host: read, list, stat, and where the operator
// allows it write and delete. Here a call is taken apart and its work sent to
// the blocking pool; what keeps it inside the folder is path_resolver.h.

#include <memory>
#include <vector>

#include "base/core/clock.h"
#include "base/runtime/workers.h"
#include "toolserver/connectors/connector.h"
#include "toolserver/connectors/files/file_store.h"
#include "toolserver/connectors/files/files_options.h"

namespace tool::files {

class FilesConnector final : public connectors::Connector {
 public:
  /// Opens the root and blocks while it is looked through for left-overs.
  /// `pool` and `random` outlive the connector.
  /// Errors: as FileStore::open and file_capabilities.
  [[nodiscard]] static base::Result<std::unique_ptr<FilesConnector>> open(FilesOptions options,
                                                                          base::BlockingPool& pool,
                                                                          base::Random& random);

  [[nodiscard]] const StartReport& report() const { return store_->report(); }
  [[nodiscard]] std::vector<Capability> capabilities() const override { return capabilities_; }
  [[nodiscard]] std::size_t most_at_once() const override { return options_.calls; }

  /// A path that is refused is E_POLICY with one message for all places that a
  /// tool may not reach, existing or not; a cap is E_LIMIT; a missing or taken
  /// name is a result with is_error. A dry run checks a write or delete and
  /// changes nothing.
  [[nodiscard]] base::Task<Outcome<ToolResult>> invoke(Approved<Invocation> call,
                                                       Progress progress) override;

 private:
  FilesConnector(FilesOptions options, std::unique_ptr<FileStore> store,
                 std::vector<Capability> capabilities, base::BlockingPool& pool);
  [[nodiscard]] Outcome<ToolResult> run(const Invocation& call, const Watch& watch,
                                        const Visited& visited);
  [[nodiscard]] Outcome<ToolResult> read(const Invocation& call, const Watch& watch);
  [[nodiscard]] Outcome<ToolResult> write(const Invocation& call, const Watch& watch);
  [[nodiscard]] Outcome<ToolResult> list(const Invocation& call, const Watch& watch,
                                         const Visited& visited);
  [[nodiscard]] Outcome<ToolResult> stat(const Invocation& call);
  [[nodiscard]] Outcome<ToolResult> remove(const Invocation& call);

  FilesOptions options_;
  std::unique_ptr<FileStore> store_;
  std::vector<Capability> capabilities_;
  base::BlockingPool* pool_;
};

}  // namespace tool::files
