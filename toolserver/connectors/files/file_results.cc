#include "toolserver/connectors/files/file_results.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

#include "base/crypto/encoding.h"
#include "toolserver/connectors/files/file_arguments.h"

namespace tool::files {
namespace {

using base::ErrorKind;
using base::json::Array;
using base::json::Object;

std::string time_text(base::WallTime time) {
  auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(static_cast<std::time_t>(seconds.time_since_epoch().count())));
}

Object entry_json(const RelativePath& path, const FileFacts& facts) {
  Object entry{{"path", path.text()}};
  bool file = facts.kind == FileKind::kFile;
  entry["type"] = file ? "file" : "folder";
  if (file) entry["size"] = facts.size;
  entry["modified"] = time_text(facts.modified);
  return entry;
}

std::string entry_line(const RelativePath& path, const FileFacts& facts) {
  if (facts.kind != FileKind::kFile) return path.text() + "/";
  return fmt::format("{} ({} bytes)", path.text(), facts.size);
}

ToolResult with(std::string text, Object structured) {
  ToolResult result;
  result.content.push_back({.data = std::move(text)});
  result.structured = std::move(structured);
  return result;
}

}  // namespace

ToolResult read_result(const ReadRequest& request, const ReadAnswer& answer) {
  bool as_text = request.encoding == Encoding::kText;
  Object structured{{"path", request.path.text()},
                    {"size", answer.size},
                    {"offset", request.offset},
                    {"length", answer.bytes.size()},
                    {"end", answer.end},
                    {"encoding", as_text ? "text" : "base64"},
                    {"content", as_text ? answer.bytes : base::crypto::to_base64(answer.bytes)}};
  ToolResult result = with(answer.bytes, std::move(structured));
  if (!as_text) result.content.front().media_type = "application/octet-stream";
  return result;
}

ToolResult write_result(const WriteRequest& request, const WriteAnswer& answer) {
  bool rehearsed = request.effect == Effect::kRehearse;
  std::string_view verb = answer.created ? "create" : "replace";
  return with(fmt::format("{}{}d {} ({} bytes)", rehearsed ? "would have " : "", verb,
                          request.path.text(), request.bytes.size()),
              {{"path", request.path.text()},
               {"size", request.bytes.size()},
               {"created", answer.created},
               {"dry_run", rehearsed}});
}

ToolResult list_result(const ListRequest& request, const ListAnswer& answer) {
  Array entries;
  std::string lines;
  entries.reserve(answer.entries.size());
  for (const auto& entry : answer.entries) {
    entries.push_back(entry_json(entry.path, entry.facts));
    lines += entry_line(entry.path, entry.facts);
    lines += '\n';
  }
  Object structured{{"path", request.folder.text()}, {"entries", std::move(entries)}};
  if (!answer.complete) {
    structured["cursor"] = cursor_after(answer.entries.back().path);
    lines += "(more follow: call again with the cursor)\n";
  }
  return with(std::move(lines), std::move(structured));
}

ToolResult stat_result(const RelativePath& path, const FileFacts& facts) {
  return with(entry_line(path, facts), entry_json(path, facts));
}

ToolResult delete_result(const RelativePath& path, Effect effect) {
  bool rehearsed = effect == Effect::kRehearse;
  return with(fmt::format("{}deleted {}", rehearsed ? "would have " : "", path.text()),
              {{"path", path.text()}, {"deleted", !rehearsed}, {"dry_run", rehearsed}});
}

Outcome<ToolResult> failed(base::Error error) {
  auto fault = [&](Code code) {
    Fault refusal = refuse(code, error.message());
    refusal.detail = error.detail();
    return refusal;
  };
  switch (error.kind()) {
    case ErrorKind::kForbidden: return fault(Code::kPolicy);
    case ErrorKind::kTooLarge: return fault(Code::kLimit);
    case ErrorKind::kTimeout: return fault(Code::kTimeout);
    case ErrorKind::kCancelled: return fault(Code::kCancelled);
    case ErrorKind::kUnavailable: return fault(Code::kBusy);
    case ErrorKind::kNotFound:
    case ErrorKind::kAlreadyExists:
    case ErrorKind::kConflict:
    case ErrorKind::kUnsupported:
    case ErrorKind::kInvalid: break;
    default: return fault(Code::kInternal);
  }
  ToolResult result;
  result.content.push_back({.data = error.message()});
  result.is_error = true;
  return result;
}

}  // namespace tool::files
