#include "lakeproxy/storage/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/core/text.h"
#include "lakeproxy/storage/xml.h"

namespace lake::storage {
namespace {

using base::Error;
using base::ErrorKind;
using base::Result;

constexpr std::size_t kMaxPage = 1000;
constexpr std::size_t kMaxTokenBytes = 8 * 1024;

Error corrupt(std::string_view what) {
  return base::fail(ErrorKind::kCorrupt, fmt::format("the object store sent a broken {}", what));
}

// Names of S3 sort as text, so a token that a header or a URL cannot hold is
// no token.
bool is_printable(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTokenBytes &&
         std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

// Decodes what encoding-type=url has encoded, where '+' is a space.
std::optional<std::string> decode_key(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return base::percent_decode(spaced);
}

Result<XmlElement> read_root(std::string_view document, std::string_view name) {
  ASSIGN_OR_RETURN(XmlElement root, parse_xml(document));
  if (root.name != name) return corrupt(name);
  return root;
}

struct CodeKind {
  std::string_view code;
  ErrorKind kind;
};

// Codes whose status alone would say something else.
constexpr CodeKind kCodes[] = {
    {"BucketAlreadyOwnedByYou", ErrorKind::kAlreadyExists},
    {"BucketAlreadyExists", ErrorKind::kAlreadyExists},
    {"EntityTooLarge", ErrorKind::kTooLarge},
    {"ExpiredToken", ErrorKind::kForbidden},
    {"InvalidToken", ErrorKind::kForbidden},
    {"RequestTimeout", ErrorKind::kUnavailable},
    {"SlowDown", ErrorKind::kUnavailable},
    {"InternalError", ErrorKind::kUnavailable},
    {"ServiceUnavailable", ErrorKind::kUnavailable},
    {"NoSuchKey", ErrorKind::kNotFound},
    {"NoSuchUpload", ErrorKind::kNotFound},
    {"NoSuchBucket", ErrorKind::kNotFound},
    {"AccessDenied", ErrorKind::kForbidden},
    {"PreconditionFailed", ErrorKind::kConflict},
};

ErrorKind kind_of_status(unsigned status) {
  switch (status) {
    case 401:
    case 403: return ErrorKind::kForbidden;
    case 404: return ErrorKind::kNotFound;
    case 408:
    case 429: return ErrorKind::kUnavailable;
    case 409:
    case 412: return ErrorKind::kConflict;
    case 413: return ErrorKind::kTooLarge;
    case 501: return ErrorKind::kUnsupported;
    default: break;
  }
  if (status >= 500) return ErrorKind::kUnavailable;
  return status < 400 ? ErrorKind::kUnsupported : ErrorKind::kInvalid;
}

std::string_view message_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kNotFound: return "the object does not exist";
    case ErrorKind::kForbidden: return "the object store refused access";
    case ErrorKind::kAlreadyExists: return "the bucket exists already";
    case ErrorKind::kConflict: return "the object has changed or exists already";
    case ErrorKind::kTooLarge: return "the object is too large for the object store";
    case ErrorKind::kUnavailable: return "the object store is not available";
    case ErrorKind::kUnsupported: return "the object store does not offer this";
    default: return "the object store did not accept the request";
  }
}

// An identifier from outside that goes into a log line.
std::string clean(std::string_view text) {
  constexpr std::size_t kMaxShown = 64;
  std::string out;
  for (char c : text.substr(0, kMaxShown)) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '_' || c == '.';
    out.push_back(plain ? c : '?');
  }
  return out;
}

Error make_error(unsigned status, const std::string& code, std::string_view request_id) {
  const auto* known = std::ranges::find(kCodes, code, &CodeKind::code);
  ErrorKind kind = known != std::end(kCodes) ? known->kind : kind_of_status(status);
  bool bucket = code == "NoSuchBucket";
  Error error =
      base::fail(kind, bucket ? "the bucket does not exist" : std::string(message_of(kind)));
  if (bucket) error = std::move(error).with_reason("no_such_bucket");
  return std::move(error).with_detail(
      fmt::format("S3: {} {} (request {})", status, clean(code), clean(request_id)));
}

Result<ListedObject> read_object(const XmlElement& element, ObjectKey key) {
  auto size = base::parse_int64(element.text_of("Size"));
  auto modified = parse_time(element.text_of("LastModified"));
  if (!size || *size < 0 || !modified) return corrupt("listing");
  return ListedObject{
      .key = std::move(key), .size = static_cast<std::uint64_t>(*size), .modified = *modified};
}

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int value = 0;
  for (char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// The microseconds of ".123" (1 to 9 digits) or of nothing.
std::optional<std::chrono::microseconds> fraction(std::string_view text) {
  if (text.empty()) return std::chrono::microseconds(0);
  if (text.size() < 2 || text.size() > 10 || text.front() != '.') return std::nullopt;
  std::string six(text.substr(1));
  if (!digits(six, 0, six.size())) return std::nullopt;
  six.resize(6, '0');
  return std::chrono::microseconds(*digits(six, 0, 6));
}

}  // namespace

