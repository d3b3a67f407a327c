#include "toolserver/outcomes/outcome.h"

#include <utility>

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "base/json/fields.h"

namespace tool::outcomes {
namespace {

namespace json = base::json;
using base::ErrorKind;
using base::fail;
using base::json::Fields;
using std::chrono::microseconds;

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMostBytes = 64 << 20;  // Of one part, as a tool may answer it.
constexpr std::size_t kDepth = 80;            // A message has 64; the record is around its answer.

std::int64_t micros(base::WallTime time) {
  return std::chrono::duration_cast<microseconds>(time.time_since_epoch()).count();
}

// A count, or a time, to which any retention can be added.
base::Result<std::int64_t> read_number(const Fields& fields, std::string_view member) {
  constexpr std::int64_t kMost = 253'402'300'799'999'999;  // The year 9999, in microseconds.
  ASSIGN_OR_RETURN(auto number, fields.int64(member));
  if (number >= 0 && number <= kMost) return number;
  return fail(ErrorKind::kInvalid, fields.path_of(member));
}

json::Object write_part(const Content& part) {
  return {{"media_type", part.media_type},
          {"data", base::crypto::to_base64url(part.data)},
          {"part_of", static_cast<int>(part.part_of)},
          {"uri", part.uri},
          {"name", part.name}};
}

base::Result<Content> read_part(const Fields& fields) {
  Content part;
  ASSIGN_OR_RETURN(part.media_type, fields.string("media_type"));
  ASSIGN_OR_RETURN(auto data, fields.string("data"));
  ASSIGN_OR_RETURN(part.data, base::crypto::from_base64url(data, kMostBytes));
  ASSIGN_OR_RETURN(auto part_of, fields.int32("part_of"));
  if (part_of < 0 || part_of > static_cast<int>(PartOf::kLink)) {
    return fail(ErrorKind::kInvalid, fields.path_of("part_of"));
  }
  part.part_of = static_cast<PartOf>(part_of);
  ASSIGN_OR_RETURN(part.uri, fields.string("uri"));
  ASSIGN_OR_RETURN(part.name, fields.string("name"));
  return part;
}

json::Object write_answer(const Answer& answer) {
  json::Object out{{"is_error", answer.result.is_error},
                   {"ms", answer.time.count()},
                   {"bytes", answer.bytes},
                   {"redactions", answer.redactions}};
  auto& content = out["content"].emplace_array();
  for (const Content& part : answer.result.content) content.push_back(write_part(part));
  if (answer.result.structured) out["structured"] = *answer.result.structured;
  return out;
}

base::Result<Answer> read_answer(const Fields& fields) {
  Answer answer;
  ASSIGN_OR_RETURN(answer.result.is_error, fields.boolean("is_error"));
  ASSIGN_OR_RETURN(auto ms, read_number(fields, "ms"));
  ASSIGN_OR_RETURN(auto bytes, read_number(fields, "bytes"));
  ASSIGN_OR_RETURN(auto redactions, read_number(fields, "redactions"));
  answer.time = std::chrono::milliseconds(ms);
  answer.bytes = static_cast<std::size_t>(bytes);
  answer.redactions = static_cast<std::uint64_t>(redactions);
  ASSIGN_OR_RETURN(auto parts, fields.objects("content"));
  for (const Fields& one : parts) {
    ASSIGN_OR_RETURN(auto part, read_part(one));
    answer.result.content.push_back(std::move(part));
  }
  if (const auto* structured = fields.find("structured")) answer.result.structured = *structured;
  return answer;
}

json::Object write_fault(const Fault& fault) {
  json::Object out{{"code", name(fault.code)}, {"message", fault.message}};
  if (fault.retry_after) out["retry_ms"] = fault.retry_after->count();
  return out;
}

base::Result<Fault> read_fault(const Fields& fields) {
  ASSIGN_OR_RETURN(auto text, fields.string("code"));
  auto code = code_of(text);
  if (!code) return fail(ErrorKind::kInvalid, fields.path_of("code"));
  ASSIGN_OR_RETURN(auto message, fields.string("message"));
  Fault fault = refuse(*code, std::move(message));
  if (!fields.has("retry_ms")) return fault;
  ASSIGN_OR_RETURN(auto retry, read_number(fields, "retry_ms"));
  fault.retry_after = std::chrono::milliseconds(retry);
  return fault;
}

json::Object write_ended(const Ended& ended) {
  const auto& receipt = ended.receipt;
  json::Object out{{"status", ended.status},
                   {"receipt",
                    {{"seq", receipt.seq},
                     {"hash", receipt.hash},
                     {"node", receipt.node},
                     {"kid", receipt.kid},
                     {"signature", receipt.signature}}}};
  if (ended.answer) out["answer"] = write_answer(*ended.answer);
  if (ended.fault) out["fault"] = write_fault(*ended.fault);
  return out;
}

base::Result<Ended> read_ended(const Fields& fields) {
  Ended ended;
  ASSIGN_OR_RETURN(ended.status, fields.string("status"));
  ASSIGN_OR_RETURN(auto receipt, fields.object("receipt"));
  ASSIGN_OR_RETURN(auto seq, read_number(receipt, "seq"));
  ended.receipt.seq = static_cast<std::uint64_t>(seq);
  ASSIGN_OR_RETURN(ended.receipt.hash, receipt.string("hash"));
  ASSIGN_OR_RETURN(ended.receipt.node, receipt.string("node"));
  ASSIGN_OR_RETURN(ended.receipt.kid, receipt.string("kid"));
  ASSIGN_OR_RETURN(ended.receipt.signature, receipt.string("signature"));
  ASSIGN_OR_RETURN(auto answer, fields.opt_object("answer"));
  if (answer) {
    ASSIGN_OR_RETURN(ended.answer, read_answer(*answer));
  }
  ASSIGN_OR_RETURN(auto fault, fields.opt_object("fault"));
  if (fault) {
    ASSIGN_OR_RETURN(ended.fault, read_fault(*fault));
  }
  return ended;
}

}  // namespace

std::size_t Ended::size() const {
  std::size_t bytes = 256 + status.size();
  if (fault) bytes += fault->message.size();
  if (!answer) return bytes;
  for (const Content& part : answer->result.content) {
    bytes += 128 + part.media_type.size() + part.data.size() + part.uri.size() + part.name.size();
  }
  if (answer->result.structured) bytes += json::write(*answer->result.structured).size();
  return bytes;
}

std::string write_kept(const Kept& kept) {
  json::Object out{{"version", kVersion},           {"principal", kept.name.principal},
                   {"tool", kept.name.tool},        {"rid", kept.name.request_id},
                   {"args_h", kept.name.args_hash}, {"began_us", micros(kept.began)}};
  if (kept.ended) {
    out["ended_us"] = micros(kept.ended_at);
    out["ended"] = write_ended(*kept.ended);
  }
  return json::write(out);
}

base::Result<Kept> read_kept(std::string_view text) {
  ASSIGN_OR_RETURN(auto value, json::parse(text, {.bytes = 2 * kMostBytes, .depth = kDepth}));
  ASSIGN_OR_RETURN(auto fields, Fields::of(value, "record"));
  ASSIGN_OR_RETURN(auto version, fields.int64("version"));
  if (version != kVersion) return fail(ErrorKind::kInvalid, "record.version: must be 1");
  Kept kept;
  ASSIGN_OR_RETURN(kept.name.principal, fields.string("principal"));
  ASSIGN_OR_RETURN(kept.name.tool, fields.string("tool"));
  ASSIGN_OR_RETURN(kept.name.request_id, fields.string("rid"));
  ASSIGN_OR_RETURN(kept.name.args_hash, fields.string("args_h"));
  ASSIGN_OR_RETURN(auto began, read_number(fields, "began_us"));
  kept.began = base::WallTime(microseconds(began));
  ASSIGN_OR_RETURN(auto ended, fields.opt_object("ended"));
  if (!ended) return kept;
  ASSIGN_OR_RETURN(kept.ended, read_ended(*ended));
  ASSIGN_OR_RETURN(auto ended_at, read_number(fields, "ended_us"));
  kept.ended_at = base::WallTime(microseconds(ended_at));
  return kept;
}

std::string key_digest(const CallName& name) {
  // Lengths keep the three apart.
  std::string text = std::to_string(name.principal.size()) + ':' + name.principal +
                     std::to_string(name.tool.size()) + ':' + name.tool + name.key;
  auto digest = base::crypto::sha256(text);
  return base::crypto::to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace tool::outcomes
