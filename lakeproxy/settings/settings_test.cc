#include "lakeproxy/settings/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/config/describe.h"

namespace lake::settings {
namespace {

using base::ErrorKind;
using testing::HasSubstr;
using testing::Not;

// A folder without files, so that only the environment speaks.
base::config::Places places(std::vector<std::string> environment) {
  return {{}, std::move(environment), std::filesystem::path(testing::TempDir()) / "no-such-folder"};
}

Settings loaded(std::vector<std::string> environment) {
  auto settings = load(places(std::move(environment)));
  EXPECT_TRUE(settings.has_value()) << (settings ? "" : settings.error().message());
  return settings.value_or(Settings());
}

std::string refused(std::vector<std::string> environment) {
  auto settings = load(places(std::move(environment)));
  EXPECT_FALSE(settings.has_value());
  if (settings) return "";
  EXPECT_EQ(settings.error().kind(), ErrorKind::kInvalid);
  return settings.error().message();
}

TEST(SettingsTest, defaults_of_the_lake_are_the_documented_ones) {
  auto settings = loaded({});
  EXPECT_EQ(settings.postgres.hosts, "");
  EXPECT_EQ(settings.postgres.idle_transaction_timeout, std::chrono::seconds(30));
  EXPECT_EQ(settings.postgres.port, 55432);
  EXPECT_EQ(settings.postgres.user, "lake");
  EXPECT_EQ(settings.postgres.database, "lake");
  EXPECT_TRUE(settings.postgres.password.empty());
  EXPECT_EQ(settings.readers.row_security, RowSecurity::kOn);
  EXPECT_EQ(settings.readers.group_role, "lakeproxy_reader");
  EXPECT_EQ(settings.readers.lifetime, std::chrono::hours(1));
  EXPECT_TRUE(settings.readers.transparent_masking);
  EXPECT_FALSE(settings.masking.fail_closed);
  EXPECT_TRUE(settings.masking.actors_in_files);
  EXPECT_EQ(settings.catalog.name, "lake");
  EXPECT_EQ(settings.storage.region, "us-east-1");
  EXPECT_EQ(settings.storage.bucket, "lakehouse");
  EXPECT_EQ(settings.storage.prefix, "data/");
  EXPECT_EQ(settings.storage.addressing, Addressing::kPath);
  EXPECT_EQ(settings.server.public_url, "");
  EXPECT_EQ(settings.catalog.root_credentials, RootCredentials::kSuppressed);
  EXPECT_EQ(settings.catalog.listener, Listener::kOn);
  EXPECT_EQ(settings.catalog.default_format_version, 2);
  EXPECT_EQ(settings.catalog.cache_max, 1024U);
  EXPECT_EQ(settings.catalog.cache_max_bytes, 512U << 20);
  EXPECT_EQ(settings.catalog.manifest_cache_max_bytes, 256U << 20);
  EXPECT_EQ(settings.log.format, base::log::Format::kJson);
  EXPECT_EQ(settings.log.level, base::log::Level::kInfo);
}

TEST(SettingsTest, defaults_of_the_server_are_modest) {
  auto settings = loaded({});
  EXPECT_EQ(settings.server.host, "127.0.0.1");
  EXPECT_EQ(settings.server.port, 8181);
  EXPECT_EQ(settings.server.workers, 0U);
  EXPECT_EQ(settings.server.max_body_bytes, 16U << 20);
  EXPECT_EQ(settings.server.request_timeout, std::chrono::seconds(60));
  EXPECT_EQ(settings.postgres.connections_per_worker, 4U);
  EXPECT_EQ(settings.postgres.background_connections_per_worker, 2U);
  EXPECT_EQ(settings.engine.memory_bytes, 256'000'000U);
  EXPECT_EQ(settings.engine.threads, 1U);
  EXPECT_EQ(settings.engine.load_threads, 2U);
  EXPECT_EQ(settings.engine.commit_threads, 1U);
  EXPECT_EQ(settings.engine.background_threads, 1U);
  EXPECT_EQ(settings.engine.nan_count_max_bytes, 128U << 20);
}

TEST(SettingsTest, authentication_is_off_without_clients) {
  auto settings = loaded({});
  EXPECT_FALSE(settings.auth.is_on());
  EXPECT_EQ(settings.auth.issuer, kDefaultIssuer);
  EXPECT_EQ(settings.auth.token_lifetime, std::chrono::seconds(3600));
  EXPECT_EQ(settings.auth.max_guesses, 20U);
  EXPECT_EQ(settings.server.max_requests_per_second, 0U);
  EXPECT_EQ(settings.audit.retention.count(), 0);
  EXPECT_FALSE(loaded({"LAKEPROXY_OAUTH_JWT_SECRET=" + std::string(32, 's')}).auth.is_on());
}

TEST(SettingsTest, takes_clients_with_a_secret_for_their_tokens) {
  const std::string secret(32, 's');
  auto settings =
      loaded({"LAKEPROXY_OAUTH_CLIENTS=a:b|*,c:d|ns:x:r", "LAKEPROXY_REQUIRE_AUTH=1",
              "LAKEPROXY_OAUTH_CLIENTS_FILE=clients.json", "LAKEPROXY_OAUTH_JWT_SECRET=" + secret,
              "LAKEPROXY_OAUTH_JWT_SECRET_OTHER=" + secret + "2", "LAKEPROXY_OAUTH_TTL_SECONDS=60",
              "LAKEPROXY_OAUTH_ISSUER=me"});
  EXPECT_TRUE(settings.auth.is_on());
  EXPECT_EQ(settings.auth.clients.reveal(), "a:b|*,c:d|ns:x:r");
  EXPECT_EQ(settings.auth.clients_file, "clients.json");
  EXPECT_EQ(settings.auth.jwt_secret.reveal(), secret);
  EXPECT_EQ(settings.auth.jwt_secret_other.reveal(), secret + "2");
  EXPECT_EQ(settings.auth.token_lifetime, std::chrono::seconds(60));
  EXPECT_EQ(settings.auth.issuer, "me");
  EXPECT_TRUE(loaded({"LAKEPROXY_OAUTH_CLIENTS_FILE=c", "LAKEPROXY_OAUTH_JWT_SECRET=" + secret})
                  .auth.is_on());
}

TEST(SettingsTest, refuses_to_be_open_by_mistake) {
  EXPECT_THAT(refused({"LAKEPROXY_REQUIRE_AUTH=1"}), HasSubstr("LAKEPROXY_REQUIRE_AUTH: needs"));
  EXPECT_THAT(
      refused({"LAKEPROXY_REQUIRE_AUTH=1", "LAKEPROXY_OAUTH_JWT_SECRET=" + std::string(32, 's')}),
      HasSubstr("LAKEPROXY_REQUIRE_AUTH: needs"));
  EXPECT_THAT(refused({"LAKEPROXY_OAUTH_CLIENTS=a:topsecret|*"}),
              HasSubstr("LAKEPROXY_OAUTH_JWT_SECRET: is required"));
  const std::string short_secret = refused({"LAKEPROXY_OAUTH_CLIENTS=a:topsecret|*",
                                            "LAKEPROXY_OAUTH_JWT_SECRET=" + std::string(31, 's')});
  EXPECT_THAT(short_secret, HasSubstr("must have 32 bytes or more"));
  EXPECT_THAT(short_secret, Not(HasSubstr("sss")));
  EXPECT_THAT(short_secret, Not(HasSubstr("topsecret")));
  for (const char* value : {"0", "604801", "-1", "x"}) {
    EXPECT_THAT(refused({std::string("LAKEPROXY_OAUTH_TTL_SECONDS=") + value}),
                HasSubstr("LAKEPROXY_OAUTH_TTL_SECONDS"));
  }
  EXPECT_THAT(refused({"LAKEPROXY_OAUTH_ISSUER="}), HasSubstr("LAKEPROXY_OAUTH_ISSUER"));
}

TEST(SettingsTest, takes_an_identity_provider_whole_or_not_at_all) {
  const std::string issuer = "LAKEPROXY_OIDC_ISSUER=https://id.example/";
  const std::string audience = "LAKEPROXY_OIDC_AUDIENCE=lake";
  const std::string keys = "LAKEPROXY_OIDC_JWKS_URL=https://id.example/jwks";
  auto settings =
      loaded({issuer, audience, keys, "LAKEPROXY_OIDC_ALGORITHM=ES256",
              "LAKEPROXY_OIDC_ROLES_CLAIM=realm_access.roles", "LAKEPROXY_REQUIRE_AUTH=1"});
  EXPECT_TRUE(settings.auth.is_on());
  EXPECT_FALSE(settings.auth.has_clients());
  EXPECT_EQ(settings.auth.provider.issuer, "https://id.example/") << "byte by byte";
  EXPECT_EQ(settings.auth.provider.algorithm, TokenAlgorithm::kEs256);
  EXPECT_EQ(settings.auth.provider.roles_claim, "realm_access.roles");
  EXPECT_EQ(settings.auth.provider.account_claim, "account");
  EXPECT_EQ(loaded({issuer, audience, keys}).auth.provider.algorithm, TokenAlgorithm::kRs256);
  EXPECT_THAT(refused({issuer, audience}), HasSubstr("LAKEPROXY_OIDC_JWKS_URL: is required"));
  EXPECT_THAT(refused({issuer, keys}), HasSubstr("LAKEPROXY_OIDC_AUDIENCE: is required"));
  EXPECT_THAT(refused({audience}), HasSubstr("needs LAKEPROXY_OIDC_ISSUER"));
  EXPECT_THAT(refused({keys}), HasSubstr("needs LAKEPROXY_OIDC_ISSUER"));
  EXPECT_THAT(refused({issuer, audience, "LAKEPROXY_OIDC_JWKS_URL=http://id.example/jwks"}),
              HasSubstr("LAKEPROXY_OIDC_JWKS_URL"));
  EXPECT_THAT(refused({"LAKEPROXY_OIDC_ISSUER=lakeproxy", audience, keys}),
              HasSubstr("must not be LAKEPROXY_OAUTH_ISSUER"));
  EXPECT_THAT(refused({issuer, audience, keys, "LAKEPROXY_OIDC_ALGORITHM=hs256"}),
              HasSubstr("LAKEPROXY_OIDC_ALGORITHM"));
}

TEST(SettingsTest, takes_every_setting) {
  auto settings = loaded({
      "LAKEPROXY_HOST=::",
      "LAKEPROXY_PORT=0",
      "LAKEPROXY_WORKERS=3",
      "LAKEPROXY_TLS_CERT=c.pem",
      "LAKEPROXY_TLS_KEY=k.pem",
      "LAKEPROXY_PUBLIC_URL=https://lake.example/",
      "LAKEPROXY_MAX_BODY_BYTES=1MiB",
      "LAKEPROXY_MAX_CONNECTIONS=5",
      "LAKEPROXY_REQUEST_TIMEOUT=2.5",
      "LAKEPROXY_IDLE_TIMEOUT=5",
      "LAKEPROXY_MAX_REQUESTS_PER_SECOND=40",
      "LAKEPROXY_OAUTH_MAX_GUESSES=7",
      "LAKEPROXY_AUDIT_RETENTION_DAYS=30",
      "LAKEPROXY_PG_HOST=/run/pg, db-2.example",
      "LAKEPROXY_PG_PORT=5432",
      "LAKEPROXY_PG_USER=u",
      "LAKEPROXY_PG_DATABASE=d",
      "LAKEPROXY_PG_PASSWORD=p%w:/@",
      "LAKEPROXY_PG_CONNECTIONS=9",
      "LAKEPROXY_PG_BACKGROUND_CONNECTIONS=3",
      "LAKEPROXY_PG_IDLE_TRANSACTION_TIMEOUT=2.5",
      "LAKEPROXY_PG_TLS_MODE=verify-full",
      "LAKEPROXY_PG_TLS_ROOTS=r.pem",
      "LAKEPROXY_S3_ENDPOINT=https://s3.example:444",
      "LAKEPROXY_S3_REGION=eu-west-1",
      "LAKEPROXY_S3_BUCKET=my.bucket-1",
      "LAKEPROXY_S3_PREFIX=a/b=1/",
      "LAKEPROXY_S3_ROOT_KEY=rk",
      "LAKEPROXY_S3_ROOT_SECRET=rs",
      "LAKEPROXY_S3_PATH_STYLE=0",
      "LAKEPROXY_S3_CA_FILE=s.pem",
      "LAKEPROXY_S3_CONNECTIONS=128",
      "LAKEPROXY_FILE_PREFIXES=s3://bucket/raw/, s3://other-bucket/a/b/",
      "LAKEPROXY_CATALOG=main",
      "LAKEPROXY_DEFAULT_FORMAT_VERSION=3",
      "LAKEPROXY_CACHE_MAX=0",
      "LAKEPROXY_CACHE_MAX_BYTES=1MiB",
      "LAKEPROXY_MANIFEST_CACHE_MAX_BYTES=2MiB",
      "LAKEPROXY_SUPPRESS_ROOT_CREDS=0",
      "LAKEPROXY_DISABLE_NOTIFY=1",
      "LAKEPROXY_SCAN_PLANNING=server",
      "LAKEPROXY_CONSOLE=0",
      "LAKEPROXY_ENGINE_MEMORY=1GiB",
      "LAKEPROXY_ENGINE_THREADS=2",
      "LAKEPROXY_ENGINE_LOAD_THREADS=5",
      "LAKEPROXY_ENGINE_COMMIT_THREADS=6",
      "LAKEPROXY_ENGINE_BACKGROUND_THREADS=7",
      "LAKEPROXY_NAN_COUNT_MAX_BYTES=0",
      "LAKEPROXY_SCRATCH_DIR=/scratch",
      "LAKEPROXY_RLS=0",
      "LAKEPROXY_TRANSPARENT_MASKING=0",
      "LAKEPROXY_GOVERNANCE_FAIL_CLOSED=1",
      "LAKEPROXY_READER_GROUP_ROLE=readers_of_2",
      "LAKEPROXY_READER_TTL_SECONDS=60",
      "LAKEPROXY_READER_PG_HOST=db.example",
      "LAKEPROXY_READER_PG_PORT=6432",
      "LAKEPROXY_LOG_FORMAT=text",
      "LAKEPROXY_LOG_LEVEL=DEBUG",
  });
  EXPECT_EQ(settings.server.host, "::");
  EXPECT_EQ(settings.server.port, 0);
  EXPECT_EQ(settings.server.workers, 3U);
  EXPECT_EQ(settings.server.tls_cert, "c.pem");
  EXPECT_EQ(settings.server.tls_key, "k.pem");
  EXPECT_EQ(settings.server.public_url, "https://lake.example");
  EXPECT_EQ(settings.server.max_body_bytes, 1U << 20);
  EXPECT_EQ(settings.server.max_connections, 5U);
  EXPECT_EQ(settings.server.request_timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(settings.server.idle_timeout, std::chrono::seconds(5));
  EXPECT_EQ(settings.server.max_requests_per_second, 40U);
  EXPECT_EQ(settings.server.console, Console::kOff);
  EXPECT_EQ(loaded({}).server.console, Console::kOn);
  EXPECT_EQ(settings.auth.max_guesses, 7U);
  EXPECT_EQ(settings.audit.retention, std::chrono::days(30));
  EXPECT_EQ(settings.postgres.hosts, "/run/pg,db-2.example");
  EXPECT_EQ(settings.postgres.idle_transaction_timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(settings.postgres.port, 5432);
  EXPECT_EQ(settings.postgres.user, "u");
  EXPECT_EQ(settings.postgres.database, "d");
  EXPECT_EQ(settings.postgres.password.reveal(), "p%w:/@");
  EXPECT_EQ(settings.postgres.connections_per_worker, 9U);
  EXPECT_EQ(settings.postgres.background_connections_per_worker, 3U);
  EXPECT_EQ(settings.postgres.tls_mode, "verify-full");
  EXPECT_EQ(settings.postgres.tls_roots, "r.pem");
  EXPECT_EQ(settings.storage.endpoint, "https://s3.example:444");
  EXPECT_EQ(settings.storage.region, "eu-west-1");
  EXPECT_EQ(settings.storage.bucket, "my.bucket-1");
  EXPECT_EQ(settings.storage.prefix, "a/b=1/");
  EXPECT_EQ(settings.storage.root_key.reveal(), "rk");
  EXPECT_EQ(settings.storage.root_secret.reveal(), "rs");
  EXPECT_EQ(settings.storage.addressing, Addressing::kVirtualHost);
  EXPECT_EQ(settings.storage.ca_file, "s.pem");
  EXPECT_EQ(settings.storage.connections_per_worker, 128U);
  EXPECT_THAT(settings.storage.file_prefixes,
              testing::ElementsAre("s3://bucket/raw/", "s3://other-bucket/a/b/"));
  EXPECT_EQ(settings.catalog.name, "main");
  EXPECT_EQ(settings.catalog.default_format_version, 3);
  EXPECT_EQ(settings.catalog.cache_max, 0U);
  EXPECT_EQ(settings.catalog.cache_max_bytes, 1U << 20);
  EXPECT_EQ(settings.catalog.manifest_cache_max_bytes, 2U << 20);
  EXPECT_EQ(settings.catalog.root_credentials, RootCredentials::kSentToClients);
  EXPECT_EQ(settings.catalog.listener, Listener::kOff);
  EXPECT_EQ(settings.catalog.scan_planning, ScanPlanning::kServer);
  EXPECT_EQ(settings.engine.memory_bytes, 1U << 30);
  EXPECT_EQ(settings.engine.threads, 2U);
  EXPECT_EQ(settings.engine.load_threads, 5U);
  EXPECT_EQ(settings.engine.commit_threads, 6U);
  EXPECT_EQ(settings.engine.background_threads, 7U);
  EXPECT_EQ(settings.engine.nan_count_max_bytes, 0U);
  EXPECT_EQ(settings.engine.scratch_dir, "/scratch");
  EXPECT_EQ(settings.readers.row_security, RowSecurity::kOff);
  EXPECT_FALSE(settings.readers.transparent_masking);
  EXPECT_TRUE(settings.masking.fail_closed);
  EXPECT_EQ(settings.readers.group_role, "readers_of_2");
  EXPECT_EQ(settings.readers.lifetime, std::chrono::minutes(1));
  EXPECT_EQ(settings.readers.pg_host, "db.example");
  EXPECT_EQ(settings.readers.pg_port, 6432);
  EXPECT_EQ(settings.log.format, base::log::Format::kText);
  EXPECT_EQ(settings.log.level, base::log::Level::kDebug);
}

TEST(SettingsTest, temporary_keys_come_from_the_store_from_aws_from_an_address_or_from_nowhere) {
  const std::string store = "LAKEPROXY_S3_ENDPOINT=https://s3.example:444";
  const std::string role = "LAKEPROXY_STS_ROLE_ARN=arn:aws:iam::123456789012:role/lake";
  const auto endpoint = [&](const std::string& set) {
    return loaded({store, role, "LAKEPROXY_S3_REGION=eu-west-1", set}).storage.sts.endpoint;
  };
  EXPECT_EQ(endpoint("OTHER=1"), "https://s3.example:444");
  EXPECT_EQ(endpoint("LAKEPROXY_STS_ENDPOINT=aws"), "https://sts.eu-west-1.amazonaws.com");
  EXPECT_EQ(endpoint("LAKEPROXY_STS_ENDPOINT=https://sts.example"), "https://sts.example");
  EXPECT_EQ(endpoint("LAKEPROXY_STS_ENDPOINT=none"), "");
  EXPECT_THAT(refused({"LAKEPROXY_STS_ENDPOINT=aws"}),
              HasSubstr("LAKEPROXY_STS_ROLE_ARN: is required"));
  EXPECT_THAT(refused({"LAKEPROXY_STS_ENDPOINT=sts.example"}), HasSubstr("LAKEPROXY_STS_ENDPOINT"));
  EXPECT_EQ(loaded({role}).storage.sts.role_arn, "arn:aws:iam::123456789012:role/lake");
  EXPECT_EQ(loaded({}).storage.sts.max_duration, std::chrono::hours(12));
  EXPECT_EQ(loaded({"LAKEPROXY_STS_MAX_DURATION=900"}).storage.sts.max_duration,
            std::chrono::minutes(15));
  for (const char* seconds : {"899", "43201"}) {
    EXPECT_THAT(refused({std::string("LAKEPROXY_STS_MAX_DURATION=") + seconds}),
                HasSubstr("LAKEPROXY_STS_MAX_DURATION"));
  }
}

TEST(SettingsTest, takes_the_bounds_of_signatures_catalogs_and_masked_copies) {
  const auto defaults = loaded({});
  EXPECT_EQ(defaults.storage.signer_cache, std::chrono::seconds(10));
  EXPECT_EQ(defaults.catalog.max_active, 32U);
  EXPECT_EQ(defaults.masking.states, 2U);
  EXPECT_EQ(defaults.masking.grace, std::chrono::seconds(3900));
  EXPECT_EQ(defaults.masking.idle, std::chrono::days(7));
  EXPECT_EQ(defaults.masking.part_bytes, 256'000'000U);
  const auto settings =
      loaded({"LAKEPROXY_SIGNER_CACHE_TTL=2.5", "LAKEPROXY_MAX_ACTIVE_CATALOGS=5",
              "LAKEPROXY_MASKED_RETAIN_SNAP_DIRS=3", "LAKEPROXY_MASKED_RETAIN_GRACE_SECONDS=0",
              "LAKEPROXY_MASKED_EXPORT_TTL_DAYS=1", "LAKEPROXY_MASKED_EXPORT_FILE_SIZE=1MiB"});
  EXPECT_EQ(settings.storage.signer_cache, std::chrono::milliseconds(2500));
  EXPECT_EQ(settings.catalog.max_active, 5U);
  EXPECT_EQ(settings.masking.states, 3U);
  EXPECT_EQ(settings.masking.grace.count(), 0);
  EXPECT_EQ(settings.masking.idle, std::chrono::days(1));
  EXPECT_EQ(settings.masking.part_bytes, 1U << 20);
}

TEST(SettingsTest, the_preset_sets_workers_unless_they_are_set) {
  EXPECT_EQ(loaded({"LAKEPROXY_PRESET=high-throughput"}).server.workers, 4U);
  EXPECT_EQ(loaded({"LAKEPROXY_PRESET=high-throughput", "LAKEPROXY_WORKERS=2"}).server.workers, 2U);
  EXPECT_EQ(loaded({"LAKEPROXY_PRESET=high-throughput", "LAKEPROXY_WORKERS=0"}).server.workers, 0U);
  EXPECT_EQ(loaded({"LAKEPROXY_PRESET=default"}).server.workers, 0U);
}

TEST(SettingsTest, refuses_what_breaks_a_rule) {
  for (std::string setting : {
           "HOST=",
           "HOST=a b",
           "PORT=65536",
           "PORT=-1",
           "WORKERS=257",
           "PRESET=fast",
           "PUBLIC_URL=lake.example",
           "MAX_BODY_BYTES=1",
           "MAX_BODY_BYTES=2GiB",
           "MAX_CONNECTIONS=0",
           "REQUEST_TIMEOUT=0",
           "REQUEST_TIMEOUT=3601",
           "IDLE_TIMEOUT=0.5",
           "MAX_REQUESTS_PER_SECOND=-1",
           "OAUTH_MAX_GUESSES=many",
           "AUDIT_RETENTION_DAYS=-1",
           "PG_HOST=a b",
           "PG_HOST=/run/a\"b",
           "PG_HOST=a,,b",
           "PG_HOST=a,a",
           "PG_IDLE_TRANSACTION_TIMEOUT=0.5",
           "PG_IDLE_TRANSACTION_TIMEOUT=3601",
           "PG_PORT=0",
           "PG_USER=",
           "PG_USER=a b",
           "PG_USER=1a",
           "PG_DATABASE=a'b",
           "PG_PASSWORD=a b",
           "RLS=yes!",
           "READER_GROUP_ROLE=",
           "READER_GROUP_ROLE=Readers",
           "READER_GROUP_ROLE=pg_readers",
           "READER_GROUP_ROLE=a2345678901234567890123456789012345678901",
           "READER_TTL_SECONDS=0",
           "READER_TTL_SECONDS=43201",
           "READER_PG_HOST=a b",
           "READER_PG_PORT=65536",
           "PG_PASSWORD=a'b",
           "PG_PASSWORD=a\"b",
           "PG_PASSWORD=a\\b",
           "PG_CONNECTIONS=0",
           "PG_CONNECTIONS=101",
           "PG_TLS_MODE=maybe",
           "S3_ENDPOINT=",
           "S3_ENDPOINT=host:9000",
           "S3_REGION=",
           "S3_REGION=us/east",
           "S3_BUCKET=ab",
           "S3_BUCKET=Upper",
           "S3_BUCKET=a..b",
           "S3_BUCKET=-ab",
           "S3_BUCKET=ab/",
           "S3_PREFIX=",
           "S3_PREFIX=data",
           "S3_PREFIX=/",
           "S3_PREFIX=/data/",
           "S3_PREFIX=a//b/",
           "S3_PREFIX=../",
           "S3_PREFIX=a/../b/",
           "S3_PREFIX=./",
           "S3_PREFIX=a%2e/",
           "S3_PREFIX=a b/",
           "S3_ROOT_KEY=",
           "S3_ROOT_SECRET=",
           "S3_PATH_STYLE=2",
           "CATALOG=",
           "CATALOG=a/b",
           "CATALOG=..",
           "CATALOG=a b",
           "DEFAULT_FORMAT_VERSION=1",
           "DEFAULT_FORMAT_VERSION=4",
           "CACHE_MAX=-1",
           "CACHE_MAX_BYTES=1KiB",
           "MANIFEST_CACHE_MAX_BYTES=0",
           "NAN_COUNT_MAX_BYTES=many",
           "SUPPRESS_ROOT_CREDS=",
           "DISABLE_NOTIFY=maybe",
           "SCAN_PLANNING=both",
           "ENGINE_MEMORY=1MB",
           "ENGINE_THREADS=0",
           "SCRATCH_DIR=scratch",
           "LOG_FORMAT=xml",
           "LOG_LEVEL=loud",
       }) {
    std::string name = setting.substr(0, setting.find('='));
    EXPECT_THAT(refused({"LAKEPROXY_" + setting}),
                HasSubstr("environment: LAKEPROXY_" + name + ": "))
        << setting;
  }
}

TEST(SettingsTest, refuses_settings_that_do_not_fit_together) {
  EXPECT_THAT(refused({"LAKEPROXY_TLS_CERT=c.pem"}), HasSubstr("LAKEPROXY_TLS_CERT: needs"));
  EXPECT_THAT(refused({"LAKEPROXY_TLS_KEY=k.pem"}), HasSubstr("LAKEPROXY_TLS_KEY: needs"));
  EXPECT_THAT(refused({"LAKEPROXY_S3_ENDPOINT=http://h/path"}), HasSubstr("LAKEPROXY_S3_ENDPOINT"));
  EXPECT_THAT(refused({"LAKEPROXY_PG_TLS_ROOTS=r.pem"}), HasSubstr("LAKEPROXY_PG_TLS_ROOTS"));
  for (const char* url : {"http://lake.example", "http://10.0.0.1:8181/", "http://[2001:db8::1]",
                          "http://localhost.example", "http://127.0.0.1.example:1/"}) {
    EXPECT_THAT(refused({std::string("LAKEPROXY_PUBLIC_URL=") + url}),
                HasSubstr("LAKEPROXY_PUBLIC_URL: must be https"));
  }
  for (const char* url : {"https://lake.example", "http://127.0.0.1:8181", "http://localhost/lake",
                          "http://[::1]:8181"}) {
    EXPECT_FALSE(loaded({std::string("LAKEPROXY_PUBLIC_URL=") + url}).server.public_url.empty());
  }
  std::string all = refused({"LAKEPROXY_TLS_KEY=k.pem", "LAKEPROXY_S3_ENDPOINT=http://h/path"});
  EXPECT_EQ(std::ranges::count(all, '\n'), 1);
}

TEST(SettingsTest, names_the_nearest_setting) {
  EXPECT_THAT(refused({"LAKEPROXY_PG_PASWORD=hunter2"}), HasSubstr("LAKEPROXY_PG_PASSWORD"));
  EXPECT_THAT(refused({"LAKEPROXY_PG_PASWORD=hunter2"}), Not(HasSubstr("hunter2")));
}

TEST(SettingsTest, the_page_of_settings_shows_no_secret) {
  std::string page = base::config::settings_markdown(make_table(), "Configuration");
  EXPECT_THAT(page, HasSubstr("`LAKEPROXY_S3_ROOT_SECRET`"));
  EXPECT_THAT(page, Not(HasSubstr("minioadmin")));
}

TEST(SettingsTest, folders_for_files_are_spelled_in_one_way) {
  EXPECT_TRUE(loaded({}).storage.file_prefixes.empty());
  for (const char* wrong : {"s3://bucket/raw", "s3a://bucket/raw/", "/raw/", "s3://bucket//raw/",
                            "s3://bucket/raw/../", "s3://bucket/./raw/", "s3://bucket/raw?/",
                            "s3://B/raw/", "s3://bucket/\traw/", "s3:///", "s3://bucket/a/,raw"}) {
    EXPECT_THAT(refused({std::string("LAKEPROXY_FILE_PREFIXES=") + wrong}),
                HasSubstr("FILE_PREFIXES"))
        << wrong;
  }
  EXPECT_EQ(loaded({"LAKEPROXY_FILE_PREFIXES=s3://bucket/"}).storage.file_prefixes.size(), 1U);
}

}  // namespace
}  // namespace lake::settings
