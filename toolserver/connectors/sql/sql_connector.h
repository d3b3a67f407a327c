#pragma once

// SQL over files that an operator put into one folder. The engine underneath
// can do anything a database can, so three things stand between it and a
// caller: a screen that lets through what is known to be harmless, an engine
// that was locked before the first call, and limits on what a call may take.

#include <memory>

#include "base/runtime/workers.h"
#include "toolserver/connectors/connector.h"
#include "toolserver/connectors/sql/sql_options.h"

namespace tool::connectors {

class SqlWork;

class SqlConnector final : public Connector {
 public:
  /// The engine's work is done on `pool`, which outlives the connector and
  /// should have at least options.calls threads.
  /// Errors: kInvalid  an option, by name; kInternal  the engine does not start.
  [[nodiscard]] static base::Result<std::unique_ptr<SqlConnector>> open(SqlOptions options,
                                                                        base::BlockingPool& pool);
  ~SqlConnector() override;
  SqlConnector(const SqlConnector&) = delete;
  SqlConnector& operator=(const SqlConnector&) = delete;

  [[nodiscard]] std::vector<Capability> capabilities() const override;
  /// options.calls: the pipeline gives out their places.
  [[nodiscard]] std::size_t most_at_once() const override;
  /// Ends when the engine does: an interrupted statement takes some
  /// milliseconds to notice.
  [[nodiscard]] base::Task<Outcome<ToolResult>> invoke(Approved<Invocation> call,
                                                       Progress progress) override;

 private:
  SqlConnector(std::shared_ptr<SqlWork> work, base::BlockingPool& pool);

  const std::shared_ptr<SqlWork> work_;
  base::BlockingPool& pool_;
};

}  // namespace tool::connectors
