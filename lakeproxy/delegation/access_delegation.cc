#include "lakeproxy/delegation/access_delegation.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/core/text.h"
#include "lakeproxy/audit/audit_trail.h"
#include "lakeproxy/delegation/remote_signer.h"
#include "lakeproxy/delegation/shown_objects.h"
#include "lakeproxy/delegation/table_rights.h"

namespace lake::delegation {
namespace {

using base::ErrorKind;
using std::chrono::milliseconds;

// A client with these keys may have begun to read; the others are asked for one table each.
constexpr std::size_t kMostIssued = 8192;
constexpr std::size_t kMostIssuedBytes = std::size_t{64} << 20;
// More names than a policy of kMostPolicyBytes could hold.
constexpr std::size_t kMostShown = 64;
// What is left of keys that are given once more while no others can be had.
constexpr std::chrono::minutes kStillGood{5};
// No STS gives keys for less.
constexpr std::chrono::seconds kShortestLife{900};

void add_part(std::string& key, std::string_view part) {
  const fmt::format_int size(part.size());
  key.append(1, ' ').append(size.data(), size.size()).append(1, ':').append(part);
}

// Who asks, for what, to do what. Each part with its length: no two callers have one key.
std::string key_of(const operation::Catalog& catalog, const auth::Principal& principal,
                   const model::TableIdentifier& identifier, const operation::SeenTable& seen) {
  constexpr std::size_t kUsual = 256;  // Of one allocation.
  const bool writes = !seen.is_shadow() && policy::may_write(principal, identifier.name_space);
  const fmt::format_int id(seen.loaded->table.table_id.value);
  std::string key;
  key.reserve(kUsual);
  key += seen.is_shadow() ? "masked" : writes ? "rw" : "r";
  if (seen.is_shadow()) add_part(key, seen.file_mask->signature);
  add_part(key, catalog.lake.catalog);
  add_part(key, {id.data(), id.size()});
  add_part(key, principal.account.value_or(""));
  add_part(key, principal.issuer);
  add_part(key, principal.subject);
  // The keys say where new ones are. Any number of parts: the last of all.
  for (const std::string& level : identifier.name_space.levels) add_part(key, level);
  add_part(key, identifier.name);
  return key;
}

const std::string& location_of(const ClientTable& table) {
  return table.seen.loaded ? table.seen.loaded->metadata.location : table.staged_location;
}

TablePlace place_of(const ClientTable& table) {
  if (table.seen.loaded) return seen_place(table.identifier.name_space, table.seen);
  return {.name_space = table.identifier.name_space, .location = table.staged_location};
}

// Where the Java client gets new keys, from the catalog's address on.
std::string refresh_endpoint(const operation::Catalog& catalog,
                             const model::TableIdentifier& table) {
  auto encoded = [](std::string_view text) {
    return base::percent_encode(text, base::Slash::kEncode);
  };
  std::string levels;
  for (const std::string& level : table.name_space.levels) {
    if (!levels.empty()) levels += '\x1f';
    levels += level;
  }
  return fmt::format("v1/{}/namespaces/{}/tables/{}/credentials", encoded(catalog.lake.catalog),
                     encoded(levels), encoded(table.name));
}

void note_refusal(const operation::Catalog& catalog, const auth::Principal& principal,
                  const ClientTable& table, const base::Error& error) {
  catalog.log->warning("keys refused", {{"user", principal.subject},
                                        {"catalog", catalog.lake.catalog},
                                        {"table", table.identifier.display()},
                                        {"error", error.message()},
                                        {"detail", error.detail()}});
}

std::string words_of(KeyAccess access) {
  return access == KeyAccess::kReadWrite ? "read-write" : "read";
}

// The record of keys that are about to be given, one for each session of the store. Errors: it
// cannot be kept, and the keys must not be told.
base::Task<base::Status> record_issued(base::RequestContext context, operation::Catalog* catalog,
                                       auth::Principal principal, ClientTable table, bool degraded,
                                       KeyAccess may) {
  catalog->log->info(degraded ? "keys issued for the whole folder" : "keys issued",
                     {{"operation", degraded ? "sts_degraded" : "load_credentials"},
                      {"user", principal.subject},
                      {"catalog", catalog->lake.catalog},
                      {"table", table.identifier.display()},
                      {"access", words_of(may)}});
  if (catalog->audit == nullptr) co_return base::Status{};
  auto record = audit::record_of(principal, degraded ? "sts_degraded" : "load_credentials",
                                 table.identifier.display(), "allowed");
  record.detail = base::json::write(base::json::Object{{"access", words_of(may)}});
  co_return co_await catalog->audit->write(context, std::move(record));
}

}  // namespace

Asked asked_of(std::optional<std::string_view> header) {
  Asked asked;
  std::string_view rest = header.value_or("");
  while (!rest.empty()) {
    const auto end = std::min(rest.find(','), rest.size());
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    asked.vended_credentials = asked.vended_credentials || word == "vended-credentials";
    asked.remote_signing = asked.remote_signing || word == "remote-signing";
  }
  return asked;
}

IssuedKeys::IssuedKeys(base::metrics::Registry& metrics)
    : entries({.values = kMostIssued, .bytes = kMostIssuedBytes}),
      reused(metrics.counter("lakeproxy_vended_keys_total", "Keys told to clients.",
                             {{"outcome", "reused"}})),
      issued(metrics.counter("lakeproxy_vended_keys_total", "Keys told to clients.",
                             {{"outcome", "issued"}})),
      degraded(metrics.counter("lakeproxy_vended_keys_degraded_total",
                               "Issued keys that open a table's folder, not its files alone.")),
      failed(metrics.counter("lakeproxy_vended_keys_total", "Keys told to clients.",
                             {{"outcome", "failed"}})) {}

base::Result<std::unique_ptr<AccessDelegation>> AccessDelegation::create(DelegationOptions options,
                                                                         IssuedKeys& issued,
                                                                         const base::Clock& clock) {
  std::unique_ptr<storage::StsClient> sts;
  if (options.sts) {
    ASSIGN_OR_RETURN(sts, storage::StsClient::create(*options.sts, clock));
  }
  return std::unique_ptr<AccessDelegation>(
      new AccessDelegation(std::move(options), std::move(sts), issued, clock));
}

AccessDelegation::AccessDelegation(DelegationOptions options,
                                   std::unique_ptr<storage::StsClient> sts, IssuedKeys& issued,
                                   const base::Clock& clock)
    : options_(std::move(options)), sts_(std::move(sts)), issued_(issued), clock_(clock) {}

// Where nobody makes keys, whoever asks for anything is told of the signer.
bool AccessDelegation::signs(const Asked& asked) const {
  if (asked.signer_url.empty() || asked.nothing()) return false;
  return !has_keys() || !asked.vended_credentials;
}

ClientAccessPtr AccessDelegation::signing(const operation::Catalog& catalog,
                                          const ClientTable& table, const std::string& url) const {
  base::json::Object config = options_.config;
  for (auto& [name, value] :
       signing_config(url, catalog.lake.catalog, table.identifier, table.staged)) {
    config[name] = value;
  }
  ClientAccess access;
  access.config = std::make_shared<publish::ClientConfig>(base::json::write(config));
  access.credentials = "[]";
  return std::make_shared<const ClientAccess>(std::move(access));
}

// A key that lives until somebody removes it is told to a token that may do all that the key may,
// as the policy at the store was written. Nothing: the caller has none.
base::Task<base::Result<ClientAccessPtr>> AccessDelegation::static_key(base::RequestContext context,
                                                                       operation::Catalog* catalog,
                                                                       auth::Principal principal,
                                                                       ClientTable table) {
  const bool may_have =
      pool_ != nullptr && principal.issuer == options_.issuer && principal.grants != nullptr;
  if (!may_have) co_return ClientAccessPtr();
  CO_ASSIGN_OR_RETURN(auto key, co_await static_keys(*catalog).of(context, principal.subject));
  if (!key) co_return ClientAccessPtr();
  if (!policy::may_read(principal, table.identifier.name_space)) {
    co_return base::fail(ErrorKind::kForbidden, "keys need a scope that reads");
  }
  // What it opens was written into the bucket's policy, whatever governance says since.
  if (table.seen.is_shadow()) {
    co_return base::fail(ErrorKind::kForbidden,
                         "a static key opens the table's own files, which are masked for " +
                             principal.subject + ": ask for remote signing");
  }
  if (!key->confined || !key->applied_scope) {
    co_return base::fail(ErrorKind::kForbidden,
                         "the static key of " + principal.subject +
                             " is not confined by a bucket policy that was applied");
  }
  auto opens = auth::Scopes::parse(*key->applied_scope, auth::OtherWords::kRefused);
  if (!opens || !opens->within(principal.grants->scopes)) {
    co_return base::fail(ErrorKind::kForbidden,
                         "the static key of " + principal.subject +
                             " opens more than the token does: apply the bucket policy again, or "
                             "ask for the whole scope");
  }
  co_return tell_static(*key, location_of(table));
}

ClientAccessPtr AccessDelegation::tell_static(const ducklake::StaticKey& key,
                                              const std::string& location) const {
  base::json::Object config = options_.config;
  config["s3.access-key-id"] = key.access_key;
  config["s3.secret-access-key"] = key.secret.reveal();
  ClientAccess access;
  access.credentials = R"([{"prefix":)";
  base::json::append_quoted(access.credentials, location + "/");
  access.credentials += R"(,"config":)" + base::json::write(config) + "}]";
  access.config =
      std::make_shared<publish::ClientConfig>(base::json::write(config), access.credentials);
  return std::make_shared<const ClientAccess>(std::move(access));
}

// Where a way is chosen: a client that takes keys gets them of the store, or else of the gateway.
base::Task<base::Result<ClientAccessPtr>> AccessDelegation::for_client(
    base::RequestContext context, operation::Catalog* catalog, auth::Principal principal,
    ClientTable table, Asked asked, Occasion occasion) {
  if (!has_keys() && asked.vended_credentials && !asked.remote_signing) {
    auto own = co_await static_key(context, catalog, principal, table);
    if (!own) {
      issued_.failed.add();
      note_refusal(*catalog, principal, table, own.error());
    }
    if (!own || *own != nullptr) co_return own;
  }
  if (signs(asked)) co_return signing(*catalog, table, asked.signer_url);
  const bool reads = policy::may_read(principal, table.identifier.name_space);
  if (!asked.vended_credentials || !has_keys() || !reads) co_return ClientAccessPtr();
  auto access = co_await vended(context, catalog, principal, table, occasion);
  if (!access) {
    issued_.failed.add();
    note_refusal(*catalog, principal, table, access.error());
  }
  co_return access;
}

ClientAccessPtr AccessDelegation::held(const operation::Catalog& catalog,
                                       const auth::Principal& principal,
                                       const model::TableIdentifier& identifier,
                                       const operation::SeenTable& seen, const Asked& asked,
                                       Occasion occasion) const {
  const bool takes_keys = asked.vended_credentials && has_keys() && seen.loaded != nullptr;
  if (!takes_keys || !policy::may_read(principal, identifier.name_space)) return nullptr;
  return ready(key_of(catalog, principal, identifier, seen), seen, occasion);
}

ClientAccessPtr AccessDelegation::ready(const std::string& key, const operation::SeenTable& seen,
                                        Occasion occasion) const {
  auto held = issued_.entries.get(key);
  if (!held || clock_.now() >= (*held)->reuse_until) return nullptr;
  if (!seen.version || (*held)->version != seen.version) return nullptr;
  if (occasion == Occasion::kLoad && (*held)->state != seen.loaded->etag) return nullptr;
  issued_.reused.add();
  return *held;
}

base::Task<base::Result<ClientAccessPtr>> AccessDelegation::vended(base::RequestContext context,
                                                                   operation::Catalog* catalog,
                                                                   auth::Principal principal,
                                                                   ClientTable table,
                                                                   Occasion occasion) {
  // Nobody else asks for a table that is staged.
  if (!table.seen.loaded) {
    co_return co_await vend(context, catalog, std::move(principal), std::move(table), nullptr);
  }
  const std::string key = key_of(*catalog, principal, table.identifier, table.seen);
  if (auto held = ready(key, table.seen, occasion)) co_return held;
  CO_ASSIGN_OR_RETURN(auto lease, co_await issued_.single_flight.take(context, key));
  if (auto held = ready(key, table.seen, occasion)) co_return held;
  auto before = issued_.entries.get(key).value_or(nullptr);
  CO_ASSIGN_OR_RETURN(
      auto made, co_await vend(context, catalog, std::move(principal), std::move(table), before));
  issued_.entries.put(
      key, made,
      key.size() + 2 * made->config->text->size() + made->policy.size() + made->credentials.size());
  co_return made;
}

base::Task<base::Result<ClientAccessPtr>> AccessDelegation::vend(base::RequestContext context,
                                                                 operation::Catalog* catalog,
                                                                 auth::Principal principal,
                                                                 ClientTable table,
                                                                 ClientAccessPtr before) {
  if (sts_ == nullptr) {
    co_return co_await mint(context, catalog, std::move(principal), std::move(table));
  }
  CO_ASSIGN_OR_RETURN(auto rights,
                      co_await table_folder_rights(context, catalog, principal, place_of(table),
                                                   KeyAccess::kReadWrite));
  ShownObjects shown(std::in_place);
  if (table.seen.loaded) {
    CO_ASSIGN_OR_RETURN(shown, co_await shown_objects(context, catalog->manifests, rights->bucket(),
                                                      table.seen.loaded, kMostShown));
  }
  CO_ASSIGN_OR_RETURN(SessionPolicy policy, session_policy(*rights, shown));
  const std::string state = table.seen.loaded ? table.seen.loaded->etag : "";
  const bool same = before && before->policy == policy.text;
  if (same && clock_.now() < before->reuse_until) {
    auto renewed = std::make_shared<ClientAccess>(*before);
    renewed->state = state;
    renewed->version = table.seen.version;
    issued_.reused.add();
    co_return renewed;
  }
  auto keys = co_await sts_->assume(
      context, {storage::session_name(principal.issuer, principal.subject), policy.text});
  if (!keys) {
    // Keys to the very same things, which live on anyhow.
    if (same && before->expires - clock_.now() > kStillGood) co_return before;
    co_return std::move(keys).error();
  }
  const std::string endpoint = refresh_endpoint(*catalog, table.identifier);
  auto made = std::make_shared<ClientAccess>(tell(*keys, *rights, endpoint));
  made->state = state;
  made->version = table.seen.version;
  made->degraded = policy.degraded;
  made->policy = std::move(policy.text);
  issued_.issued.add();
  if (made->degraded) issued_.degraded.add();
  CO_RETURN_IF_ERROR(
      co_await record_issued(context, catalog, principal, table, made->degraded, rights->access()));
  co_return made;
}

// What such keys open is asked at each request, so they carry no policy.
base::Task<base::Result<ClientAccessPtr>> AccessDelegation::mint(base::RequestContext context,
                                                                 operation::Catalog* catalog,
                                                                 auth::Principal principal,
                                                                 ClientTable table) {
  CO_ASSIGN_OR_RETURN(auto rights,
                      co_await table_folder_rights(context, catalog, principal, place_of(table),
                                                   KeyAccess::kReadWrite));
  CO_ASSIGN_OR_RETURN(auto keys, options_.mint(*catalog, principal, table, rights->access()));
  const std::string endpoint = refresh_endpoint(*catalog, table.identifier);
  auto made = std::make_shared<ClientAccess>(tell(keys, *rights, endpoint));
  if (table.seen.loaded) made->state = table.seen.loaded->etag;
  made->version = table.seen.version;
  issued_.issued.add();
  CO_RETURN_IF_ERROR(
      co_await record_issued(context, catalog, principal, table, false, rights->access()));
  co_return made;
}

namespace {

// Rights to read all of these folders; the first is what the others are listed beside. `listed` are
// open to everybody.
base::Result<StorageRightsPtr> rights_to(const operation::Catalog& catalog,
                                         const std::vector<storage::Location>& listed,
                                         const std::vector<std::string>& open,
                                         const std::vector<std::string>& closed) {
  std::vector<storage::Location> places;
  for (const std::string& folder : open) {
    ASSIGN_OR_RETURN(auto place, storage::Location::parse(folder));
    places.push_back(std::move(place));
  }
  RightsPlaces of{.table = places.front(), .listed = listed, .others = {}};
  of.listed.insert(of.listed.end(), places.begin() + 1, places.end());
  for (const std::string& folder : closed) {
    ASSIGN_OR_RETURN(auto place, storage::Location::parse(folder));
    of.others.push_back(std::move(place));
  }
  return StorageRights::make(catalog.store->bucket(), of, KeyAccess::kRead);
}

base::Result<std::string> policy_of(const operation::Catalog& catalog,
                                    const std::vector<storage::Location>& listed,
                                    const std::vector<std::string>& open,
                                    const std::vector<std::string>& closed,
                                    std::optional<base::WallTime> end) {
  ASSIGN_OR_RETURN(auto rights, rights_to(catalog, listed, open, closed));
  return folder_policy(*rights, end);
}

}  // namespace

base::Task<base::Result<std::optional<ReaderKeys>>> AccessDelegation::for_direct_reader(
    base::RequestContext context, operation::Catalog* catalog, auth::Principal principal,
    ducklake::ReaderFolders folders, std::optional<base::WallTime> end) {
  if (sts_ == nullptr || (folders.tables.empty() && folders.name_space.empty())) {
    co_return std::nullopt;
  }
  std::optional<std::chrono::seconds> enough;
  if (end) enough = std::chrono::floor<std::chrono::seconds>(*end - clock_.now());
  // Those of the shortest life are closed by their policy.
  const auto closing = enough < kShortestLife ? end : std::nullopt;
  if (enough) enough = std::max(*enough, kShortestLife);
  // Files of a table that is masked for the reader may lie there.
  CO_ASSIGN_OR_RETURN(const auto masked,
                      co_await catalog->upkeep->masked_folders(
                          context, std::nullopt, principal.subject, roles_of(principal)));
  const auto listed = masked.empty() ? catalog->file_prefixes : std::vector<storage::Location>();
  auto policy = folders.tables.empty()
                    ? base::Result<std::string>(base::fail(ErrorKind::kForbidden, "too many"))
                    : policy_of(*catalog, listed, folders.tables, {}, closing);
  const bool is_whole = !policy && !folders.name_space.empty();
  if (is_whole) {
    policy = policy_of(*catalog, listed, {folders.name_space}, folders.closed, closing);
  }
  if (!policy) {
    co_return base::fail(ErrorKind::kForbidden,
                         "no key can be cut to these tables; ask for one of them (table=)")
        .with_detail(policy.error().message());
  }
  auto keys = co_await sts_->assume(
      context, {storage::session_name(principal.issuer, principal.subject), *policy, enough});
  if (!keys) {
    issued_.failed.add();
    co_return std::move(keys).error();
  }
  if (end) keys->expires = std::min(keys->expires, *end);
  issued_.issued.add();
  catalog->log->info(is_whole ? "keys issued for the whole folder" : "keys issued",
                     {{"operation", is_whole ? "sts_degraded" : "ducklake_credentials"},
                      {"user", principal.subject},
                      {"catalog", catalog->lake.catalog},
                      {"folder", is_whole ? folders.name_space : folders.tables.front()},
                      {"access", "read"}});
  co_return ReaderKeys{std::move(*keys), options_.config};
}

ClientAccess AccessDelegation::tell(const storage::TemporaryKeys& keys, const StorageRights& rights,
                                    const std::string& refresh_endpoint) const {
  const auto expires_ms =
      std::chrono::duration_cast<milliseconds>(keys.expires.time_since_epoch()).count();
  base::json::Object config = sts_ != nullptr ? options_.config : options_.gateway_config;
  config["s3.access-key-id"] = keys.credentials.access_key;
  config["s3.secret-access-key"] = keys.credentials.secret_key.reveal();
  config["s3.session-token"] = keys.credentials.session_token.reveal();
  config["s3.session-token-expires-at-ms"] = std::to_string(expires_ms);
  config["s3.credentials-expiration"] = fmt::format(
      "{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::floor<std::chrono::seconds>(keys.expires)));
  config["client.refresh-credentials-endpoint"] = refresh_endpoint;
  auto entry = [&rights, text = base::json::write(config)](const std::string& folder) {
    std::string out = R"({"prefix":)";
    base::json::append_quoted(out, fmt::format("s3://{}/{}", rights.bucket(), folder));
    return out.append(R"(,"config":)").append(text).append("}");
  };
  ClientAccess access;
  access.credentials = "[" + entry(rights.table_prefix()) + "]";
  std::string entries = "[";
  for (const std::string& folder : rights.readable_prefixes()) {
    if (entries.size() > 1) entries += ",";
    entries += entry(folder);
  }
  access.config = std::make_shared<publish::ClientConfig>(base::json::write(config), entries + "]");
  access.expires = keys.expires;
  const base::WallTime now = clock_.now();
  access.reuse_until = now + (keys.expires - now) / 2;
  return access;
}

}  // namespace lake::delegation
