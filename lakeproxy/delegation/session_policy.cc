#include "lakeproxy/delegation/session_policy.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/core/text.h"

namespace lake::delegation {
namespace {

using Names = std::vector<std::string>;

// IAM puts a variable's value in the place of "${...}".
bool has_variable(std::string_view name) { return name.contains("${"); }

// A store without IAM's "${*}" has no way to say such a name alone.
bool is_plain(std::string_view name) {
  return !has_variable(name) && name.find_first_of("*?") == std::string_view::npos;
}

// In ASCII: AWS takes characters up to U+00FF alone. `text` is UTF-8.
void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (length == 1) {
      if (lead == '"' || lead == '\\') out += '\\';
      out += text[i];
    } else {
      char32_t point = lead & (0x7fU >> length);
      for (std::size_t j = 1; j < length; ++j) {
        point = point << 6 | (static_cast<unsigned char>(text[i + j]) & 0x3fU);
      }
      if (point > 0xffff) {
        point -= 0x10000;
        out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (static_cast<unsigned>(point) >> 10),
                           0xdc00 + (static_cast<unsigned>(point) & 0x3ffU));
      } else {
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(point));
      }
    }
    i += length;
  }
  out += '"';
}

// One text as itself, several as a list.
void append_names(std::string& out, const Names& names) {
  if (names.size() == 1) return append_quoted(out, names.front());
  out += '[';
  for (const std::string& name : names) {
    if (out.back() != '[') out += ',';
    append_quoted(out, name);
  }
  out += ']';
}

enum class Effect { kAllow, kDeny };

struct Statement {
  Effect effect;
  Names actions;
  Names resources;
  Names list_prefixes = {};                 ///< Patterns of s3:prefix; empty: no condition.
  std::optional<base::WallTime> from = {};  ///< When it begins to count; nothing: at once.
};

void append(std::string& out, const Statement& statement) {
  out += statement.effect == Effect::kAllow ? R"({"Effect":"Allow","Action":)"
                                            : R"({"Effect":"Deny","Action":)";
  append_names(out, statement.actions);
  out += R"(,"Resource":)";
  append_names(out, statement.resources);
  if (!statement.list_prefixes.empty()) {
    out += R"(,"Condition":{"StringLike":{"s3:prefix":)";
    append_names(out, statement.list_prefixes);
    out += "}}";
  }
  if (statement.from) {
    out += fmt::format(
        R"(,"Condition":{{"DateGreaterThanEquals":{{"aws:CurrentTime":"{:%Y-%m-%dT%H:%M:%SZ}"}}}})",
        fmt::gmtime(std::chrono::floor<std::chrono::seconds>(*statement.from)));
  }
  out += '}';
}

std::string write(const std::vector<Statement>& statements) {
  std::string out = R"({"Version":"2012-10-17","Statement":[)";
  for (const Statement& statement : statements) {
    if (out.back() != '[') out += ',';
    append(out, statement);
  }
  return out + "]}";
}

class PolicyWriter {
 public:
  explicit PolicyWriter(const StorageRights& rights) : rights_(rights) {
    for (const std::string& prefix : rights.readable_prefixes()) {
      if (is_plain(prefix)) readable_.push_back(prefix);
    }
  }

  // The metadata folder, and the files that are not in it.
  [[nodiscard]] std::string read_files(const std::vector<storage::ObjectKey>& files) const {
    Names objects{resource(metadata() + "*")};
    for (const auto& file : files) objects.push_back(resource(file.text()));
    return with_rest({{Effect::kAllow, {"s3:GetObject"}, std::move(objects)}},
                     {rights_.table_prefix()});
  }

  [[nodiscard]] std::string read_folders(const Names& folders,
                                         std::optional<base::WallTime> end = {}) const {
    std::vector<Statement> statements{{Effect::kAllow, {"s3:GetObject"}, objects_in(folders)}};
    if (end) {
      statements.push_back({Effect::kDeny, {"s3:*"}, {"arn:aws:s3:::*"}, {}, end});
    }
    return with_rest(std::move(statements), folders);
  }

