#include "toolserver/transport/tool_payloads.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/crypto/encoding.h"
#include "base/json/canonical.h"
#include "base/json/fields.h"
#include "toolserver/model/envelope.h"
#include "toolserver/model/ulid.h"

namespace tool::transport {
namespace {

namespace json = base::json;

constexpr std::int64_t kMaxPage = 1000;
constexpr std::chrono::milliseconds kMostAge = std::chrono::hours(24 * 365);
constexpr std::size_t kFilterCharacters = 129;  // The longest id.

Fault shape(const base::Error& error) { return refuse(Code::kShape, error.message()); }

Outcome<std::size_t> read_cursor(const std::string& text) {
  std::size_t from = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), from);
  if (error != std::errc() || end != text.data() + text.size()) {
    return refuse(Code::kShape, "p.cursor: must be one that cap.list gave");
  }
  return from;
}

// Empty where there is none.
Outcome<std::string> read_idem(const json::Object& payload) {
  const auto* idem = payload.if_contains("idem");
  if (idem == nullptr) return std::string();
  if (!idem->is_string() || !pipeline::is_idempotency_key(std::string_view(idem->get_string()))) {
    return refuse(Code::kShape, "p.idem: must be 1 to 128 characters from ! to ~");
  }
  return std::string(idem->get_string());
}

// False where it is not there.
Outcome<bool> read_flag(const json::Object& payload, std::string_view name) {
  const auto* flag = payload.if_contains(boost::json::string_view(name.data(), name.size()));
  if (flag == nullptr) return false;
  if (flag->is_bool()) return flag->get_bool();
  return refuse(Code::kShape, "p." + std::string(name) + ": must be a boolean");
}

// What tool.invoke and fed.forward have in common. `request` is either.
template <class T>
Outcome<void> read_flags(const json::Object& payload, T& request) {
  auto dry_run = read_flag(payload, "dry_run");
  if (!dry_run) return std::move(dry_run).error();
  auto stream = read_flag(payload, "stream");
  if (!stream) return std::move(stream).error();
  request.dry_run = *dry_run;
  if (*stream) request.form = pipeline::ContentForm::kStreamed;
  return {};
}

}  // namespace

Outcome<ListRequest> read_list(const json::Object& payload) {
  ListRequest request;
  json::Value value(payload);
  auto fields = json::Fields::of(value, "p");
  if (!fields) return shape(fields.error());
  auto cursor = fields->opt_string("cursor");
  if (!cursor) return shape(cursor.error());
  if (*cursor) {
    auto from = read_cursor(**cursor);
    if (!from) return std::move(from).error();
    request.from = *from;
  }
  auto filter = fields->opt_string("filter");
  if (!filter) return shape(filter.error());
  request.filter = filter->value_or("");
  if (request.filter.size() > kFilterCharacters) {
    return refuse(Code::kShape, "p.filter: must be at most 129 characters");
  }
  auto etag = fields->opt_string("etag");
  if (!etag) return shape(etag.error());
  request.etag = etag->value_or("");
  auto limit = fields->opt_int64("limit");
  if (!limit) return shape(limit.error());
  if (*limit) {
    if (**limit < 1 || **limit > kMaxPage) {
      return refuse(Code::kShape, "p.limit: must be 1 to 1000");
    }
    request.limit = static_cast<std::size_t>(**limit);
  }
  return request;
}

Outcome<std::chrono::milliseconds> read_wait(const json::Object& payload) {
  const auto* wait = payload.if_contains("wait_ms");
  if (wait == nullptr) return std::chrono::milliseconds(0);
  if (!wait->is_int64() || wait->get_int64() < 0 || wait->get_int64() > kMostWait.count()) {
    return refuse(Code::kShape, "p.wait_ms: must be 0 to 30000");
  }
  return std::chrono::milliseconds(wait->get_int64());
}

Outcome<std::string> read_tool(const json::Object& payload) {
  const auto* tool = payload.if_contains("tool");
  if (tool == nullptr || !tool->is_string()) {
    return refuse(Code::kShape, "p.tool: must be a text");
  }
  return std::string(tool->get_string());
}

