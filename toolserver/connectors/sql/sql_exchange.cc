#include "toolserver/connectors/sql/sql_exchange.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/core/text.h"
#include "base/json/fields.h"

namespace tool::connectors {
namespace {

using base::ErrorKind;
using base::json::Array;
using base::json::Fields;
using base::json::Object;
using base::json::Value;

// A statement with all its parameters, each character escaped.
constexpr base::json::Limits kOrderLimits{.bytes = 256ULL << 20, .depth = 64};

// The kinds of an answer, and what stands for `structured`.
enum class Kind : std::uint8_t { kResult, kFault };
enum class Structured : std::uint8_t { kNone, kAsContent, kOwn };

constexpr std::uint64_t kMostContents = 16;
constexpr std::uint64_t kNoRetry = ~0ULL;

void put_number(std::string& out, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i));
}
void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out += text;
}

/// Takes what put_number() and put_text() put; after a mistake nothing more.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}

  std::uint64_t number() {
    if (left_.size() < 8) return fail();
    std::uint64_t value = 0;
    for (std::size_t i = 8; i-- > 0;) value = value << 8 | static_cast<unsigned char>(left_[i]);
    left_.remove_prefix(8);
    return value;
  }
  std::string_view text() {
    std::uint64_t size = number();
    if (size > left_.size()) {
      fail();
      return {};
    }
    std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool done() const { return ok_ && left_.empty(); }

 private:
  std::uint64_t fail() {
    ok_ = false;
    left_ = {};
    return 0;
  }
  std::string_view left_;
  bool ok_ = true;
};

std::string encode_fault(const Fault& fault) {
  std::string out;
  put_number(out, static_cast<std::uint64_t>(Kind::kFault));
  put_text(out, name(fault.code));
  put_text(out, fault.message);
  put_text(out, fault.detail);
  put_number(out,
             fault.retry_after ? static_cast<std::uint64_t>(fault.retry_after->count()) : kNoRetry);
  return out;
}

bool is_json(const Content& content) { return content.media_type == "application/json"; }

std::string encode_result(const ToolResult& result) {
  std::string out;
  put_number(out, static_cast<std::uint64_t>(Kind::kResult));
  put_number(out, result.is_error ? 1 : 0);
  put_number(out, result.content.size());
  for (const Content& content : result.content) {
    put_text(out, content.media_type);
    put_text(out, content.data);
  }
  // An answer in JSON has the same value as its text, which is sent once.
  if (!result.structured) {
    put_number(out, static_cast<std::uint64_t>(Structured::kNone));
  } else if (result.content.size() == 1 && is_json(result.content.front())) {
    put_number(out, static_cast<std::uint64_t>(Structured::kAsContent));
  } else {
    put_number(out, static_cast<std::uint64_t>(Structured::kOwn));
    put_text(out, base::json::write(*result.structured));
  }
  return out;
}

base::Error corrupt(std::string_view what) {
  return base::fail(ErrorKind::kCorrupt, fmt::format("an answer's {} is none", what));
}

// The codes that a connector may refuse with, see Connector::invoke.
bool is_of_connectors(Code code) {
  switch (code) {
    case Code::kShape:
    case Code::kPolicy:
    case Code::kLimit:
    case Code::kTimeout:
    case Code::kCancelled:
    case Code::kBusy:
    case Code::kTool:
    case Code::kUpstream:
    case Code::kInternal: return true;
    default: return false;
  }
}

base::Result<Outcome<ToolResult>> read_fault(Bytes& bytes) {
  auto code = code_of(bytes.text());
  std::string message(bytes.text());
  std::string detail(bytes.text());
  std::uint64_t retry = bytes.number();
  if (!bytes.done() || !code || !is_of_connectors(*code)) return corrupt("refusal");
  if (!base::is_utf8(message) || !base::is_utf8(detail)) return corrupt("text");
  Fault fault{*code, std::move(message), std::nullopt, std::move(detail)};
  constexpr std::uint64_t kMostRetry = 3'600'000;
  if (retry != kNoRetry) {
    fault.retry_after = std::chrono::milliseconds(std::min(retry, kMostRetry));
  }
  return Outcome<ToolResult>(std::move(fault));
}

