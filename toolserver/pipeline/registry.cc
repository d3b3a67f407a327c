#include "toolserver/pipeline/registry.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdlib>

#include "base/json/canonical.h"
#include "toolserver/model/digest.h"
#include "toolserver/model/ijson.h"

namespace tool::pipeline {
namespace {

namespace asio = boost::asio;

// Sets of scopes are few; whoever makes up many of them gains nothing.
constexpr std::size_t kListings = 64;

PinState pin_state(const Capability& capability, const std::string& pin, const Trust& trust) {
  if (capability.origin == OriginKind::kLocal) return PinState::kPinned;
  auto approved = trust.approved.find(capability.id.text());
  if (approved != trust.approved.end()) {
    return approved->second == pin ? PinState::kPinned : PinState::kChanged;
  }
  return trust.first_seen == FirstSeen::kTrust ? PinState::kPinned : PinState::kQuarantined;
}

// As it is listed, which its state is a part of. Lists are made of the text: a caller who begins
// asks for all tools, and they change seldom.
void set_state(ToolEntry& entry, PinState state) {
  entry.state = state;
  entry.record = entry.capability.to_json();
  entry.record["pin"].as_object()["state"] = boost::json::string(name(state));
  entry.written.clear();
  if (has_large_double(entry.record)) return;
  if (auto text = base::json::canonical(entry.record)) entry.written = std::move(*text);
}

base::Result<ToolEntry> entry_of(const Capability& capability, const Trust& trust) {
  const auto* type = capability.input_schema.if_contains("type");
  if (!type || *type != "object") {
    return base::fail(base::ErrorKind::kInvalid, "inputSchema: must be of type object");
  }
  ASSIGN_OR_RETURN(Schema input, Schema::compile(capability.input_schema));
  std::optional<Schema> output;
  if (capability.output_schema) {
    ASSIGN_OR_RETURN(output, Schema::compile(*capability.output_schema));
  }
  auto canonical = base::json::canonical(capability.to_json());
  if (!canonical) return canonical.error();
  std::string pin = capability.pin();
  PinState state = pin_state(capability, pin, trust);
  return ToolEntry{.capability = capability,
                   .input = std::move(input),
                   .output = std::move(output),
                   .pin = std::move(pin),
                   .state = state,
                   .own_state = state,
                   .record = {},
                   .written = {},
                   .connector = nullptr,
                   .places = nullptr};
}

}  // namespace

std::string_view name(PinState state) {
  switch (state) {
    case PinState::kPinned: return "pinned";
    case PinState::kQuarantined: return "quarantined";
    case PinState::kChanged: return "changed";
  }
  std::abort();
}

Outcome<void> ToolRegistry::check_name(const Tools& tools, const Capability& capability,
                                       const connectors::Connector& connector) const {
  if (tools.contains(capability.id)) {
    return refuse(Code::kShadow, capability.id.text() + ": the name is taken");
  }
  for (const auto& [id, entry] : tools) {
    if (id.space() == capability.id.space() && entry->connector.get() != &connector) {
      return refuse(Code::kShadow, capability.id.text() + ": the namespace belongs to others");
    }
  }
  return {};
}

Outcome<void> ToolRegistry::add(std::shared_ptr<connectors::Connector> connector,
                                const Trust& trust) {
  std::lock_guard one(change_);
  Tools tools = *snapshot();
  std::shared_ptr<base::FairPlaces> places;
  if (connector->most_at_once() > 0) {
    places = std::make_shared<base::FairPlaces>(connector->most_at_once());
  }
  for (const Capability& capability : connector->capabilities()) {
    auto entry = entry_for(tools, capability, trust, connector, places);
    if (!entry) return std::move(entry).error();
    tools.emplace(capability.id, std::move(*entry));
  }
  publish(std::move(tools));
  return {};
}

Outcome<std::shared_ptr<const ToolEntry>> ToolRegistry::entry_for(
    const Tools& tools, const Capability& capability, const Trust& trust,
    std::shared_ptr<connectors::Connector> connector,
    std::shared_ptr<base::FairPlaces> places) const {
  if (auto named = check_name(tools, capability, *connector); !named) {
    return std::move(named).error();
  }
  auto entry = entry_of(capability, trust);
  if (!entry) {
    return refuse(Code::kShape, capability.id.text() + ": " + entry.error().message());
  }
  entry->connector = std::move(connector);
  entry->places = std::move(places);
  if (std::size_t most = capability.limits.at_once; most > 0) {
    entry->places = std::make_shared<base::FairPlaces>(most);
  }
  set_state(*entry, state_of(*entry));
  return std::make_shared<const ToolEntry>(std::move(*entry));
}

std::vector<LeftOut> ToolRegistry::replace(const connectors::Connector* before,
                                           std::shared_ptr<connectors::Connector> next,
                                           const Trust& trust) {
  std::lock_guard one(change_);
  Tools tools = *snapshot();
  // Calls of the tools that go still hold places, which count on.
  std::shared_ptr<base::FairPlaces> places;
  for (const auto& [id, entry] : tools) {
    if (entry->connector.get() == before) places = entry->places;
  }
  if (!places && next->most_at_once() > 0) {
    places = std::make_shared<base::FairPlaces>(next->most_at_once());
  }
  std::erase_if(tools, [&](const auto& tool) { return tool.second->connector.get() == before; });
  std::vector<LeftOut> left_out;
  for (const Capability& capability : next->capabilities()) {
    auto entry = entry_for(tools, capability, trust, next, places);
    if (entry) {
      tools.emplace(capability.id, std::move(*entry));
    } else {
      left_out.push_back({capability.id, std::move(entry).error()});
    }
  }
  publish(std::move(tools));
  return left_out;
}

void ToolRegistry::remove(const connectors::Connector& connector) {
  std::lock_guard one(change_);
  Tools tools = *snapshot();
  std::erase_if(tools,
                [&](const auto& tool) { return tool.second->connector.get() == &connector; });
  publish(std::move(tools));
}

// Nobody is told, since nobody is there any more.
void ToolRegistry::forget_all() {
  std::lock_guard one(change_);
  auto tools = std::make_shared<const Tools>();
  decltype(listings_) listings;
  std::lock_guard held(mutex_);
  tools_.swap(tools);
  listings_.swap(listings);
}

Outcome<void> ToolRegistry::approve(const ToolId& id, std::string_view pin) {
  std::lock_guard one(change_);
  Tools tools = *snapshot();
  auto found = tools.find(id);
  if (found == tools.end()) return refuse(Code::kTool, "no such tool");
  if (found->second->pin != pin) return refuse(Code::kPin, "the tool has changed");
  ToolEntry entry = *found->second;
  entry.own_state = PinState::kPinned;
  set_state(entry, state_of(entry));
  found->second = std::make_shared<const ToolEntry>(std::move(entry));
  publish(std::move(tools));
  return {};
}

PinState ToolRegistry::state_of(const ToolEntry& entry) const {
  bool is_held = held_.contains(entry.capability.id) || (screen_ && !screen_(entry.capability));
  return is_held ? PinState::kQuarantined : entry.own_state;
}

void ToolRegistry::renew_states() {
  Tools tools = *snapshot();
  bool is_new = false;
  for (auto& [id, entry] : tools) {
    PinState state = state_of(*entry);
    if (state == entry->state) continue;
    ToolEntry renewed = *entry;
    set_state(renewed, state);
    entry = std::make_shared<const ToolEntry>(std::move(renewed));
    is_new = true;
  }
  // A reload holds and screens anew; those who listen are told of what changed.
  if (is_new) publish(std::move(tools));
}

void ToolRegistry::hold(const ToolId& id) {
  std::lock_guard one(change_);
  if (held_.insert(id).second) renew_states();
}

void ToolRegistry::set_held(std::set<ToolId> held) {
  std::lock_guard one(change_);
  held_ = std::move(held);
  renew_states();
}

void ToolRegistry::set_screen(Screen screen) {
  std::lock_guard one(change_);
  screen_ = std::move(screen);
  renew_states();
}

void ToolRegistry::expect(std::string space) {
  std::lock_guard held(mutex_);
  expected_.insert(std::move(space));
}

void ToolRegistry::expect_no_more(std::string_view space) {
  std::lock_guard held(mutex_);
  if (auto found = expected_.find(space); found != expected_.end()) expected_.erase(found);
}

bool ToolRegistry::expects(const ToolId& id) const {
  std::lock_guard held(mutex_);
  return expected_.contains(id.space());
}

std::shared_ptr<const ToolEntry> ToolRegistry::find(const ToolId& id) const {
  auto tools = snapshot();
  auto found = tools->find(id);
  return found == tools->end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<const ToolEntry>> ToolRegistry::all() const {
  std::vector<std::shared_ptr<const ToolEntry>> out;
  for (const auto& [id, entry] : *snapshot()) out.push_back(entry);
  return out;
}

std::shared_ptr<const Listing> ToolRegistry::capabilities_for(const Principal& principal, Mode mode,
                                                              Offer offer) const {
  std::tuple key{mode, offer, principal.scopes.text()};
  std::shared_ptr<const Tools> tools;
  {
    std::lock_guard held(mutex_);
    if (auto found = listings_.find(key); found != listings_.end()) return found->second;
    tools = tools_;
  }
  auto listing = std::make_shared<const Listing>(list(*tools, principal.scopes, mode, offer));
  std::lock_guard held(mutex_);
  if (tools != tools_) return listing;  // A change came between.
  if (listings_.size() >= kListings) listings_.clear();
  listings_.emplace(std::move(key), listing);
  return listing;
}

Listing ToolRegistry::list(const Tools& tools, const Scopes& scopes, Mode mode, Offer offer) {
  Listing listing;
  std::string seen;
  for (const auto& [id, entry] : tools) {
    if (id.offer() != offer || entry->state != PinState::kPinned ||
        entry->capability.min_mode > mode || !scopes.allows_describe(id)) {
      continue;
    }
    listing.tools.push_back(entry);
    seen += id.text() + ' ' + entry->pin + '\n';
  }
  listing.etag = digest(seen);
  return listing;
}

std::uint64_t ToolRegistry::version() const {
  std::lock_guard held(mutex_);
  return version_;
}

std::shared_ptr<const ToolRegistry::Tools> ToolRegistry::snapshot() const {
  std::lock_guard held(mutex_);
  return tools_;
}

void ToolRegistry::publish(Tools tools) {
  auto next = std::make_shared<const Tools>(std::move(tools));
  {
    std::lock_guard held(mutex_);
    tools_.swap(next);
    listings_.clear();
    ++version_;
  }
  wake_waiting();
  if (changed_) changed_();
}

base::Task<void> ToolRegistry::await_change(std::uint64_t version, base::Deadline until) const {
  auto timer = std::make_shared<asio::steady_timer>(co_await asio::this_coro::executor, until);
  {
    std::lock_guard held(mutex_);
    if (version_ != version) co_return;
    waiting_.push_back(timer);
  }
  boost::system::error_code woken;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, woken));
  std::lock_guard held(mutex_);
  std::erase(waiting_, timer);
}

// A timer belongs to its loop.
void ToolRegistry::wake_waiting() const {
  std::vector<std::shared_ptr<asio::steady_timer>> waiting;
  {
    std::lock_guard held(mutex_);
    waiting.swap(waiting_);
  }
  for (auto& timer : waiting) {
    asio::post(timer->get_executor(), [timer] { timer->cancel(); });
  }
}

}  // namespace tool::pipeline
