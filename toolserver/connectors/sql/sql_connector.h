#pragma once

// SQL over files that an operator put into one folder. The engine underneath
// can do anything a database can, so four things stand between it and a
// caller: a screen that lets through what is known to be harmless, an engine
// that was locked before the first call, limits on what a call may take, and a
// process of its own with walls around it (isolate/walls.h), which a statement
// may end and nothing else.

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "toolserver/connectors/connector.h"
#include "toolserver/connectors/sql/sql_exchange.h"
#include "toolserver/connectors/sql/sql_options.h"
#include "toolserver/isolate/part_client.h"

namespace tool::connectors {

/// The walls around the engine's process: reading below options.data_dir, and nothing else.
[[nodiscard]] isolate::Walls walls_of(const SqlOptions& options);

/// What the engine's process, which outlives the task, answers to an order.
/// Errors: those of Connector::invoke; E_UPSTREAM  the process ended meanwhile.
[[nodiscard]] base::Task<Outcome<ToolResult>> run_order(isolate::PartClient* engine, SqlOrder order,
                                                        base::Deadline deadline, Progress progress);

class SqlConnector final : public Connector {
 public:
  using OnEvent = std::function<void(const isolate::PartEvent&)>;

  /// Starts the engine's process; main() has begun with run_if_child() and the
  /// role of sql_child(). Blocks until the engine is open. `on_event` is told
  /// what becomes of the process, on a thread of its own.
  /// Errors: kInvalid  an option, by name; kUnsupported  a wall is demanded and
  ///         the kernel lacks it; kInternal, kUnavailable  the engine does not
  ///         start.
  [[nodiscard]] static base::Result<std::unique_ptr<SqlConnector>> open(SqlOptions options,
                                                                        OnEvent on_event = {});
  ~SqlConnector() override;
  SqlConnector(const SqlConnector&) = delete;
  SqlConnector& operator=(const SqlConnector&) = delete;

  [[nodiscard]] std::vector<Capability> capabilities() const override;
  /// options.calls: the pipeline gives out their places.
  [[nodiscard]] std::size_t most_at_once() const override;
  /// Of sql.query the engine's own tree of the statement decides, in its process.
  [[nodiscard]] base::Task<Outcome<void>> keeps_to_tables(const Invocation& call,
                                                          std::string argument,
                                                          std::vector<std::string> tables) override;
  /// Ends when the engine does: an interrupted statement takes some
  /// milliseconds to notice; one that does not is ended with its process.
  /// E_UPSTREAM  the process ended meanwhile; nothing was changed, and the next
  /// one begins with the tables that were loaded.
  [[nodiscard]] base::Task<Outcome<ToolResult>> invoke(Approved<Invocation> call,
                                                       Progress progress) override;

 private:
  /// Tables by their names in lower case, for the next process.
  struct Saved {
    std::mutex mutex;
    std::map<std::string, SavedTable> tables;  // Guarded by mutex.
  };

  SqlConnector(SqlOptions options, std::shared_ptr<Saved> saved,
               std::unique_ptr<isolate::PartClient> engine);

  const SqlOptions options_;
  const std::shared_ptr<Saved> saved_;
  const std::unique_ptr<isolate::PartClient> engine_;
};

}  // namespace tool::connectors
