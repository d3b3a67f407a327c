#pragma once

// Many tools for few tokens: a client that asks for it is shown three tools in
// place of all, which find, describe and call the others. A model then reads some
// hundred tokens before it begins, and of the tools only those that it asks for.
// What is behind them is the same: a call through `execute` is the call itself,
// by the name of the tool, from the check of its scope to the line in the trail.
// Source: docs/adr/0132-three-tools-for-many.md.

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "toolserver/mcp_ingress/tool_backend.h"
#include "toolserver/tool_search/index.h"

namespace tool::mcp_ingress {

/// Safe to use from the loops that the backend behind it is.
class FewTools final : public ToolBackend {
 public:
  static constexpr std::size_t kMostFound = 20;
  static constexpr std::size_t kFound = 5;  ///< Where the caller names no number.
  static constexpr std::size_t kDescriptionBytes = 160;
  static constexpr std::size_t kCatalogs = 16;  ///< Kept; the one used longest ago goes.

  /// `behind` outlives it. Who may know of more than `above` tools and asks for
  /// nothing else gets the three; 0: nobody who does not ask.
  FewTools(ToolBackend& behind, std::size_t above) : behind_(behind), above_(above) {}

  [[nodiscard]] Outcome<void> admit(const Call& call) override { return behind_.admit(call); }
  [[nodiscard]] base::Task<Outcome<ToolList>> list(std::shared_ptr<const Call> call) override;
  [[nodiscard]] std::vector<base::json::Object> offered(const Call& call,
                                                        OfferList list) const override {
    return behind_.offered(call, list);
  }
  /// Tools that are called by their own names are called all the same. Errors also:
  /// E_SHAPE  an argument of one of the three; E_TOOL  nothing to describe; those
  /// of admit(), for what calls no tool.
  [[nodiscard]] base::Task<Outcome<ToolResult>> call(std::shared_ptr<const Call> call,
                                                     ToolCall tool) override;
  [[nodiscard]] Outcome<void> record(const Call& call, std::string_view what,
                                     std::string_view name) override {
    return behind_.record(call, what, name);
  }
  [[nodiscard]] bool tells_changes() const override { return behind_.tells_changes(); }
  [[nodiscard]] base::Task<std::string> scope_of(std::shared_ptr<const Call> call, std::string name,
                                                 base::json::Object arguments) override;
  [[nodiscard]] bool is_recorded(const std::string& scope) const override {
    return behind_.is_recorded(scope);
  }
  [[nodiscard]] std::chrono::milliseconds record_life() const override {
    return behind_.record_life();
  }
  [[nodiscard]] base::Task<Outcome<std::optional<KeptCall>>> find_call(
      std::shared_ptr<const Call> call, std::string id) override {
    return behind_.find_call(std::move(call), std::move(id));
  }
  [[nodiscard]] base::Task<Outcome<TakenBack>> take_back(std::shared_ptr<const Call> call,
                                                         std::string id) override {
    return behind_.take_back(std::move(call), std::move(id));
  }

 private:
  // A list, ready to be searched. Never changed.
  struct Catalog {
    explicit Catalog(ToolList all);
    ToolList list;
    tool_search::Index index;
    std::unordered_map<std::string, std::size_t> places;  ///< By name.
    std::vector<std::string> namespaces;
  };

  [[nodiscard]] base::Task<Outcome<bool>> is_few(std::shared_ptr<const Call> call);
  [[nodiscard]] base::Task<Outcome<std::shared_ptr<const Catalog>>> catalog(
      std::shared_ptr<const Call> call);
  [[nodiscard]] base::Task<Outcome<ToolResult>> search(std::shared_ptr<const Call> call,
                                                       base::json::Object arguments);
  [[nodiscard]] base::Task<Outcome<ToolResult>> describe(std::shared_ptr<const Call> call,
                                                         base::json::Object arguments);

  ToolBackend& behind_;
  const std::size_t above_;
  std::mutex mutex_;
  std::list<std::shared_ptr<const Catalog>> catalogs_;  // Guarded by mutex_; used last first.
};

}  // namespace tool::mcp_ingress