Outcome<SessionChoice> read_session_choice(const json::Object& payload) {
  constexpr std::size_t kMaxValue = 1024;
  const auto* id = payload.if_contains("session_id");
  const auto* subject = payload.if_contains("sub");
  if ((id == nullptr) == (subject == nullptr)) {
    return refuse(Code::kShape, "p: must have either session_id or sub");
  }
  SessionChoice choice{id != nullptr ? "session_id" : "sub", {}};
  const auto* value = id != nullptr ? id : subject;
  if (!value->is_string() || value->get_string().empty() ||
      value->get_string().size() > kMaxValue) {
    return refuse(Code::kShape, "p." + choice.member + ": must be a text of 1 to 1024 bytes");
  }
  choice.value = value->get_string();
  return choice;
}

Outcome<ConsentChoice> read_consent_choice(const json::Object& payload) {
  constexpr std::size_t kMaxSubject = 1024;
  const auto* id = payload.if_contains("id");
  const auto* subject = payload.if_contains("sub");
  if ((id == nullptr) == (subject == nullptr)) {
    return refuse(Code::kShape, "p: must have either id or sub");
  }
  ConsentChoice choice;
  if (id != nullptr) {
    if (!id->is_int64() || id->get_int64() < 1) {
      return refuse(Code::kShape, "p.id: must be the number of an approval");
    }
    choice.id = id->get_int64();
    return choice;
  }
  if (!subject->is_string() || subject->get_string().empty() ||
      subject->get_string().size() > kMaxSubject) {
    return refuse(Code::kShape, "p.sub: must be a text of 1 to 1024 bytes");
  }
  choice.subject = subject->get_string();
  return choice;
}

Outcome<InvokeRequest> read_invoke(json::Object payload) {
  InvokeRequest request;
  auto tool = read_tool(payload);
  if (!tool) return std::move(tool).error();
  request.tool = std::move(*tool);
  auto* args = payload.if_contains("args");
  if (args == nullptr || !args->is_object()) {
    return refuse(Code::kShape, "p.args: must be an object");
  }
  request.args = std::move(args->get_object());
  if (auto flags = read_flags(payload, request); !flags) return std::move(flags).error();
  auto idem = read_idem(payload);
  if (!idem) return std::move(idem).error();
  request.idem = std::move(*idem);
  if (request.dry_run && !request.idem.empty()) {
    return refuse(Code::kShape, "p.idem: a dry run does nothing once");
  }
  return request;
}

Outcome<std::string> read_id(const json::Object& payload) {
  const auto* id = payload.if_contains("id");
  if (id == nullptr || !id->is_string() || !Ulid::parse(std::string_view(id->get_string()))) {
    return refuse(Code::kShape, "p.id: must be a ULID");
  }
  return std::string(id->get_string());
}

Outcome<ForwardRequest> read_forward(json::Object payload) {
  constexpr std::size_t kProofs = 8;
  ForwardRequest request;
  auto tool = read_tool(payload);
  if (!tool) return std::move(tool).error();
  request.tool = std::move(*tool);
  auto* args = payload.if_contains("args");
  if (args == nullptr || !args->is_object()) {
    return refuse(Code::kShape, "p.args: must be an object");
  }
  request.args = std::move(args->get_object());
  const auto* proofs = payload.if_contains("proofs");
  if (proofs == nullptr || !proofs->is_array() || proofs->get_array().empty() ||
      proofs->get_array().size() > kProofs) {
    return refuse(Code::kShape, "p.proofs: must be a list of 1 to 8 texts");
  }
  for (const auto& one : proofs->get_array()) {
    if (!one.is_string()) return refuse(Code::kShape, "p.proofs: must be a list of 1 to 8 texts");
    request.proofs.emplace_back(one.get_string());
  }
  auto idem = read_idem(payload);
  if (!idem) return std::move(idem).error();
  request.idem.key = std::move(*idem);
  if (auto flags = read_flags(payload, request); !flags) return std::move(flags).error();
  if (request.dry_run && !request.idem.key.empty()) {
    return refuse(Code::kShape, "p.idem: a dry run does nothing once");
  }
  const auto* age = payload.if_contains("again_ms");
  if (age == nullptr) return request;
  if (request.idem.key.empty() || !age->is_int64() || age->get_int64() < 1 ||
      age->get_int64() > kMostAge.count()) {
    return refuse(Code::kShape, "p.again_ms: must be 1 to 31536000000, beside an idem");
  }
  request.idem.age = std::chrono::milliseconds(age->get_int64());
  return request;
}

