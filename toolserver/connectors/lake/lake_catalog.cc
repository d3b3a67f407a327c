#include "toolserver/connectors/lake/lake_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>

#include "base/core/text.h"
#include "base/json/fields.h"
#include "toolserver/connectors/lake/iceberg_type.h"

namespace tool::lake {
namespace {

using base::Slash;
using base::json::Array;
using base::json::Fields;
using base::json::Object;
using base::json::Value;
using connectors::QualifiedName;

constexpr base::json::Limits kAnswer{.bytes = 64 << 20, .depth = 64};
constexpr std::size_t kMostNames = 10'000;
constexpr std::size_t kMostPages = 1'000;
constexpr std::size_t kLongestMessage = 2'000;

// Of the lake's own form of errors; what is another server's is not told.
std::string message_of(const base::http::Response& response) {
  auto json = base::json::parse(response.body.text(), {.bytes = 64 << 10, .depth = 8});
  if (!json) return {};
  auto fields = Fields::of(*json, "");
  if (!fields) return {};
  auto error = fields->object("error");
  if (!error) return {};
  auto message = error->string("message");
  return message ? base::shorten(*message, kLongestMessage) : std::string();
}

LakeError not_understood(const base::Error& error) {
  return refused(Code::kUpstream, "lake: the lake's answer is not understood", error.message());
}

std::string page_token(const Fields& fields) {
  auto token = fields.opt_string("next-page-token");
  return token && *token ? **token : std::string();
}

base::Result<ScanFile> scan_file(const Fields& fields) {
  ScanFile file;
  ASSIGN_OR_RETURN(file.path, fields.string("file-path"));
  ASSIGN_OR_RETURN(const std::string format, fields.string("file-format"));
  file.is_parquet = format == "parquet" || format == "PARQUET";
  ASSIGN_OR_RETURN(const std::int64_t bytes, fields.int64("file-size-in-bytes"));
  if (bytes < 0) return base::fail(base::ErrorKind::kInvalid, "file-size-in-bytes: is negative");
  file.bytes = static_cast<std::uint64_t>(bytes);
  return file;
}

// Source: Iceberg table specification, "Deletion Vectors"; REST description, "PositionDeleteFile".
base::Result<ScanFile::Vector> vector_of(const Fields& fields) {
  ScanFile::Vector vector;
  ASSIGN_OR_RETURN(vector.data_path, fields.string("referenced-data-file"));
  ASSIGN_OR_RETURN(const std::int64_t offset, fields.int64("content-offset"));
  ASSIGN_OR_RETURN(const std::int64_t bytes, fields.int64("content-size-in-bytes"));
  if (offset < 0 || bytes < 0) {
    return base::fail(base::ErrorKind::kInvalid, "content-offset: must be inside the file");
  }
  vector.offset = static_cast<std::uint64_t>(offset);
  vector.bytes = static_cast<std::uint64_t>(bytes);
  return vector;
}

base::Result<std::vector<std::string>> names_in(const Value& answer, std::string_view member) {
  ASSIGN_OR_RETURN(Fields fields, Fields::of(answer, ""));
  std::vector<std::string> names;
  if (member == "namespaces") {
    ASSIGN_OR_RETURN(const Array* list, fields.array(member));
    for (const Value& one : *list) {
      // Fields reads lists of texts as members.
      const Value holder(Object{{"levels", one}});
      ASSIGN_OR_RETURN(Fields held, Fields::of(holder, std::string(member)));
      ASSIGN_OR_RETURN(const auto levels, held.strings("levels"));
      names.push_back(name_of(levels));
    }
    return names;
  }
  ASSIGN_OR_RETURN(auto list, fields.objects(member));
  for (const Fields& one : list) {
    ASSIGN_OR_RETURN(std::string name, one.string("name"));
    names.push_back(std::move(name));
  }
  return names;
}

std::string joined(const std::vector<std::string>& levels) {
  std::string text;
  for (const std::string& level : levels) {
    if (!text.empty()) text += "%1F";
    text += base::percent_encode(level, Slash::kEncode);
  }
  return text;
}

}  // namespace

LakeError error_of(const base::http::Response& response) {
  const unsigned status = response.status;
  std::string message = message_of(response);
  if (status == 429 || status == 503) {
    LakeError busy = refused(Code::kBusy, "lake: " + (message.empty() ? "is busy" : message));
    auto after = base::parse_int64(response.headers.get("Retry-After").value_or(""));
    busy.fault.retry_after =
        std::chrono::seconds(after && *after > 0 && *after < 3'600 ? *after : 1);
    busy.fault.message +=
        fmt::format("; try again in {} s", busy.fault.retry_after->count() / 1000);
    return busy;
  }
  if (status == 403) return refused(Code::kPolicy, "lake: " + message);
  for (unsigned mistaken : {400U, 404U, 409U, 413U, 501U}) {
    if (status == mistaken && !message.empty()) return mistake(std::move(message));
  }
  return refused(Code::kUpstream, "lake: the lake refused or failed",
                 fmt::format("status {}: {}", status, message));
}

LakeError error_of(const base::Error& error) {
  switch (error.kind()) {
    case base::ErrorKind::kTimeout:
    case base::ErrorKind::kCancelled: return {to_fault(error)};
    case base::ErrorKind::kTooLarge:
      return refused(Code::kLimit, "lake: the lake's answer is too large");
    default: return refused(Code::kUpstream, "lake: the lake cannot be reached", error.detail());
  }
}

std::optional<std::vector<std::string>> levels_of(std::string_view name_space) {
  std::vector<std::string> levels;
  constexpr std::size_t kLongest = 1024;
  if (name_space.empty() || name_space.size() > kLongest) return std::nullopt;
  while (true) {
    const std::string_view level = name_space.substr(0, name_space.find('.'));
    auto text = base::percent_decode(level);
    if (!text || text->empty() || !base::is_utf8(*text)) return std::nullopt;
    levels.push_back(*std::move(text));
    if (level.size() == name_space.size()) return levels;
    name_space.remove_prefix(level.size() + 1);
  }
}

std::string name_of(const std::vector<std::string>& levels) {
  std::string name;
  for (const std::string& level : levels) {
    if (!name.empty()) name += '.';
    for (char c : level) {
      if (c == '.') {
        name += "%2E";
      } else if (c == '%') {
        name += "%25";
      } else {
        name += c;
      }
    }
  }
  return name;
}

namespace {

// Columns whose values a partition may hold in place of the files.
// Source: Iceberg table specification, "Column Projection".
base::Result<std::vector<std::int32_t>> identity_sources(const Fields& metadata) {
  std::vector<std::int32_t> sources;
  if (!metadata.has("partition-specs")) return sources;
  ASSIGN_OR_RETURN(auto specs, metadata.objects("partition-specs"));
  for (const Fields& spec : specs) {
    ASSIGN_OR_RETURN(auto fields, spec.objects("fields"));
    for (const Fields& field : fields) {
      ASSIGN_OR_RETURN(const std::string transform, field.string("transform"));
      if (transform != "identity") continue;
      ASSIGN_OR_RETURN(const std::int32_t source, field.int32("source-id"));
      sources.push_back(source);
    }
  }
  return sources;
}

}  // namespace

base::Result<ShownTable> read_table(const Value& loaded) {
  ASSIGN_OR_RETURN(Fields answer, Fields::of(loaded, ""));
  ASSIGN_OR_RETURN(Fields metadata, answer.object("metadata"));
  ShownTable table;
  ASSIGN_OR_RETURN(const std::int32_t current, metadata.int32("current-schema-id"));
  ASSIGN_OR_RETURN(auto schemas, metadata.objects("schemas"));
  const Fields* schema = nullptr;
  for (const Fields& one : schemas) {
    ASSIGN_OR_RETURN(const std::int32_t id, one.int32("schema-id"));
    if (id == current) schema = &one;
  }
  if (schema == nullptr) {
    return base::fail(base::ErrorKind::kInvalid, "metadata.current-schema-id: names no schema");
  }
  ASSIGN_OR_RETURN(const auto parted, identity_sources(metadata));
  ASSIGN_OR_RETURN(auto fields, schema->objects("fields"));
  for (const Fields& field : fields) {
    ShownColumn column;
    ASSIGN_OR_RETURN(column.name, field.string("name"));
    ASSIGN_OR_RETURN(const Value* type, field.value("type"));
    column.type = type->is_string() ? std::string(type->get_string()) : base::json::write(*type);
    ASSIGN_OR_RETURN(column.required, field.boolean("required"));
    ASSIGN_OR_RETURN(auto doc, field.opt_string("doc"));
    column.doc = std::move(doc).value_or("");
    connectors::BroughtColumn brought{.id = 0, .name = column.name, .type = {}};
    ASSIGN_OR_RETURN(brought.id, field.int32("id"));
    brought.is_elsewhere =
        field.has("initial-default") || std::ranges::count(parted, brought.id) > 0;
    auto engines = engine_type(*type, brought, column.name);
    if (engines) {
      brought.type = *std::move(engines);
      table.columns.push_back(std::move(brought));
    } else {
      table.unreadable.emplace(column.name, engines.error().message());
    }
    table.shown.push_back(std::move(column));
  }
  ASSIGN_OR_RETURN(auto snapshot, metadata.opt_int64("current-snapshot-id"));
  if (snapshot && *snapshot >= 0) table.snapshot = snapshot;
  ASSIGN_OR_RETURN(table.properties, metadata.opt_string_map("properties"));
  return table;
}

base::Result<ScanPage> read_page(const Value& answer) {
  ASSIGN_OR_RETURN(Fields fields, Fields::of(answer, ""));
  ScanPage page;
  ASSIGN_OR_RETURN(auto status, fields.opt_string("status"));
  if (status && *status != "completed") {
    return base::fail(base::ErrorKind::kInvalid, "status: must be completed");
  }
  if (fields.has("plan-tasks")) {
    ASSIGN_OR_RETURN(page.more, fields.strings("plan-tasks"));
  }
  if (fields.has("delete-files")) {
    ASSIGN_OR_RETURN(auto deletes, fields.objects("delete-files"));
    for (const Fields& one : deletes) {
      ASSIGN_OR_RETURN(ScanFile file, scan_file(one));
      ASSIGN_OR_RETURN(const std::string content, one.string("content"));
      if (content != "position-deletes") {
        file.is_parquet = false;
      } else if (!file.is_parquet && one.has("content-offset")) {
        ASSIGN_OR_RETURN(file.vector, vector_of(one));
      }
      page.deletes.push_back(std::move(file));
    }
  }
  if (!fields.has("file-scan-tasks")) return page;
  ASSIGN_OR_RETURN(auto tasks, fields.objects("file-scan-tasks"));
  for (const Fields& one : tasks) {
    ScanTask task;
    ASSIGN_OR_RETURN(Fields data, one.object("data-file"));
    ASSIGN_OR_RETURN(task.data, scan_file(data));
    if (one.has("delete-file-references")) {
      ASSIGN_OR_RETURN(const auto references, one.int32s("delete-file-references"));
      for (std::int32_t at : references) {
        if (at < 0 || static_cast<std::size_t>(at) >= page.deletes.size()) {
          return base::fail(base::ErrorKind::kInvalid, "delete-file-references: names no file");
        }
        task.deletes.push_back(static_cast<std::size_t>(at));
      }
    }
    page.tasks.push_back(std::move(task));
  }
  return page;
}

base::Task<LakeAnswer<Value>> LakeCatalog::ask(base::http::Method method, std::string target,
                                               std::optional<Object> body) {
  auto& client = clients_.of(co_await boost::asio::this_coro::executor);
  // Once more with another token: the lake may have begun anew, under another secret.
  for (bool again : {false, true}) {
    CO_ASSIGN_OR_RETURN(const base::Secret token, co_await tokens_.token_for(context_, subject_));
    base::http::ClientRequest request{.method = method, .target = target};
    request.headers.add("Authorization", "Bearer " + token.reveal());
    request.headers.add("X-Request-Id", context_.id_text());
    request.headers.add("Accept", "application/json");
    request.headers.add("X-Iceberg-Access-Delegation", "remote-signing");
    if (body) {
      request.headers.add("Content-Type", "application/json");
      request.body = base::http::Body(base::json::write(*body));
    }
    auto response = co_await client.send(context_, std::move(request));
    if (!response) co_return error_of(response.error());
    if (response->status == 401 && !again) {
      tokens_.forget(subject_);
      continue;
    }
    if (response->status != 200) co_return error_of(*response);
    auto json = base::json::parse(response->body.text(), kAnswer);
    if (!json) co_return not_understood(json.error());
    co_return *std::move(json);
  }
  co_return refused(Code::kUpstream, "lake: the lake takes no token");
}

LakeAnswer<std::string> LakeCatalog::path_of(const QualifiedName& name,
                                             std::string_view rest) const {
  auto levels = levels_of(name.name_space);
  if (!levels || name.table.empty()) {
    return mistake(
        fmt::format("there is no table {}.{}: no such name", name.name_space, name.table));
  }
  return fmt::format("/v1/{}/namespaces/{}/tables/{}{}",
                     base::percent_encode(options_.prefix, Slash::kEncode), joined(*levels),
                     base::percent_encode(name.table, Slash::kEncode), rest);
}

base::Task<LakeAnswer<std::vector<std::string>>> LakeCatalog::all_pages(std::string target,
                                                                        std::string_view member) {
  std::vector<std::string> names;
  std::string token;
  for (std::size_t page = 0; page < kMostPages; ++page) {
    const char mark = target.contains('?') ? '&' : '?';
    CO_ASSIGN_OR_RETURN(const Value answer,
                        co_await ask(base::http::Method::kGet,
                                     fmt::format("{}{}pageToken={}", target, mark,
                                                 base::percent_encode(token, Slash::kEncode))));
    auto some = names_in(answer, member);
    if (!some) co_return not_understood(some.error());
    names.insert(names.end(), some->begin(), some->end());
    if (names.size() > kMostNames) break;
    token = page_token(*Fields::of(answer, ""));
    if (token.empty()) co_return names;
  }
  co_return refused(Code::kLimit, fmt::format("lake: more than {} names", kMostNames));
}

base::Task<LakeAnswer<std::vector<std::string>>> LakeCatalog::namespaces(std::string parent) {
  std::string target =
      fmt::format("/v1/{}/namespaces", base::percent_encode(options_.prefix, Slash::kEncode));
  if (!parent.empty()) {
    auto levels = levels_of(parent);
    if (!levels) co_return mistake("there is no namespace of that name");
    target += "?parent=" + joined(*levels);
  }
  co_return co_await all_pages(std::move(target), "namespaces");
}

base::Task<LakeAnswer<std::vector<std::string>>> LakeCatalog::tables(std::string name_space) {
  auto levels = levels_of(name_space);
  if (!levels) co_return mistake("there is no namespace of that name");
  co_return co_await all_pages(
      fmt::format("/v1/{}/namespaces/{}/tables",
                  base::percent_encode(options_.prefix, Slash::kEncode), joined(*levels)),
      "identifiers");
}

base::Task<LakeAnswer<ShownTable>> LakeCatalog::table(QualifiedName name) {
  CO_ASSIGN_OR_RETURN(std::string target, path_of(name, "?snapshots=refs"));
  CO_ASSIGN_OR_RETURN(const Value answer,
                      co_await ask(base::http::Method::kGet, std::move(target)));
  auto table = read_table(answer);
  if (!table) co_return not_understood(table.error());
  co_return *std::move(table);
}

base::Task<LakeAnswer<ScanPage>> LakeCatalog::plan(QualifiedName name, std::int64_t snapshot,
                                                   std::optional<Object> filter) {
  CO_ASSIGN_OR_RETURN(const std::string target, path_of(name, "/plan"));
  CO_ASSIGN_OR_RETURN(const std::string more, path_of(name, "/tasks"));
  Object scan{{"snapshot-id", snapshot}};
  if (filter) scan["filter"] = *std::move(filter);
  CO_ASSIGN_OR_RETURN(const Value first,
                      co_await ask(base::http::Method::kPost, target, std::move(scan)));
  auto page = read_page(first);
  if (!page) co_return not_understood(page.error());
  ScanPage all = *std::move(page);
  std::vector<std::string> waiting = std::move(all.more);
  all.more.clear();
  while (!waiting.empty()) {
    if (all.tasks.size() > options_.files) break;
    const std::string task = std::move(waiting.back());
    waiting.pop_back();
    CO_ASSIGN_OR_RETURN(const Value answer,
                        co_await ask(base::http::Method::kPost, more, Object{{"plan-task", task}}));
    auto next = read_page(answer);
    if (!next) co_return not_understood(next.error());
    const std::size_t before = all.deletes.size();
    all.deletes.insert(all.deletes.end(), next->deletes.begin(), next->deletes.end());
    for (ScanTask& one : next->tasks) {
      for (std::size_t& at : one.deletes) at += before;
      all.tasks.push_back(std::move(one));
    }
    waiting.insert(waiting.end(), next->more.begin(), next->more.end());
  }
  if (all.tasks.size() + all.deletes.size() > options_.files) {
    co_return mistake(fmt::format("{}.{} has more than {} files, which is what one query may read",
                                  name.name_space, name.table, options_.files));
  }
  co_return all;
}

base::Task<LakeAnswer<SignedGet>> LakeCatalog::sign(QualifiedName name, std::string path) {
  constexpr std::string_view kScheme = "s3://";
  CO_ASSIGN_OR_RETURN(std::string target, path_of(name, "/sign"));
  const std::size_t slash = path.find('/', kScheme.size());
  if (!path.starts_with(kScheme) || slash == std::string::npos) {
    co_return refused(Code::kUpstream, "lake: a file of the table is in no store of S3", path);
  }
  const std::string bucket = path.substr(kScheme.size(), slash - kScheme.size());
  const std::string key = base::percent_encode(path.substr(slash + 1), Slash::kKeep);
  const std::string store = fmt::format("{}://{}", options_.store.encrypted ? "https" : "http",
                                        options_.store.authority());
  const std::string uri =
      options_.path_style ? store + '/' + bucket + '/' + key : store + '/' + key;
  CO_ASSIGN_OR_RETURN(
      const Value answer,
      co_await ask(base::http::Method::kPost, std::move(target),
                   Object{{"region", ""}, {"uri", uri}, {"method", "GET"}, {"headers", Object{}}}));
  SignedGet get;
  auto fields = Fields::of(answer, "");
  auto signed_uri = fields ? fields->string("uri") : base::Result<std::string>(fields.error());
  auto headers = fields ? fields->object("headers") : fields;
  // The service goes to the store that its operator named, and to no other.
  if (!signed_uri || !headers || !signed_uri->starts_with(store + '/')) {
    co_return refused(Code::kUpstream, "lake: the lake signed for another store");
  }
  get.target = signed_uri->substr(store.size());
  for (const auto& [key_of, value] : fields->find("headers")->as_object()) {
    auto values = headers->strings(key_of);
    if (!values) co_return not_understood(values.error());
    for (std::string& one : *values) {
      if (one.find_first_of("\r\n") != std::string::npos) continue;
      get.headers.add(std::string(key_of), std::move(one));
    }
  }
  co_return get;
}

}  // namespace tool::lake
