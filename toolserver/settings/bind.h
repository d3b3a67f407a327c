#pragma once

// From a member of SecureConfig to a row: one overload for each type that a
// member has. Included by the files that make rows, and by nothing else.

#include <array>
#include <cstdlib>
#include <optional>

#include "toolserver/settings/rows.h"
#include "toolserver/settings/text_rules.h"

namespace tool::settings {

/// The words of an enumeration, in the order of its enumerators.
template <class Enum>
inline constexpr std::array<std::string_view, 0> kWords{};
template <>
inline constexpr std::array kWords<Mode> = {std::string_view("simple"), std::string_view("basic"),
                                            std::string_view("encrypted"),
                                            std::string_view("enterprise")};
template <>
inline constexpr std::array kWords<JwtAlgorithm> = {std::string_view("hs256"),
                                                    std::string_view("rs256")};
template <>
inline constexpr std::array kWords<ClientCertificate> = {
    std::string_view("none"), std::string_view("optional"), std::string_view("required")};
template <>
inline constexpr std::array kWords<Discovery> = {
    std::string_view("static"), std::string_view("dns"), std::string_view("consul"),
    std::string_view("etcd")};
template <>
inline constexpr std::array kWords<FailMode> = {std::string_view("closed"),
                                                std::string_view("open")};
template <>
inline constexpr std::array kWords<AuditFailure> = {std::string_view("block"),
                                                    std::string_view("continue")};
template <>
inline constexpr std::array kWords<AuditDurability> = {std::string_view("written"),
                                                       std::string_view("synced")};
template <>
inline constexpr std::array kWords<base::log::Format> = {std::string_view("json"),
                                                         std::string_view("text")};
template <>
inline constexpr std::array kWords<base::log::Level> = {
    std::string_view("debug"), std::string_view("info"), std::string_view("warning"),
    std::string_view("error")};

template <class Enum>
base::config::ChoiceType choice() {
  return {{kWords<Enum>.begin(), kWords<Enum>.end()}};
}

namespace bind {

using base::config::SettingValue;

// The table and the rows are of one making, so another type is a defect.
template <class T>
const T& held(const SettingValue& value) {
  const T* found = std::get_if<T>(&value);
  if (found == nullptr) std::abort();
  return *found;
}

inline void put(std::string& to, const SettingValue& value) { to = held<std::string>(value); }
inline void put(bool& to, const SettingValue& value) { to = held<bool>(value); }
inline void put(Path& to, const SettingValue& value) { to = held<std::string>(value); }
inline void put(Duration& to, const SettingValue& value) {
  to = held<std::chrono::microseconds>(value);
}
inline void put(base::Secret& to, const SettingValue& value) { to = held<base::Secret>(value); }
inline void put(std::uint16_t& to, const SettingValue& value) {
  to = static_cast<std::uint16_t>(held<std::int64_t>(value));
}
inline void put(std::size_t& to, const SettingValue& value) {
  const auto* bytes = std::get_if<base::config::Bytes>(&value);
  to = bytes != nullptr ? bytes->count : static_cast<std::size_t>(held<std::int64_t>(value));
}
inline void put(std::vector<std::string>& to, const SettingValue& value) {
  to = held<std::vector<std::string>>(value);
}
inline void put(std::vector<Path>& to, const SettingValue& value) {
  const auto& items = held<std::vector<std::string>>(value);
  to.assign(items.begin(), items.end());
}
inline void put(std::vector<Peer>& to, const SettingValue& value) {
  to.clear();
  for (const auto& item : held<std::vector<std::string>>(value)) {
    auto peer = parse_peer(item);
    if (!peer) std::abort();
    to.push_back(std::move(*peer));
  }
}
template <class Enum>
  requires std::is_enum_v<Enum>
void put(Enum& to, const SettingValue& value) {
  for (std::size_t i = 0; i < kWords<Enum>.size(); ++i) {
    if (kWords<Enum>[i] == held<std::string>(value)) to = static_cast<Enum>(i);
  }
}

inline bool same(const base::Secret& a, const base::Secret& b) { return a.equals(b.reveal()); }
template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}

inline void resolve(Path& path, const Path& folder) {
  if (!path.empty() && path.is_relative()) path = folder / path;
}
inline void resolve(std::vector<Path>& paths, const Path& folder) {
  for (auto& path : paths) resolve(path, folder);
}
inline void resolve(std::vector<Peer>& peers, const Path& folder) {
  for (auto& peer : peers) resolve(peer.proof_public_key_path, folder);
}
template <class T>
void resolve(T&, const Path&) {}

}  // namespace bind

/// The rows of one heading of the documentation.
class Rows {
 public:
  Rows(std::string_view heading, Change change) : heading_(heading), change_(change) {}

  /// `get` names the member: `[](auto& config) -> auto& { return config.core.mode; }`.
  template <class Get>
  Rows& add(std::string_view path, Get, base::config::SettingType type,
            std::string_view default_text, std::string_view help,
            std::optional<Change> change = std::nullopt) {
    Row row;
    row.setting = base::config::setting_at(path, std::move(type), default_text, heading_, help);
    row.change = change.value_or(change_);
    row.put = [](SecureConfig& config, const base::config::SettingValue& value) {
      bind::put(Get()(config), value);
    };
    row.copy = [](SecureConfig& to, const SecureConfig& from) { Get()(to) = Get()(from); };
    row.equal = [](const SecureConfig& a, const SecureConfig& b) {
      return bind::same(Get()(a), Get()(b));
    };
    row.resolve = [](SecureConfig& config, const Path& folder) {
      bind::resolve(Get()(config), folder);
    };
    rows_.push_back(std::move(row));
    return *this;
  }

  [[nodiscard]] std::vector<Row> done() && { return std::move(rows_); }

 private:
  std::string_view heading_;
  Change change_;
  std::vector<Row> rows_;
};

}  // namespace tool::settings

/// Names a member of SecureConfig for Rows::add.
#define SETTINGS_MEMBER(member) [](auto& config) -> auto& { return config.member; }
