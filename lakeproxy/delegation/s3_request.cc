#include "lakeproxy/delegation/s3_request.h"

#include <algorithm>
#include <array>
#include <boost/algorithm/string/case_conv.hpp>
#include <span>

#include "base/core/text.h"
#include "lakeproxy/storage/sigv4.h"

namespace lake::delegation {
namespace {

using base::ErrorKind;
using base::Result;
using base::Status;
using base::http::Method;
using storage::ObjectKey;
using storage::Parameter;

constexpr std::size_t kMaxPathBytes = 4096;  // A key of 1,024 bytes, each of them encoded.
constexpr std::size_t kMaxQueryBytes = 8192;
constexpr std::size_t kMaxParameters = 16;
constexpr int kMaxDecodings = 4;

base::Error malformed(std::string_view reason, std::string message) {
  return base::fail(ErrorKind::kInvalid, std::move(message)).with_reason(reason);
}

base::Error never(std::string_view reason, std::string message) {
  return base::fail(ErrorKind::kForbidden, std::move(message)).with_reason(reason);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alnum(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_one_of(char c, std::string_view set) { return set.contains(c); }

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::optional<unsigned char> hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// The byte of the escape that `text` begins with; nothing: it begins with none.
std::optional<char> escaped_byte(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  auto high = hex_value(text[1]);
  auto low = hex_value(text[2]);
  if (!high || !low) return std::nullopt;
  return static_cast<char>(*high << 4 | *low);
}

// The path as the store decodes it. An escape for what needs none is how one name gets two
// spellings ("%2F", "%2e"); '+' and ';' mean a space and a parameter to some readers.
Result<std::string> decode_path(std::string_view raw) {
  if (raw.size() > kMaxPathBytes) return malformed(kBadPath, "path: too long");
  std::string out;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '%') {
      auto byte = escaped_byte(raw.substr(i));
      if (!byte) return malformed(kBadPath, "path: a broken escape");
      if (is_alnum(*byte) || is_one_of(*byte, "./\\")) {
        return malformed(kBadPath, "path: an escape for a character that needs none");
      }
      out += *byte;
      i += 2;
    } else if (is_alnum(raw[i]) || is_one_of(raw[i], "-._~/!$&'()*,=:@")) {
      out += raw[i];
    } else {
      return malformed(kBadPath, "path: a character that must be encoded");
    }
  }
  return out;
}

Result<std::string> decode_query(std::string_view raw) {
  bool plain = std::ranges::all_of(
      raw, [](char c) { return is_alnum(c) || is_one_of(c, "%-._~/!$'()*,:@="); });
  auto decoded = plain ? base::percent_decode(raw) : std::nullopt;
  if (!decoded || !base::is_utf8(*decoded)) return malformed(kBadQuery, "query: wrongly encoded");
  return std::move(*decoded);
}

// As a reader does that passes over what is no escape.
std::string decode_again(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto byte = escaped_byte(text.substr(i));
    out += byte.value_or(text[i]);
    if (byte) i += 2;
  }
  return out;
}

// What further decoding makes of a name. Names with escapes of their own are common: Iceberg
// writes those of partition values into the path.
Result<std::vector<std::string>> other_readings(std::string_view name) {
  std::vector<std::string> all;
  std::string text(name);
  while (true) {
    std::string next = decode_again(text);
    if (next == text) return all;
    if (all.size() == kMaxDecodings) return malformed(kBadPath, "key: encoded too many times");
    all.push_back(next);
    text = std::move(next);
  }
}

Result<ObjectKey> key_of(std::string_view text) {
  auto key = ObjectKey::parse(text);
  if (!key) return std::move(key).error().with_reason(kBadPath);
  // Some stores take it for a '/'.
  if (text.contains('\\')) return malformed(kBadPath, "key: must have no backslash");
  return key;
}

// The beginning of a key: whole segments, then one that may be cut anywhere.
Status check_prefix(std::string_view prefix) {
  std::string_view last = prefix.substr(prefix.rfind('/') + 1);
  bool cut = prefix.empty() || last == "." || last == "..";
  if (cut || !key_of(std::string(prefix) + "_")) {
    return malformed(kBadQuery, "prefix: must begin the name of an object");
  }
  return {};
}

// Header fields.

// Those that begin with "x-" and neither move an object, nor open it to others, nor change how it
// is kept. The first three are the signature's.
constexpr std::string_view kKnownFields[] = {"x-amz-date",
                                             "x-amz-content-sha256",
                                             "x-amz-security-token",
                                             "x-amz-user-agent",
                                             "x-amzn-trace-id",
                                             "x-amz-trailer",
                                             "x-amz-decoded-content-length",
                                             "x-amz-sdk-checksum-algorithm",
                                             "x-amz-checksum-algorithm",
                                             "x-amz-checksum-mode",
                                             "x-amz-checksum-type",
                                             "x-amz-checksum-crc32",
                                             "x-amz-checksum-crc32c",
                                             "x-amz-checksum-crc64nvme",
                                             "x-amz-checksum-sha1",
                                             "x-amz-checksum-sha256",
                                             "x-amz-mp-object-size",
                                             "x-amz-optional-object-attributes",
                                             "x-amz-te"};

bool is_token(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return is_alnum(c) || is_one_of(c, "!#$%&'*+-.^_`|~");
  });
}