std::optional<base::WallTime> parse_time(std::string_view text) {
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':' || text.back() != 'Z') {
    return std::nullopt;
  }
  auto year = digits(text, 0, 4);
  auto month = digits(text, 5, 2);
  auto day = digits(text, 8, 2);
  auto hour = digits(text, 11, 2);
  auto minute = digits(text, 14, 2);
  auto second = digits(text, 17, 2);
  auto part = fraction(text.substr(19, text.size() - 20));
  if (!year || !month || !day || !hour || !minute || !second || !part) return std::nullopt;
  std::chrono::year_month_day date{std::chrono::year(*year),
                                   std::chrono::month(static_cast<unsigned>(*month)),
                                   std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return base::WallTime(std::chrono::sys_days(date)) + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute) + std::chrono::seconds(*second) + *part;
}

Result<ListPage> read_list_page(std::string_view document) {
  ASSIGN_OR_RETURN(XmlElement root, read_root(document, "ListBucketResult"));
  ListPage page;
  for (const auto& element : root.children) {
    if (element.name != "Contents") continue;
    if (page.objects.size() + page.unnameable == kMaxPage) {
      return base::fail(ErrorKind::kTooLarge, "a listing of the object store is too long");
    }
    auto name = decode_key(element.text_of("Key"));
    if (!name) return corrupt("listing");
    auto key = ObjectKey::parse(*name);
    if (!key) {
      ++page.unnameable;
      continue;
    }
    ASSIGN_OR_RETURN(auto object, read_object(element, std::move(*key)));
    page.objects.push_back(std::move(object));
  }
  auto truncated = root.text_of("IsTruncated");
  if (truncated == "false") return page;
  auto next = root.text_of("NextContinuationToken");
  if (truncated != "true" || !is_printable(next)) return corrupt("listing");
  page.continuation = next;
  return page;
}

std::string write_delete(const std::vector<ObjectKey>& keys) {
  std::string out = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>";
  for (const auto& key : keys) {
    out += "<Object><Key>" + escape_xml(key.text()) + "</Key></Object>";
  }
  return out + "</Delete>";
}

Result<std::vector<RemoveFailure>> read_delete_answer(std::string_view document,
                                                      const std::vector<ObjectKey>& asked) {
  ASSIGN_OR_RETURN(XmlElement root, read_root(document, "DeleteResult"));
  std::set<std::string_view> names;
  for (const auto& key : asked) names.insert(key.text());
  std::vector<RemoveFailure> failures;
  for (const auto& element : root.children) {
    if (element.name != "Error") continue;
    std::string code(element.text_of("Code"));
    if (code == "NoSuchKey") continue;
    auto key = ObjectKey::parse(element.text_of("Key"));
    if (!key || !names.contains(key->text())) return corrupt("answer to a removal");
    failures.push_back({.key = std::move(*key), .error = make_error(400, code, "")});
  }
  return failures;
}

Result<std::string> read_upload_id(std::string_view document) {
  ASSIGN_OR_RETURN(XmlElement root, read_root(document, "InitiateMultipartUploadResult"));
  auto id = root.text_of("UploadId");
  if (!is_printable(id)) return corrupt("upload id");
  return std::string(id);
}

std::string write_complete(const std::vector<std::string>& etags) {
  std::string out = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t i = 0; i < etags.size(); ++i) {
    fmt::format_to(std::back_inserter(out),
                   "<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", i + 1,
                   escape_xml(etags[i]));
  }
  return out + "</CompleteMultipartUpload>";
}

base::Status read_complete_answer(std::string_view document) {
  ASSIGN_OR_RETURN(XmlElement root, parse_xml(document));
  if (root.name == "CompleteMultipartUploadResult") return {};
  if (root.name != "Error") return corrupt("answer to an upload");
  return make_error(500, std::string(root.text_of("Code")), root.text_of("RequestId"));
}

std::string write_bucket_region(std::string_view region) {
  return fmt::format(
      "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      "<LocationConstraint>{}</LocationConstraint></CreateBucketConfiguration>",
      escape_xml(region));
}

std::string error_code(const base::http::Response& answer) {
  constexpr XmlLimits kErrorLimits{.bytes = 64 * 1024, .depth = 4, .elements = 100};
  auto root = parse_xml(answer.body.view(), kErrorLimits);
  // Answers to HEAD, and those of proxies, have none: the status decides then.
  return root && root->name == "Error" ? std::string(root->text_of("Code")) : std::string();
}

Error to_error(const base::http::Response& answer) {
  return make_error(answer.status, error_code(answer),
                    answer.headers.get("x-amz-request-id").value_or(""));
}

}  // namespace lake::storage
