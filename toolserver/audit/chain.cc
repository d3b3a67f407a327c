#include "toolserver/audit/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/crypto/encoding.h"
#include "base/json/canonical.h"

namespace tool::audit {
namespace {

using base::crypto::Digest;
using base::crypto::view;

constexpr std::size_t kHexBytes = 2 * sizeof(Digest);
// The three members that the chain adds, at the longest.
constexpr std::size_t kChainBytes = 2 * (kHexBytes + 12) + 32;

// Of a record in one part or in two.
Digest hash_of(const Digest& prev, std::string_view record, std::string_view rest = {}) {
  thread_local base::crypto::Sha256 hash;  // Twice for every call: set up once.
  hash.update(view(prev)).update(record).update(rest);
  return hash.finish();
}

std::string text_member(const base::json::Object& record, std::string_view key) {
  const auto* value = record.if_contains(key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

bool has_frame(const base::json::Object& record) {
  auto text = [&](std::string_view key) { return !text_member(record, key).empty(); };
  const auto* seq = record.if_contains("seq");
  return text("hash") && text("prev") && text("kind") && text("node") && text("boot") &&
         text("ts") && seq && seq->is_int64() && seq->get_int64() > 0;
}

}  // namespace

std::string ChainHead::hash_text() const { return base::crypto::to_hex(view(hash)); }

void link(ChainHead& head, const OpenLine& line, std::string& out) {
  std::size_t start = out.size();
  out.reserve(start + line.text.size() + kChainBytes);
  std::string_view text = line.text;
  out += text.substr(0, line.hash_at);
  out += R"(,"hash":")";
  std::size_t hash_at = out.size();
  out.append(kHexBytes, '0');
  out += '"';
  std::size_t rest = out.size();
  out += text.substr(line.hash_at, line.prev_at - line.hash_at);
  out += R"(,"prev":")";
  out += head.hash_text();
  out += '"';
  out += text.substr(line.prev_at, line.seq_at - line.prev_at);
  out += R"(,"seq":)";
  fmt::format_int number(head.seq + 1);
  out.append(number.data(), number.size());
  out += text.substr(line.seq_at);
  std::string_view linked = out;
  head.hash = hash_of(head.hash, linked.substr(start, line.hash_at), linked.substr(rest));
  head.seq += 1;
  out.replace(hash_at, kHexBytes, head.hash_text());
  out += '\n';
}

void link(ChainHead& head, base::json::Object members, std::string& out) {
  members["prev"] = boost::json::string(head.hash_text());
  members["seq"] = head.seq + 1;
  auto record = base::json::canonical(members);
  if (!record) std::abort();
  head.hash = hash_of(head.hash, *record);
  head.seq += 1;
  members["hash"] = boost::json::string(head.hash_text());
  out += *base::json::canonical(members);
  out += '\n';
}

std::string_view name(LineFault fault) {
  switch (fault) {
    case LineFault::kNotJson: return "not_json";
    case LineFault::kNotCanonical: return "not_canonical";
    case LineFault::kFields: return "fields";
    case LineFault::kSeq: return "seq";
    case LineFault::kPrev: return "prev";
    case LineFault::kHash: return "hash";
  }
  std::abort();
}

std::expected<base::json::Object, LineFault> follow(ChainHead& head, std::string_view line) {
  auto parsed = base::json::parse(line, {.bytes = kMaxLine});
  if (!parsed || !parsed->is_object()) return std::unexpected(LineFault::kNotJson);
  base::json::Object record = std::move(parsed->get_object());
  auto text = base::json::canonical(record);
  if (!text || *text != line) return std::unexpected(LineFault::kNotCanonical);
  if (!has_frame(record)) return std::unexpected(LineFault::kFields);
  if (static_cast<std::uint64_t>(record.at("seq").get_int64()) != head.seq + 1) {
    return std::unexpected(LineFault::kSeq);
  }
  if (text_member(record, "prev") != head.hash_text()) return std::unexpected(LineFault::kPrev);
  std::string named = text_member(record, "hash");
  base::json::Object without = record;
  without.erase("hash");
  auto bare = base::json::canonical(without);
  if (!bare) return std::unexpected(LineFault::kNotCanonical);
  ChainHead next{head.seq + 1, hash_of(head.hash, *bare)};
  if (next.hash_text() != named) return std::unexpected(LineFault::kHash);
  head = next;
  return record;
}

}  // namespace tool::audit