  // `kept` are not to be replaced.
  [[nodiscard]] std::string write_folders(const Names& folders,
                                          const std::vector<storage::ObjectKey>& kept) const {
    std::vector<Statement> statements{
        {Effect::kAllow, {"s3:GetObject"}, objects_in(folders)},
        {Effect::kAllow,
         {"s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"},
         objects_in(rights_.writable_prefixes())}};
    Names closed = objects_in(rights_.write_denied_prefixes());
    for (const auto& file : kept) closed.push_back(resource(file.text()));
    statements.push_back({Effect::kDeny, {"s3:PutObject"}, std::move(closed)});
    return with_rest(std::move(statements), folders);
  }

  [[nodiscard]] std::string metadata() const { return rights_.table_prefix() + "metadata/"; }
  [[nodiscard]] const Names& readable() const { return readable_; }

 private:
  [[nodiscard]] std::string resource(std::string_view name) const {
    return fmt::format("arn:aws:s3:::{}/{}", rights_.bucket(), name);
  }
  [[nodiscard]] Names objects_in(const Names& folders) const {
    Names out;
    for (const std::string& folder : folders) out.push_back(resource(folder + "*"));
    return out;
  }
  // Names may be listed in `folders`, and what is closed is closed. A pattern cannot say "but
  // not what begins like a folder that is closed": then nothing is listed.
  [[nodiscard]] std::string with_rest(std::vector<Statement> statements,
                                      const Names& folders) const {
    if (rights_.denied_prefixes().empty()) {
      Statement list{
          Effect::kAllow, {"s3:ListBucket"}, {fmt::format("arn:aws:s3:::{}", rights_.bucket())}};
      for (const std::string& folder : folders) list.list_prefixes.push_back(folder + "*");
      statements.push_back(std::move(list));
    } else {
      statements.push_back({Effect::kDeny, {"s3:*"}, objects_in(rights_.denied_prefixes())});
    }
    return write(statements);
  }

  const StorageRights& rights_;
  Names readable_;
};

base::Error unsayable(const char* why) {
  return base::fail(base::ErrorKind::kForbidden, why).with_reason("policy");
}

// The shown files that a policy can name one by one, and that the metadata folder does not hold;
// nothing where one cannot be named. What the rights do not open is passed over: the table shows
// it, and the keys do not reach there.
std::optional<std::vector<storage::ObjectKey>> nameable(const StorageRights& rights,
                                                        const ShownObjects& shown,
                                                        const std::string& metadata) {
  if (!shown) return std::nullopt;
  std::vector<storage::ObjectKey> out;
  for (const storage::ObjectKey& key : *shown) {
    if (!rights.may_read(key) || key.text().starts_with(metadata)) continue;
    if (!is_plain(key.text())) return std::nullopt;
    out.push_back(key);
  }
  return out;
}

}  // namespace

base::Result<SessionPolicy> session_policy(const StorageRights& rights, const ShownObjects& shown) {
  const PolicyWriter writer(rights);
  if (!is_plain(rights.table_prefix())) {
    return unsayable(
        "the name of the table's folder has '*', '?' or '${': no key can be cut to it");
  }
  // A pattern closes more than the name: that is safe. A variable could close less.
  if (std::ranges::any_of(rights.denied_prefixes(), has_variable)) {
    return unsayable("a folder in the table's has '${' in its name: no key can leave it out");
  }
  const auto files = nameable(rights, shown, writer.metadata());
  const bool writes = rights.access() == KeyAccess::kReadWrite;
  if (files) {
    std::string text =
        writes ? writer.write_folders(writer.readable(), *files) : writer.read_files(*files);
    if (text.size() <= kWantedPolicyBytes) return SessionPolicy{std::move(text), false};
  }
  for (const Names& folders : {writer.readable(), Names{rights.table_prefix()}}) {
    std::string text = writes ? writer.write_folders(folders, {}) : writer.read_folders(folders);
    if (text.size() <= kMostPolicyBytes) return SessionPolicy{std::move(text), !writes};
  }
  return unsayable("what keys to the table must leave out does not fit into a policy");
}

base::Result<std::string> folder_policy(const StorageRights& rights,
                                        std::optional<base::WallTime> end) {
  const PolicyWriter writer(rights);
  if (writer.readable().size() != rights.readable_prefixes().size() ||
      std::ranges::any_of(rights.denied_prefixes(), has_variable)) {
    return unsayable("the name of a folder has '*', '?' or '${': no key can be cut to it");
  }
  std::string text = writer.read_folders(writer.readable(), end);
  if (text.size() > kMostPolicyBytes) {
    return unsayable("the folders do not fit into a policy");
  }
  return text;
}

}  // namespace lake::delegation