base::Result<Value> read_json(std::string_view text) {
  auto value =
      base::json::parse(text, {.bytes = text.size(), .depth = 1024, .values = text.size() + 1});
  if (!value) return corrupt("JSON");
  return value;
}

base::Result<Outcome<ToolResult>> read_result(Bytes& bytes) {
  ToolResult result;
  std::uint64_t is_error = bytes.number();
  std::uint64_t count = bytes.number();
  if (is_error > 1 || count > kMostContents) return corrupt("head");
  result.is_error = is_error == 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    Content content{std::string(bytes.text()), std::string(bytes.text())};
    if (!base::is_utf8(content.media_type) || (content.is_text() && !base::is_utf8(content.data))) {
      return corrupt("text");
    }
    result.content.push_back(std::move(content));
  }
  auto structured = bytes.number();
  if (structured > static_cast<std::uint64_t>(Structured::kOwn)) return corrupt("value");
  if (structured == static_cast<std::uint64_t>(Structured::kAsContent)) {
    if (count != 1 || !is_json(result.content.front())) return corrupt("value");
    ASSIGN_OR_RETURN(result.structured, read_json(result.content.front().data));
  } else if (structured == static_cast<std::uint64_t>(Structured::kOwn)) {
    if (count == 1 && is_json(result.content.front())) return corrupt("value");
    ASSIGN_OR_RETURN(result.structured, read_json(bytes.text()));
  }
  if (!bytes.done()) return corrupt("end");
  return Outcome<ToolResult>(std::move(result));
}

base::Result<std::uint64_t> count(const Fields& fields, std::string_view name) {
  ASSIGN_OR_RETURN(std::int64_t value, fields.int64(name));
  if (value < 0) {
    return base::fail(ErrorKind::kInvalid, fmt::format("{}: must not be negative", name));
  }
  return static_cast<std::uint64_t>(value);
}

base::Result<SqlOptions> read_options(const Fields& fields) {
  SqlOptions options;
  ASSIGN_OR_RETURN(options.data_dir, fields.string("data_dir"));
  ASSIGN_OR_RETURN(options.enable_external_access, fields.boolean("enable_external_access"));
  ASSIGN_OR_RETURN(options.allow_raw_file_sql, fields.boolean("allow_raw_file_sql"));
  ASSIGN_OR_RETURN(options.brings_tables, fields.boolean("brings_tables"));
  ASSIGN_OR_RETURN(options.memory_bytes, count(fields, "memory_bytes"));
  ASSIGN_OR_RETURN(std::uint64_t threads, count(fields, "threads"));
  options.threads = static_cast<unsigned>(threads);
  ASSIGN_OR_RETURN(options.rows, count(fields, "rows"));
  ASSIGN_OR_RETURN(options.bytes, count(fields, "bytes"));
  ASSIGN_OR_RETURN(std::int64_t time, fields.int64("time"));
  options.time = std::chrono::milliseconds(time);
  ASSIGN_OR_RETURN(options.calls, count(fields, "calls"));
  ASSIGN_OR_RETURN(options.tables, count(fields, "tables"));
  ASSIGN_OR_RETURN(options.statement_bytes, count(fields, "statement_bytes"));
  ASSIGN_OR_RETURN(options.params, count(fields, "params"));
  ASSIGN_OR_RETURN(options.param_bytes, count(fields, "param_bytes"));
  return options;
}

}  // namespace

