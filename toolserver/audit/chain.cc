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

// A member and its comma after what stands in `out`.
void append_member(std::string& out, std::string_view key, std::string_view json) {
  if (out.back() != '{') out += ',';
  out += '"';
  out += key;
  out += "\":";
  out += json;
}

// Of a record in one part or in two.
Digest hash_of(const Digest& prev, std::string_view record, std::string_view rest = {}) {
  base::crypto::Sha256 hash;
  hash.update(view(prev)).update(record).update(rest);
  return hash.finish();
}

std::string quoted_hex(const Digest& hash) { return '"' + base::crypto::to_hex(view(hash)) + '"'; }

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

void link(ChainHead& head, const LineParts& parts, std::string& out) {
  std::string rest;
  rest.reserve(parts.before_prev.size() + parts.before_seq.size() + parts.after_seq.size() + 128);
  rest += ',';
  rest += parts.before_prev;
  append_member(rest, "prev", quoted_hex(head.hash));
  rest += ',';
  rest += parts.before_seq;
  append_member(rest, "seq", fmt::format_int(head.seq + 1).str());
  rest += ',';
  rest += parts.after_seq;
  head.hash = hash_of(head.hash, parts.before_hash, rest);
  head.seq += 1;
  out.reserve(out.size() + parts.before_hash.size() + rest.size() + 128);
  out += parts.before_hash;
  append_member(out, "hash", quoted_hex(head.hash));
  out += rest;
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
