#pragma once

// Which tools there are. A name stands for one tool only: a foreign server that
// offers "sql.query" again, or another tool under "sql", would be called with
// grants that were given for ours.
// Source: docs/wire-3.0.md, "Capability record".

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/runtime/fair_places.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/connectors/connector.h"
#include "toolserver/model/capability.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"
#include "toolserver/pipeline/schema.h"

namespace tool::pipeline {

enum class PinState : std::uint8_t {
  kPinned,       ///< As it was approved, or our own.
  kQuarantined,  ///< Nobody approved it yet, or it was taken out of use.
  kChanged,      ///< Not what was approved.
};
[[nodiscard]] std::string_view name(PinState state);

enum class FirstSeen : std::uint8_t { kQuarantine, kTrust };

/// What the configuration says of the tools of a foreign server.
struct Trust {
  FirstSeen first_seen = FirstSeen::kQuarantine;
  std::map<std::string, std::string> approved;  ///< Tool id to the pin approved.
};

/// A tool, ready to be called. Published, never changed.
struct ToolEntry {
  Capability capability;
  Schema input;
  std::optional<Schema> output;
  std::string pin;
  PinState state = PinState::kPinned;
  PinState own_state = PinState::kPinned;  ///< Of its pin alone, were it not held.
  base::json::Object record;               ///< As listed.
  /// The record in canonical form; empty where it has a double that must not be sent so,
  /// see has_large_double().
  std::string written;
  std::shared_ptr<connectors::Connector> connector;
  std::shared_ptr<base::FairPlaces>
      places;  ///< Its own or its connector's; null when there is no bound.
};

/// A foreign tool that is not offered.
struct LeftOut {
  ToolId id;
  Fault why;
};

/// What a caller may know of, in the order of the ids.
struct Listing {
  std::vector<std::shared_ptr<const ToolEntry>> tools;
  std::string etag;  ///< Equal for equal lists, over restarts too.
};

/// Safe to use from any thread.
class ToolRegistry {
 public:
  /// Takes all tools of a connector, or none.
  /// Errors: E_SHADOW  an id is taken, or a namespace belongs to another
  ///         connector; E_SHAPE  a tool's schema is not understood, is not of
  ///         type object or has no canonical form.
  [[nodiscard]] Outcome<void> add(std::shared_ptr<connectors::Connector> connector,
                                  const Trust& trust = {});
  /// Puts the tools of `next` in the place of those of `before` (which may be
  /// null), all at once; calls that run go on. For foreign tools alone. A tool
  /// that cannot be taken, for a reason of add(), is left out and named.
  [[nodiscard]] std::vector<LeftOut> replace(const connectors::Connector* before,
                                             std::shared_ptr<connectors::Connector> next,
                                             const Trust& trust);
  /// Forgets the tools of a connector; calls that run go on.
  void remove(const connectors::Connector& connector);
  /// Forgets every tool, at the service's end: what they stand on goes after this.
  void forget_all();
  /// An operator's word for a foreign tool as it is now.
  /// Errors: E_TOOL  no such tool; E_PIN  it is not the one that was looked at.
  [[nodiscard]] Outcome<void> approve(const ToolId& id, std::string_view pin);

  /// Takes a tool, which need not be there yet, out of use: it is quarantined,
  /// whatever its pin. Running calls go on.
  void hold(const ToolId& id);
  /// Puts `held` in the place of all that were held before.
  void set_held(std::set<ToolId> held);
  /// From here on a tool whose words `screen` does not let pass is held, too. It
  /// is asked for every tool that is there, and for each that comes.
  using Screen = std::function<bool(const Capability&)>;
  void set_screen(Screen screen);

  /// From here on tools of `space` are to come, of a node that has not told them yet:
  /// until they have, or nobody waits for them any more, they are no tools that there
  /// are not.
  void expect(std::string space);
  void expect_no_more(std::string_view space);
  [[nodiscard]] bool expects(const ToolId& id) const;

  /// Null when there is none.
  [[nodiscard]] std::shared_ptr<const ToolEntry> find(const ToolId& id) const;
  /// Every tool, in the order of the ids, also those that nobody is offered.
  [[nodiscard]] std::vector<std::shared_ptr<const ToolEntry>> all() const;
  /// The tools that `principal` may describe in `mode`, without those that
  /// nobody approved: a description can be an attack of its own.
  /// Made once for all callers with the same scopes. `offer` in place of tools: the
  /// prompts or the resources that it may get.
  [[nodiscard]] std::shared_ptr<const Listing> capabilities_for(const Principal& principal,
                                                                Mode mode,
                                                                Offer offer = Offer::kTool) const;
  /// Grows with every change, for cap.subscribe.
  [[nodiscard]] std::uint64_t version() const;
  /// Waits until there has been a change after `version`, wake_waiting() is called, or
  /// `until`; on any loop.
  [[nodiscard]] base::Task<void> await_change(std::uint64_t version, base::Deadline until) const;
  /// Ends every wait.
  void wake_waiting() const;
  /// Called after every change from here on, on the thread that makes it. Set before
  /// there is more than one.
  void on_change(std::function<void()> call) { changed_ = std::move(call); }

 private:
  using Tools = std::map<ToolId, std::shared_ptr<const ToolEntry>>;

  [[nodiscard]] Outcome<void> check_name(const Tools& tools, const Capability& capability,
                                         const connectors::Connector& connector) const;
  [[nodiscard]] static Listing list(const Tools& tools, const Scopes& scopes, Mode mode,
                                    Offer offer);
  [[nodiscard]] std::shared_ptr<const Tools> snapshot() const;
  [[nodiscard]] Outcome<std::shared_ptr<const ToolEntry>> entry_for(
      const Tools& tools, const Capability& capability, const Trust& trust,
      std::shared_ptr<connectors::Connector> connector,
      std::shared_ptr<base::FairPlaces> places) const;
  void publish(Tools tools);
  // The state of a tool as it is held and screened now.
  [[nodiscard]] PinState state_of(const ToolEntry& entry) const;
  void renew_states();

  mutable std::mutex mutex_;  // Held for a look-up, and by writers for a change.
  std::shared_ptr<const Tools> tools_ = std::make_shared<const Tools>();
  std::uint64_t version_ = 0;
  std::set<std::string, std::less<>> expected_;
  mutable std::vector<std::shared_ptr<boost::asio::steady_timer>> waiting_;
  // Of tools_, by mode, kind and scopes.
  mutable std::map<std::tuple<Mode, Offer, std::string>, std::shared_ptr<const Listing>> listings_;
  std::mutex change_;  // One writer at a time; also of these two.
  std::set<ToolId> held_;
  Screen screen_;
  std::function<void()> changed_;
};

}  // namespace tool::pipeline
