#pragma once

// One statement of a caller, from its text to its rows: the engine screens it and names the tables,
// the lake says which files they have, the service fetches what the statement reads of these, and
// the engine runs it over that.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/runtime/workers.h"
#include "toolserver/connectors/connector.h"
#include "toolserver/connectors/lake/lake_catalog.h"
#include "toolserver/connectors/lake/lake_options.h"
#include "toolserver/connectors/lake/query_files.h"
#include "toolserver/connectors/sql/statement_needs.h"
#include "toolserver/isolate/part_client.h"

namespace tool::lake {

/// The engine's process of one query, which is started and ended where blocking does no harm.
class QueryEngine {
 public:
  using OnEvent = std::function<void(const isolate::PartEvent&)>;
  /// Over the files of `folder`. `pool` outlives it. Blocks.
  /// Errors: as PartClient::start().
  [[nodiscard]] static base::Result<std::unique_ptr<QueryEngine>> start(const LakeOptions& options,
                                                                        const std::string& folder,
                                                                        base::BlockingPool& pool,
                                                                        const OnEvent& on_event);
  /// What it answers. Errors: those of connectors::run_order().
  [[nodiscard]] base::Task<LakeAnswer<ToolResult>> order(std::string_view tool,
                                                         base::json::Object args,
                                                         base::Deadline deadline,
                                                         Progress progress = {});
  [[nodiscard]] base::Task<void> end();

 private:
  QueryEngine(std::unique_ptr<isolate::PartClient> part, base::BlockingPool& pool)
      : part_(std::move(part)), pool_(pool) {}
  std::unique_ptr<isolate::PartClient> part_;
  base::BlockingPool& pool_;
};

/// Whether options.tables lets callers reach it.
[[nodiscard]] bool is_listed(const LakeOptions& options, const connectors::QualifiedName& name);

/// Used once, from one event loop.
class LakeQuery {
 public:
  /// All outlive it.
  LakeQuery(const LakeOptions& options, LakeCatalog& catalog, QueryEngine& engine,
            QueryFiles& files, base::RequestContext context)
      : options_(options), catalog_(catalog), engine_(engine), files_(files), context_(context) {}

  /// The rows that the arguments of lake.query ask for. A mistake is an answer with is_error.
  [[nodiscard]] base::Task<LakeAnswer<ToolResult>> run(base::json::Object args, Progress progress);

 private:
  struct Named {
    std::vector<connectors::QualifiedName> tables;
    connectors::StatementNeeds needs;
  };
  [[nodiscard]] static LakeAnswer<Named> read_named(const ToolResult& answer);
  [[nodiscard]] base::Task<LakeAnswer<connectors::BroughtTable>> plan(
      connectors::QualifiedName name, const connectors::StatementNeeds* needs);
  [[nodiscard]] LakeAnswer<connectors::BroughtTable> to_bring(
      const connectors::QualifiedName& name, const ShownTable& shown, const ScanPage& plan,
      const connectors::StatementNeeds& needs);
  [[nodiscard]] base::Task<LakeAnswer<Brought>> bring(
      const std::vector<connectors::BroughtTable>* tables);

  const LakeOptions& options_;
  LakeCatalog& catalog_;
  QueryEngine& engine_;
  QueryFiles& files_;
  const base::RequestContext context_;
};

}  // namespace tool::lake