Payload write_page(ToolPage page) {
  if (page.is_unchanged) return std::move(page.others);
  auto others = json::canonical(page.others);
  bool is_written = others && std::ranges::none_of(page.tools, [](const auto& tool) {
                      return tool->written.empty();
                    });
  if (!is_written) {
    json::Array records;
    for (const auto& tool : page.tools) records.push_back(tool->record);
    page.others["capabilities"] = std::move(records);
    return std::move(page.others);
  }
  std::size_t size = others->size() + 32;
  for (const auto& tool : page.tools) size += tool->written.size() + 1;
  WrittenPayload payload;
  std::string& text = payload.text;
  text.reserve(size);
  text += R"({"capabilities":[)";
  for (const auto& tool : page.tools) {
    text += tool->written;
    text += ',';
  }
  if (!page.tools.empty()) text.pop_back();
  text += "],";
  text += std::string_view(*others).substr(1);
  return payload;
}

json::Object write_content(Content content) {
  json::Object out;
  out.reserve(3);
  // The wire has no links of its own. Source: RFC 2483, section 5.
  if (content.part_of == PartOf::kLink) content = {"text/uri-list", std::move(content.uri)};
  bool text = content.is_text();
  out["type"] = text ? "text" : "data";
  out["media_type"] = content.media_type;
  if (text) {
    out["text"] = std::move(content.data);
  } else {
    out["data"] = base::crypto::to_base64url(content.data);
  }
  return out;
}

json::Object write_reply(pipeline::PipelineReply reply, json::Array content) {
  json::Object out;
  out.reserve(7);
  out["content"] = std::move(content);
  if (reply.result.structured) out["structured"] = std::move(*reply.result.structured);
  out["is_error"] = reply.result.is_error;
  out["usage"] = {{"ms", reply.usage.time.count()}, {"bytes", reply.usage.bytes}};
  out["redactions"] = reply.redactions;
  if (!reply.repeats.empty()) out["repeats"] = reply.repeats;
  auto& receipt = out["audit"].emplace_object();
  receipt.reserve(4);
  receipt["seq"] = reply.receipt.seq;
  receipt["hash"] = reply.receipt.hash;
  if (!reply.receipt.signature.empty()) {
    receipt["node"] = reply.receipt.node;
    receipt["sig"] = {{"kid", reply.receipt.kid}, {"v", reply.receipt.signature}};
  }
  return out;
}

json::Object write_outcome(outcomes::Seen seen) {
  auto millis = [](base::WallTime time) { return wire_time(time).time_since_epoch().count(); };
  json::Object out{{"state", name(seen.state)}, {"since", millis(seen.since)}};
  if (seen.state == outcomes::State::kNever) return out;
  out["tool"] = seen.tool;
  out["began"] = millis(seen.began);
  if (!seen.ended) return out;
  out["status"] = seen.ended->status;
  auto& receipt = seen.ended->receipt;
  if (receipt.seq > 0) out["audit"] = {{"seq", receipt.seq}, {"hash", receipt.hash}};
  if (!seen.ended->answer) return out;
  auto& answer = *seen.ended->answer;
  pipeline::PipelineReply reply;
  json::Array content;
  for (auto& part : answer.result.content) content.push_back(write_content(std::move(part)));
  answer.result.content.clear();
  reply.result = std::move(answer.result);
  reply.usage = {answer.time, answer.bytes};
  reply.redactions = answer.redactions;
  reply.receipt = std::move(receipt);
  out["answer"] = write_reply(std::move(reply), std::move(content));
  return out;
}

}  // namespace tool::transport
