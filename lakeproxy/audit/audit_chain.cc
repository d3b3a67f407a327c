#include "lakeproxy/audit/audit_chain.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/crypto/encoding.h"
#include "base/json/canonical.h"
#include "base/json/zero_escape.h"

namespace lake::audit {
namespace {

constexpr std::size_t kMaxText = 512;  // Two of them fit into an entry of an index.
constexpr std::size_t kMaxNames = 1000;
constexpr std::size_t kMaxDetail = 16 << 10;

std::string storable(const std::string& text, std::size_t most) {
  const bool good = base::is_utf8(text) && !text.contains('\0');
  return base::shorten(good ? text : base::for_terminal(text), most);
}

void make_storable(std::vector<std::string>& names) {
  if (names.size() > kMaxNames) names.resize(kMaxNames);
  for (std::string& name : names) name = storable(name, kMaxText);
}

base::json::Array array_of(const std::vector<std::string>& names) {
  base::json::Array array;
  for (const std::string& name : names) array.emplace_back(name);
  return array;
}

base::json::Object detail_of(const std::string& text) {
  if (text.empty()) return {};
  auto parsed = base::json::parse(text, {.bytes = kMaxDetail});
  const bool good = parsed && parsed->is_object() && !base::json::has_zero_escape(text) &&
                    base::json::canonical(*parsed);
  if (good) return std::move(parsed->get_object());
  return {{"text", storable(text, kMaxDetail)}};
}

}  // namespace

std::string to_text(base::WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", seconds, (time - seconds).count());
}

AuditLine line_of(AuditRecord record, base::WallTime time, std::string request_id) {
  for (std::string* text : {&record.operation, &record.object, &record.decision, &record.principal,
                            &record.issuer, &record.actor}) {
    *text = storable(*text, kMaxText);
  }
  make_storable(record.masked_cols);
  make_storable(record.applied_policies);
  AuditLine line{.ts = to_text(time), .request_id = std::move(request_id)};
  line.detail = detail_of(record.detail);
  record.detail.clear();
  line.record = std::move(record);
  return line;
}

base::json::Object members_of(const AuditLine& line, const base::crypto::Digest& previous) {
  const AuditRecord& record = line.record;
  return {{"id", line.id},
          {"ts", line.ts},
          {"principal", record.principal},
          {"issuer", record.issuer},
          {"actor", record.actor},
          {"operation", record.operation},
          {"object", record.object},
          {"decision", record.decision},
          {"masked_cols", array_of(record.masked_cols)},
          {"applied_policies", array_of(record.applied_policies)},
          {"detail", line.detail},
          {"request_id", line.request_id},
          {"previous_hash", base::crypto::to_hex(base::crypto::view(previous))}};
}

base::crypto::Digest hash_of(const base::json::Object& members) {
  // What was stored has a canonical form; what was put there by others may have none, and then is
  // no line of ours: the hash of nothing fits nowhere.
  auto text = base::json::canonical(members);
  return base::crypto::sha256(text ? std::string_view(*text) : std::string_view());
}

}  // namespace lake::audit