std::string encode(const SqlOpening& opening) {
  const SqlOptions& options = opening.options;
  Array tables;
  for (const SavedTable& saved : opening.tables) {
    tables.push_back(Object{{"table", saved.table}, {"file", saved.file}});
  }
  return base::json::write(Object{{"data_dir", options.data_dir},
                                  {"enable_external_access", options.enable_external_access},
                                  {"allow_raw_file_sql", options.allow_raw_file_sql},
                                  {"brings_tables", options.brings_tables},
                                  {"memory_bytes", options.memory_bytes},
                                  {"threads", options.threads},
                                  {"rows", options.rows},
                                  {"bytes", options.bytes},
                                  {"time", options.time.count()},
                                  {"calls", options.calls},
                                  {"tables", options.tables},
                                  {"statement_bytes", options.statement_bytes},
                                  {"params", options.params},
                                  {"param_bytes", options.param_bytes},
                                  {"saved", std::move(tables)}});
}

std::string encode(const SqlOrder& order) {
  Array tables;
  for (const auto& table : order.tables) tables.emplace_back(table);
  return base::json::write(Object{{"tool", order.tool},
                                  {"args", order.args},
                                  {"dry_run", order.dry_run},
                                  {"tables", std::move(tables)},
                                  {"time", order.time.count()}});
}

std::string encode(const SqlNote& note) { return fmt::format("{} {}", note.part, note.rows); }

std::string encode(const Outcome<ToolResult>& answer, std::size_t most) {
  std::string bytes = answer ? encode_result(*answer) : encode_fault(answer.error());
  if (bytes.size() <= most) return bytes;
  return encode_fault(refuse(Code::kLimit, "sql: the answer is too long"));
}

base::Result<SqlOpening> read_opening(std::string_view text) {
  ASSIGN_OR_RETURN(Value value, base::json::parse(text));
  ASSIGN_OR_RETURN(Fields fields, Fields::of(value, "opening"));
  SqlOpening opening;
  ASSIGN_OR_RETURN(opening.options, read_options(fields));
  ASSIGN_OR_RETURN(auto saved, fields.objects("saved"));
  for (const Fields& one : saved) {
    ASSIGN_OR_RETURN(std::string table, one.string("table"));
    ASSIGN_OR_RETURN(std::string file, one.string("file"));
    opening.tables.push_back({std::move(table), std::move(file)});
  }
  return opening;
}

base::Result<SqlOrder> read_order(std::string_view text) {
  ASSIGN_OR_RETURN(Value value, base::json::parse(text, kOrderLimits));
  ASSIGN_OR_RETURN(Fields fields, Fields::of(value, "order"));
  SqlOrder order;
  ASSIGN_OR_RETURN(order.tool, fields.string("tool"));
  ASSIGN_OR_RETURN(order.dry_run, fields.boolean("dry_run"));
  ASSIGN_OR_RETURN(order.tables, fields.strings("tables"));
  ASSIGN_OR_RETURN(std::int64_t time, fields.int64("time"));
  order.time = std::chrono::milliseconds(time);
  ASSIGN_OR_RETURN(const Value* args, fields.value("args"));
  if (!args->is_object()) return base::fail(ErrorKind::kInvalid, "args: must be an object");
  order.args = args->get_object();
  return order;
}

std::optional<SqlNote> read_note(std::string_view text) {
  SqlNote note;
  const char* end = text.data() + text.size();
  auto [at, bad] = std::from_chars(text.data(), end, note.part);
  if (bad != std::errc() || at == end || *at != ' ' || !std::isfinite(note.part)) {
    return std::nullopt;
  }
  auto [last, wrong] = std::from_chars(at + 1, end, note.rows);
  if (wrong != std::errc() || last != end || note.part > 1) return std::nullopt;
  return note;
}

base::Result<Outcome<ToolResult>> read_answer(std::string_view text) {
  Bytes bytes(text);
  std::uint64_t kind = bytes.number();
  if (!bytes.ok() || kind > static_cast<std::uint64_t>(Kind::kFault)) return corrupt("kind");
  return kind == static_cast<std::uint64_t>(Kind::kFault) ? read_fault(bytes) : read_result(bytes);
}

}  // namespace tool::connectors
