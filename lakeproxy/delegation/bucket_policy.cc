#include "lakeproxy/delegation/bucket_policy.h"

#include <algorithm>

#include "base/json/json.h"

namespace lake::delegation {
namespace {

namespace json = base::json;
using auth::Access;

std::string prefix_of(const storage::Location& folder) {
  std::string prefix = folder.path();
  if (!prefix.ends_with('/')) prefix += '/';
  return prefix;
}

// "${aws:username}" is a variable, '*' and '?' are patterns; a quote is escaped as in any JSON.
bool is_literal(std::string_view text) { return text.find_first_of("*?$") == std::string::npos; }

bool overlaps_another(const PolicyFolder& one, const std::vector<PolicyFolder>& all) {
  return std::ranges::any_of(all, [&](const PolicyFolder& other) {
    if (other.name_space == one.name_space) return false;
    const std::string a = prefix_of(one.folder);
    const std::string b = prefix_of(other.folder);
    return other.folder.bucket() == one.folder.bucket() && (a.starts_with(b) || b.starts_with(a));
  });
}

bool can_be_named(const std::string& bucket, const PolicyFolder& one,
                  const std::vector<PolicyFolder>& all) {
  return one.folder.bucket() == bucket && !one.folder.path().empty() &&
         is_literal(one.folder.path()) && !overlaps_another(one, all);
}

json::Object statement(std::string_view effect, json::Array principals, json::Array actions,
                       json::Array resources) {
  return {{"Effect", effect},
          {"Principal", json::Object{{"AWS", std::move(principals)}}},
          {"Action", std::move(actions)},
          {"Resource", std::move(resources)}};
}

std::string resource(const std::string& bucket, const std::string& path) {
  return "arn:aws:s3:::" + bucket + "/" + path;
}

// What one key may do; the folders that it writes are added to `written`.
json::Array allowed(const std::string& bucket, const PolicyKey& key,
                    const std::vector<PolicyFolder>& folders, std::vector<std::string>& written) {
  json::Array read;
  json::Array write;
  for (const PolicyFolder& one : folders) {
    if (!key.scopes.open(one.name_space, Access::kRead)) continue;
    const std::string prefix = prefix_of(one.folder);
    read.emplace_back(resource(bucket, prefix + "*"));
    if (!key.scopes.open(one.name_space, Access::kWrite)) continue;
    write.emplace_back(resource(bucket, prefix + "*"));
    written.push_back(prefix);
  }
  json::Array out;
  const json::Array who{json::Value(key.access_key)};
  if (!read.empty()) out.push_back(statement("Allow", who, {"s3:GetObject"}, std::move(read)));
  if (!write.empty()) {
    out.push_back(statement(
        "Allow", who, {"s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"},
        std::move(write)));
  }
  return out;
}

}  // namespace

base::Result<BucketPolicy> bucket_policy(const std::string& bucket,
                                         const std::vector<PolicyKey>& keys,
                                         const std::vector<PolicyFolder>& folders) {
  BucketPolicy policy;
  std::vector<PolicyFolder> named;
  for (const PolicyFolder& one : folders) {
    if (can_be_named(bucket, one, folders)) {
      named.push_back(one);
    } else {
      policy.left_out.push_back(one.folder.text());
    }
  }
  json::Array statements;
  json::Array writers;
  std::vector<std::string> written;
  for (const PolicyKey& key : keys) {
    const std::size_t before = written.size();
    for (auto& one : allowed(bucket, key, named, written)) statements.push_back(std::move(one));
    if (written.size() > before) writers.emplace_back(key.access_key);
  }
  std::ranges::sort(written);
  const auto same = std::ranges::unique(written);
  written.erase(same.begin(), same.end());
  json::Array closed;
  for (const std::string& prefix : written) {
    closed.emplace_back(resource(bucket, prefix + "metadata/lake/*"));
  }
  // The server's own folders: nobody puts a manifest under a name that it will use next.
  if (!closed.empty()) {
    statements.push_back(
        statement("Deny", std::move(writers), {"s3:PutObject"}, std::move(closed)));
  }
  if (statements.empty()) return policy;
  policy.text =
      json::write(json::Object{{"Version", "2012-10-17"}, {"Statement", std::move(statements)}});
  if (policy.text.size() > kMostBucketPolicyBytes) {
    return base::fail(base::ErrorKind::kTooLarge,
                      "the bucket policy would have " + std::to_string(policy.text.size()) +
                          " bytes, and stores take 20480: give fewer keys, or fewer namespaces");
  }
  return policy;
}

}  // namespace lake::delegation