Status check_known(std::string_view name) {
  if (name.contains("copy-source") || name.contains("rename-source")) {
    return never(kCopy, "copies are not allowed");
  }
  // Stores read '_' as '-' where a gateway before them did so.
  bool extension = name.starts_with("x-") || name.starts_with("x_");
  if (!extension || contains(kKnownFields, name)) return {};
  return never(kBadHeader, "header not allowed: " + std::string(name));
}

Status check_headers(const base::http::Headers& headers, std::string_view host) {
  for (const auto& field : headers.fields()) {
    bool printable = std::ranges::none_of(
        field.value, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (!is_token(field.name) || !printable) return malformed(kBadHeader, "header: malformed");
    RETURN_IF_ERROR(check_known(boost::algorithm::to_lower_copy(field.name)));
    if (field.is("Host") && boost::algorithm::to_lower_copy(field.value) != host) {
      return malformed(kBadAddress, "Host: differs from the URL's");
    }
  }
  return {};
}

// What a request asks for: method, place and parameters together.

enum class Place : std::uint8_t { kBucket, kObject };

struct Form {
  S3Action action;
  Method method;
  Place place;
  std::array<std::string_view, 2> needed;  // Filled up with "".
  std::array<std::string_view, 6> taken;

  [[nodiscard]] bool knows(std::string_view name) const {
    return name == "x-id" || contains(needed, name) || contains(taken, name);
  }
};

constexpr Form kForms[] = {
    {S3Action::kGetObject, Method::kGet, Place::kObject, {}, {}},
    {S3Action::kHeadObject, Method::kHead, Place::kObject, {}, {}},
    {S3Action::kPutObject, Method::kPut, Place::kObject, {}, {}},
    {S3Action::kDeleteObject, Method::kDelete, Place::kObject, {}, {}},
    {S3Action::kDeleteObjects, Method::kPost, Place::kBucket, {"delete"}, {}},
    {S3Action::kListObjects,
     Method::kGet,
     Place::kBucket,
     {"list-type", "prefix"},
     {"delimiter", "max-keys", "continuation-token", "start-after", "encoding-type",
      "fetch-owner"}},
    {S3Action::kListParts,
     Method::kGet,
     Place::kObject,
     {"uploadId"},
     {"max-parts", "part-number-marker"}},
    {S3Action::kCreateUpload, Method::kPost, Place::kObject, {"uploads"}, {}},
    {S3Action::kUploadPart, Method::kPut, Place::kObject, {"partNumber", "uploadId"}, {}},
    {S3Action::kCompleteUpload, Method::kPost, Place::kObject, {"uploadId"}, {}},
    {S3Action::kAbortUpload, Method::kDelete, Place::kObject, {"uploadId"}, {}},
};

bool has(std::span<const Parameter> query, std::string_view name) {
  return std::ranges::find(query, name, &Parameter::name) != query.end();
}

bool fits(const Form& form, Place place, std::span<const Parameter> query) {
  return form.place == place &&
         std::ranges::all_of(form.needed,
                             [&](auto name) { return name.empty() || has(query, name); }) &&
         std::ranges::all_of(query, [&](const auto& one) { return form.knows(one.name); });
}

Result<S3Action> action_of(Method method, Place place, std::span<const Parameter> query) {
  if (method == Method::kOther) return never(kBadMethod, "method not allowed");
  for (const Form& form : kForms) {
    if (form.method == method && fits(form, place, query)) return form.action;
  }
  for (const auto& [name, value] : query) {
    if (name.starts_with("version")) return never(kVersion, "versions are not allowed");
  }
  std::string what = "this method here";
  if (!query.empty()) what += ", with the parameters";
  for (const auto& one : query) what += " " + base::for_terminal(base::shorten(one.name, 64));
  return never(kBadQuery, "not allowed: " + what);
}

bool is_number(std::string_view text, std::int64_t from, std::int64_t to) {
  auto number = std::ranges::all_of(text, is_digit) ? base::parse_int64(text) : std::nullopt;
  return number && *number >= from && *number <= to;
}

// Not a path for a store that keeps uploads in folders.
bool is_upload_id(std::string_view text) {
  return !text.empty() && text.size() <= 1024 && !text.contains("..") && text != "." &&
         std::ranges::all_of(text, [](char c) { return is_alnum(c) || is_one_of(c, "-_.~=+"); });
}

bool is_plain(std::string_view text) {
  return text.size() <= 2048 && std::ranges::none_of(text, [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

bool is_valid(const Parameter& one, S3Action action) {
  const auto& [name, value] = one;
  if (name == "x-id") return value == to_string(action);
  if (name == "uploads" || name == "delete") return value.empty();
  if (name == "uploadId") return is_upload_id(value);
  if (name == "partNumber") return is_number(value, 1, 10'000);
  if (name == "max-parts" || name == "part-number-marker") return is_number(value, 0, 10'000);
  if (name == "list-type") return value == "2";
  if (name == "max-keys") return is_number(value, 0, INT32_MAX);
  if (name == "delimiter") return value.empty() || value == "/";
  if (name == "encoding-type") return value == "url";
  if (name == "fetch-owner") return value == "true" || value == "false";
  return is_plain(value);  // prefix, continuation-token, start-after
}

Result<Parameter> parameter_of(std::string_view text) {
  auto equals = std::min(text.find('='), text.size());
  ASSIGN_OR_RETURN(std::string name, decode_query(text.substr(0, equals)));
  ASSIGN_OR_RETURN(std::string value, decode_query(text.substr(std::min(equals + 1, text.size()))));
  if (name.empty()) return malformed(kBadQuery, "query: a parameter without a name");
  return Parameter{std::move(name), std::move(value)};
}

Result<std::vector<Parameter>> parameters_of(std::string_view query) {
  std::vector<Parameter> all;
  if (query.size() > kMaxQueryBytes) return malformed(kBadQuery, "query: too long");
  while (!query.empty()) {
    auto end = std::min(query.find('&'), query.size());
    ASSIGN_OR_RETURN(Parameter one, parameter_of(query.substr(0, end)));
    if (has(all, one.name)) return malformed(kBadQuery, "query: a parameter comes twice");
    if (all.size() == kMaxParameters) return malformed(kBadQuery, "query: too many parameters");
    all.push_back(std::move(one));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return all;
}

// The path below the bucket, not encoded; empty for the bucket itself.
Result<std::string> path_in_bucket(const S3Address& store, const S3RequestText& request) {
  if (boost::algorithm::to_lower_copy(std::string(request.host)) != store.host()) {
    return never(kBadAddress, "not the address of the object store");
  }
  ASSIGN_OR_RETURN(std::string path, decode_path(request.path));
  if (!path.starts_with('/')) return malformed(kBadPath, "path: must begin with '/'");
  path.erase(0, 1);
  if (store.addressing == storage::Addressing::kVirtualHost) return path;
  auto slash = std::min(path.find('/'), path.size());
  if (path.substr(0, slash) != store.bucket) return never(kBadAddress, "not the lake's bucket");
  path.erase(0, std::min(slash + 1, path.size()));
  return path;
}

std::string path_of(const S3Address& store, std::string_view key) {
  std::string path = "/";
  if (store.addressing == storage::Addressing::kPath) {
    path += store.bucket;
    if (!key.empty()) path += '/';
  }
  return path.append(key);
}

Status read_again(const ObjectKey& key, S3Operation& into) {
  ASSIGN_OR_RETURN(auto readings, other_readings(key.text()));
  for (const std::string& reading : readings) {
    ASSIGN_OR_RETURN(ObjectKey other, key_of(reading));
    into.other_keys.push_back(std::move(other));
  }
  return {};
}

Status read_prefix(std::string prefix, S3Operation& into) {
  RETURN_IF_ERROR(check_prefix(prefix));
  ASSIGN_OR_RETURN(into.other_prefixes, other_readings(prefix));
  for (const std::string& other : into.other_prefixes) RETURN_IF_ERROR(check_prefix(other));
  into.prefix = std::move(prefix);
  return {};
}

// Objects, or the prefix of a list.
Status read_names(std::string_view path, const S3RequestText& request, S3Operation& into) {
  if (into.action == S3Action::kListObjects) {
    auto prefix = std::ranges::find(into.query, "prefix", &Parameter::name);
    return read_prefix(prefix->value, into);
  }
  if (into.action == S3Action::kDeleteObjects) {
    if (!request.body) return malformed(kBadBody, "body: needed, so that each object is judged");
    ASSIGN_OR_RETURN(into.keys, read_delete_body(*request.body));
  } else {
    ASSIGN_OR_RETURN(ObjectKey key, key_of(path));
    into.keys.push_back(std::move(key));
  }
  for (const ObjectKey& key : into.keys) RETURN_IF_ERROR(read_again(key, into));
  return {};
}

}  // namespace

std::string_view to_string(S3Action action) {
  switch (action) {
    case S3Action::kGetObject: return "GetObject";
    case S3Action::kHeadObject: return "HeadObject";
    case S3Action::kPutObject: return "PutObject";
    case S3Action::kDeleteObject: return "DeleteObject";
    case S3Action::kDeleteObjects: return "DeleteObjects";
    case S3Action::kListObjects: return "ListObjectsV2";
    case S3Action::kListParts: return "ListParts";
    case S3Action::kCreateUpload: return "CreateMultipartUpload";
    case S3Action::kUploadPart: return "UploadPart";
    case S3Action::kCompleteUpload: return "CompleteMultipartUpload";
    case S3Action::kAbortUpload: return "AbortMultipartUpload";
  }
  return "";
}

bool is_read(S3Action action) {
  return action == S3Action::kGetObject || action == S3Action::kHeadObject ||
         action == S3Action::kListObjects;
}

std::string S3Address::host() const {
  std::string authority = origin.authority();
  return addressing == storage::Addressing::kVirtualHost ? bucket + "." + authority : authority;
}

Result<S3Operation> parse_s3_request(const S3Address& store, const S3RequestText& request) {
  ASSIGN_OR_RETURN(std::string path, path_in_bucket(store, request));
  RETURN_IF_ERROR(check_headers(*request.headers, store.host()));
  S3Operation operation;
  ASSIGN_OR_RETURN(operation.query, parameters_of(request.query));
  Place place = path.empty() ? Place::kBucket : Place::kObject;
  ASSIGN_OR_RETURN(operation.action, action_of(request.method, place, operation.query));
  for (const Parameter& one : operation.query) {
    if (!is_valid(one, operation.action)) {
      return malformed(kBadQuery, "query: a wrong value for " + one.name);
    }
  }
  RETURN_IF_ERROR(read_names(path, request, operation));
  operation.path = path_of(store, path);
  return operation;
}

Result<S3Url> split_s3_url(std::string_view url) {
  S3Url parts;
  if (url.starts_with("https://")) {
    parts.encrypted = true;
  } else if (!url.starts_with("http://")) {
    return malformed(kBadAddress, "uri: must begin with http:// or https://");
  }
  url.remove_prefix(parts.encrypted ? 8 : 7);
  auto authority_end = std::min(url.find_first_of("/?"), url.size());
  parts.host = url.substr(0, authority_end);
  url.remove_prefix(authority_end);
  bool strange = url.contains('#') || std::ranges::any_of(parts.host, [](char c) {
                   return !is_alnum(c) && !is_one_of(c, "-.:[]");
                 });
  if (parts.host.empty() || strange) return malformed(kBadAddress, "uri: malformed");
  auto path_end = std::min(url.find('?'), url.size());
  parts.path = path_end == 0 ? "/" : url.substr(0, path_end);
  parts.query = url.substr(std::min(path_end + 1, url.size()));
  // "http://host:80/" is the same place as "http://host/".
  std::string_view port = parts.encrypted ? ":443" : ":80";
  if (parts.host.ends_with(port)) parts.host.remove_suffix(port.size());
  return parts;
}

std::string url_of(const S3Address& store, const S3Operation& operation) {
  std::string url = store.origin.encrypted ? "https://" : "http://";
  url += store.host() + storage::canonical_path(operation.path);
  if (!operation.query.empty()) url += "?" + storage::canonical_query(operation.query);
  return url;
}

}  // namespace lake::delegation
