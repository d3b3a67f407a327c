#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/json/json.h"
#include "toolserver/app/command.h"
#include "toolserver/federation/peer_pins.h"
#include "toolserver/model/tool_id.h"
#include "toolserver/pins/pin_store.h"
#include "toolserver/settings/settings.h"

namespace tool::app {
namespace {

namespace json = base::json;
using pins::PinFile;
using pins::PinStatus;
using pins::PinStore;

// What a foreign server wrote could else move the terminal's cursor.
void print_line(std::string_view text) {
  bool terminal = ::isatty(STDOUT_FILENO) == 1;
  fmt::print("{}\n", terminal ? base::for_terminal(text) : std::string(text));
}

int fail_with(const base::Error& error) {
  fmt::print(stderr, "{}\n", base::for_terminal(error.message()));
  return 1;
}

// The stores of all bridges of a configuration, by the bridge's name.
class Stores {
 public:
  explicit Stores(const ConfigFlags& flags) {
    auto loaded = settings::load(flags.places(), settings::Role::kServer);
    if (!loaded) {
      fmt::print(stderr, "{}\n", loaded.error().message());
      code_ = 2;
      return;
    }
    for (const auto& one : loaded->config.bridges) {
      auto store = PinStore::open(loaded->config.pins.path, one.name, clock_);
      if (!store) {
        code_ = fail_with(store.error());
        return;
      }
      stores_.emplace(one.name, std::move(*store));
    }
    add_nodes(loaded->config.pins.path);
  }

  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] const std::map<std::string, PinStore>& all() const { return stores_; }
  /// Of the bridge of tool `id`; null, and said, when there is none.
  [[nodiscard]] PinStore* of(const std::string& id) {
    std::string_view plain = id;
    for (Offer kind : {Offer::kPrompt, Offer::kResource}) {
      std::string begin(name(kind));
      begin += ':';
      if (id.starts_with(begin)) plain.remove_prefix(begin.size());
    }
    auto found = stores_.find(std::string(plain.substr(0, plain.find('.'))));
    if (found != stores_.end() && id.contains('.')) return &found->second;
    fmt::print(stderr, "{}: no bridge and no node of this configuration has such a tool\n",
               base::for_terminal(id));
    return nullptr;
  }

 private:
  // Nodes that were seen, by whatever way they were found.
  void add_nodes(const std::filesystem::path& folder) {
    std::error_code none;  // There is no folder before something is seen.
    for (std::filesystem::directory_iterator at(folder, none), end; !none && at != end;
         at.increment(none)) {
      auto node = federation::node_of_pin_name(at->path().stem().string());
      if (!node || at->path().extension() != ".json") continue;
      auto store = PinStore::open(folder, federation::pin_name_of(*node), clock_);
      if (!store) {
        code_ = fail_with(store.error());
        return;
      }
      stores_.emplace(*node, std::move(*store));
    }
  }

  base::SystemClock clock_;
  std::map<std::string, PinStore> stores_;
  int code_ = 0;
};

std::vector<std::string> ids_of(const PinFile& file) {
  std::vector<std::string> ids;
  for (const auto& [id, tool] : file.seen) ids.push_back(id);
  for (const auto& [id, tool] : file.approved) {
    if (!file.seen.contains(id)) ids.push_back(id);
  }
  return ids;
}

json::Value json_of(const PinFile& file, const std::string& id) {
  json::Object out{{"id", id}, {"state", pins::name(status_of(file, id))}};
  if (auto seen = file.seen.find(id); seen != file.seen.end()) {
    out["pin"] = seen->second.pin;
    out["seen_ms"] = seen->second.at_ms;
    if (!seen->second.note.empty()) out["reason"] = seen->second.note;
    out["record"] = seen->second.record;
  }
  if (auto approved = file.approved.find(id); approved != file.approved.end()) {
    out["approved"] = json::Object{{"pin", approved->second.pin},
                                   {"at_ms", approved->second.at_ms},
                                   {"by", approved->second.note}};
  }
  return out;
}

void print_state(const PinFile& file, const std::string& id) {
  PinStatus status = status_of(file, id);
  std::string line = fmt::format("{:<10} {}", pins::name(status), id);
  if (status == PinStatus::kUnusable) line += ": " + file.seen.at(id).note;
  print_line(line);
}

// What a tool that nobody approved says of itself, member by member.
void print_differences(const PinFile& file, const std::string& id) {
  static const json::Object kNothing;
  auto seen = file.seen.find(id);
  auto approved = file.approved.find(id);
  const auto& before = approved == file.approved.end() ? kNothing : approved->second.record;
  const auto& after = seen == file.seen.end() ? kNothing : seen->second.record;
  for (const auto& line : pins::differences(before, after)) print_line(line);
}

// The tools that `name` means: one, or with "bridge.*" all that are not pinned; with
// "prompt:bridge.*" all prompts.
std::vector<std::string> meant(const PinFile& file, const std::string& name) {
  if (!name.ends_with(".*")) return {name};
  std::vector<std::string> ids;
  std::string_view begin = std::string_view(name).substr(0, name.size() - 1);
  for (const auto& [id, tool] : file.seen) {
    if (!id.starts_with(begin)) continue;
    PinStatus status = status_of(file, id);
    if (status == PinStatus::kNew || status == PinStatus::kChanged) ids.push_back(id);
  }
  return ids;
}

}  // namespace

int list_pins(const ConfigFlags& flags, const ListFlags& list) {
  Stores stores(flags);
  if (stores.code() != 0) return stores.code();
  for (const auto& [name, store] : stores.all()) {
    auto file = store.read();
    if (!file) return fail_with(file.error());
    for (const auto& id : ids_of(*file)) {
      if (list.json) {
        print_line(json::write(json_of(*file, id)));
      } else {
        print_state(*file, id);
      }
    }
  }
  return 0;
}

int diff_pin(const ConfigFlags& flags, const PinFlags& pin) {
  Stores stores(flags);
  if (stores.code() != 0) return stores.code();
  PinStore* store = stores.of(pin.tool);
  if (store == nullptr) return 1;
  auto file = store->read();
  if (!file) return fail_with(file.error());
  if (!file->seen.contains(pin.tool) && !file->approved.contains(pin.tool)) {
    fmt::print(stderr, "{}: not seen yet; is the service running?\n", base::for_terminal(pin.tool));
    return 1;
  }
  print_state(*file, pin.tool);
  print_differences(*file, pin.tool);
  return 0;
}

int approve_pin(const ConfigFlags& flags, const PinFlags& pin) {
  Stores stores(flags);
  if (stores.code() != 0) return stores.code();
  PinStore* store = stores.of(pin.tool);
  if (store == nullptr) return 1;
  auto file = store->read();
  if (!file) return fail_with(file.error());
  for (const auto& id : meant(*file, pin.tool)) {
    auto seen = file->seen.find(id);
    std::string wanted = pin.pin;
    if (wanted.empty() && seen != file->seen.end()) wanted = seen->second.pin;
    if (auto approved = store->approve(id, wanted); !approved) return fail_with(approved.error());
    print_line("approved " + id);
  }
  return 0;
}

int revoke_pin(const ConfigFlags& flags, const PinFlags& pin) {
  Stores stores(flags);
  if (stores.code() != 0) return stores.code();
  PinStore* store = stores.of(pin.tool);
  if (store == nullptr) return 1;
  if (auto revoked = store->revoke(pin.tool); !revoked) return fail_with(revoked.error());
  print_line("revoked " + pin.tool);
  return 0;
}

}  // namespace tool::app
