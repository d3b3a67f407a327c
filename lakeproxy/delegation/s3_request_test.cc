#include "lakeproxy/delegation/s3_request.h"

#include <gmock/gmock.h>

#include "lakeproxy/delegation/storage_rights.h"

namespace lake::delegation {
namespace {

using base::http::Headers;
using base::http::Method;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

const S3Address kPathStyle{.origin = {.host = "store.example", .port = 9000},
                           .bucket = "lake-bucket"};
const S3Address kVirtualHost{.origin = {.host = "s3.example", .port = 443, .encrypted = true},
                             .addressing = storage::Addressing::kVirtualHost,
                             .bucket = "lake-bucket"};

struct Asked {
  Method method = Method::kGet;
  std::string path = "/lake-bucket/wh/t1/data/a.parquet";
  std::string query;
  Headers headers;
  std::optional<std::string> body;
  std::string host = "store.example:9000";
};

base::Result<S3Operation> parse(const Asked& asked, const S3Address& store = kPathStyle) {
  S3RequestText text{.method = asked.method,
                     .host = asked.host,
                     .path = asked.path,
                     .query = asked.query,
                     .headers = &asked.headers};
  if (asked.body) text.body = *asked.body;
  return parse_s3_request(store, text);
}

std::string reason_of(const Asked& asked, const S3Address& store = kPathStyle) {
  auto parsed = parse(asked, store);
  return parsed ? "" : std::string(parsed.error().reason());
}

Headers one_header(std::string name, std::string value) {
  Headers headers;
  headers.add(std::move(name), std::move(value));
  return headers;
}

std::string deleted(std::string_view inner) {
  return "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" + std::string(inner) +
         "</Delete>";
}

storage::Location location(std::string_view url) { return *storage::Location::parse(url); }

// The rights to "wh/t1", with "shared/" listed.
StorageRightsPtr rights(KeyAccess access = KeyAccess::kReadWrite) {
  return *StorageRights::make("lake-bucket",
                              {.table = location("s3://lake-bucket/wh/t1"),
                               .listed = {location("s3://lake-bucket/shared/")},
                               .others = {}},
                              access);
}

std::string denied(const Asked& asked, KeyAccess access = KeyAccess::kReadWrite) {
  auto parsed = parse(asked);
  if (!parsed) return "not parsed: " + parsed.error().message();
  auto status = authorize_s3(*parsed, *rights(access));
  return status ? "" : std::string(status.error().reason());
}

// What clients send.

TEST(S3Request, reads_each_known_form) {
  struct Case {
    Method method;
    std::string path, query;
    S3Action action;
  };
  const Case kCases[] = {
      {Method::kGet, "/lake-bucket/a/b", "", S3Action::kGetObject},
      {Method::kGet, "/lake-bucket/a/b", "x-id=GetObject", S3Action::kGetObject},
      {Method::kHead, "/lake-bucket/a/b", "", S3Action::kHeadObject},
      {Method::kPut, "/lake-bucket/a/b", "", S3Action::kPutObject},
      {Method::kDelete, "/lake-bucket/a/b", "", S3Action::kDeleteObject},
      {Method::kPost, "/lake-bucket/a/b", "uploads", S3Action::kCreateUpload},
      {Method::kPost, "/lake-bucket/a/b", "uploads=", S3Action::kCreateUpload},
      {Method::kPut, "/lake-bucket/a/b", "partNumber=1&uploadId=2~x-Y_z", S3Action::kUploadPart},
      {Method::kPost, "/lake-bucket/a/b", "uploadId=MmQw", S3Action::kCompleteUpload},
      {Method::kDelete, "/lake-bucket/a/b", "uploadId=MmQw", S3Action::kAbortUpload},
      {Method::kGet, "/lake-bucket/a/b", "uploadId=MmQw&max-parts=10", S3Action::kListParts},
      {Method::kGet, "/lake-bucket", "list-type=2&prefix=a%2Fb%2F", S3Action::kListObjects},
      {Method::kGet, "/lake-bucket/",
       "continuation-token=a%3D&delimiter=%2F&encoding-type=url&fetch-owner=false&list-type=2"
       "&max-keys=1000&prefix=a/b/&start-after=",
       S3Action::kListObjects},
  };
  for (const auto& [method, path, query, action] : kCases) {
    auto parsed = parse({.method = method, .path = path, .query = query});
    ASSERT_TRUE(parsed) << to_string(action) << ": " << parsed.error().message();
    EXPECT_EQ(parsed->action, action) << path << "?" << query;
  }
}

TEST(S3Request, decodes_the_key_once_and_writes_it_anew) {
  auto parsed = parse({.path = "/lake-bucket/wh/t1/data/d%3D2026-01-01/r=%C3%A9%2B%20b.parquet"});
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->keys.at(0).text(), "wh/t1/data/d=2026-01-01/r=é+ b.parquet");
  EXPECT_EQ(url_of(kPathStyle, *parsed),
            "http://store.example:9000/lake-bucket/wh/t1/data/d%3D2026-01-01/"
            "r%3D%C3%A9%2B%20b.parquet");
}

TEST(S3Request, takes_a_virtual_host_where_the_store_has_them) {
  auto parsed = parse({.path = "/wh/t1/a", .host = "lake-bucket.s3.example"}, kVirtualHost);
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->keys.at(0).text(), "wh/t1/a");
  EXPECT_EQ(url_of(kVirtualHost, *parsed), "https://lake-bucket.s3.example/wh/t1/a");
}

TEST(S3Request, takes_what_clients_say_about_content_ranges_and_checksums) {
  Headers headers;
  for (const char* name :
       {"Range", "If-None-Match", "Content-Type", "Content-MD5", "amz-sdk-request", "User-Agent",
        "x-amz-checksum-crc32", "x-amz-sdk-checksum-algorithm", "X-Amz-Content-SHA256"}) {
    headers.add(name, "value");
  }
  headers.add("Host", "STORE.example:9000");
  EXPECT_TRUE(parse({.headers = headers}));
}

// Attacks.

TEST(S3RequestAttack, a_path_with_two_spellings) {
  for (const char* path : {
           "/lake-bucket/wh/t1/data/../../t2/a",      // ".."
           "/lake-bucket/wh/t1/data/./a",             // "."
           "/lake-bucket/wh/t1/data/..",              //
           "/lake-bucket/wh/t1//data/a",              // "//"
           "/lake-bucket//wh/t1/data/a",              //
           "/lake-bucket/wh/t1/data/",                // ends with '/'
           "/lake-bucket/wh/t1%2Fdata/a",             // "%2F"
           "/lake-bucket/wh/t1%2fdata/a",             //
           "/lake-bucket/wh/t1/%2e%2e/t2/a",          // "%2e"
           "/lake-bucket/wh/t1/%2E./t2/a",            //
           "/lake-bucket/wh/t1/..%2ft2/a",            //
           "/lake-bucket/wh/t1/..\\t2\\a",            // another slash
           "/lake-bucket/wh/t1/..%5Ct2%5Ca",          //
           "/lake-bucket/wh/%741/a",                  // "%74" is 't'
           "/%6Cake-bucket/wh/t1/a",                  //
           "/lake-bucket/wh/t1/a%",                   // a broken escape
           "/lake-bucket/wh/t1/a%2",                  //
           "/lake-bucket/wh/t1/a%zz",                 //
           "/lake-bucket/wh/t1/a%00",                 // the end of a C string
           "/lake-bucket/wh/t1/a%0D%0AHost:%20x",     // a line end
           "/lake-bucket/wh/t1/a%7F",                 //
           "/lake-bucket/wh/t1/a%C0%AE%C0%AE/b",      // ".." in overlong UTF-8
           "/lake-bucket/wh/t1/a%FF",                 // not UTF-8
           "/lake-bucket/wh/t1/\xc3\xa9",             // not encoded
           "/lake-bucket/wh/t1/a b",                  //
           "/lake-bucket/wh/t1/a+b",                  // a space to some
           "/lake-bucket/wh/t1/a;b",                  // a parameter to some
           "/lake-bucket/wh/t1/a#b",                  //
           "/lake-bucket/wh/t1/a?b",                  //
           "lake-bucket/wh/t1/a",                     //
           "",                                        //
           "http://store.example:9000/lake-bucket/a"  //
       }) {
    EXPECT_EQ(reason_of({.path = path}), kBadPath) << path;
  }
}

TEST(S3RequestAttack, a_key_that_becomes_another_when_it_is_decoded_twice) {
  for (const char* path : {
           "/lake-bucket/wh/t1/%252e%252e/t2/a",              // %2e%2e
           "/lake-bucket/wh/t1/%25252e%25252e/t2/a",          // three times
           "/lake-bucket/wh/t1/data/..%252F..%252Ft2/a",      //
           "/lake-bucket/wh/t1/data/100%25/%252e%252e/t2/a",  // after what is no escape
           "/lake-bucket/wh/t1/data/%2500",                   //
           "/lake-bucket/wh/t1/data/%255C..",                 //
           "/lake-bucket/wh/t1/a%252525252525252525",         // without an end in sight
       }) {
    EXPECT_EQ(reason_of({.path = path}), kBadPath) << path;
  }
}

// Iceberg writes the escapes of partition values into its paths.
TEST(S3Request, takes_escapes_in_names_where_each_reading_is_allowed) {
  Asked inside{.method = Method::kPut, .path = "/lake-bucket/wh/t1/data/k%3Da%252Fb/f.parquet"};
  auto parsed = parse(inside);
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->keys.at(0).text(), "wh/t1/data/k=a%2Fb/f.parquet");
  ASSERT_EQ(parsed->other_keys.size(), 1U);
  EXPECT_EQ(parsed->other_keys[0].text(), "wh/t1/data/k=a/b/f.parquet");
  EXPECT_EQ(denied(inside), "");
  // The second reading is in the server's own folder.
  EXPECT_EQ(denied({.method = Method::kPut, .path = "/lake-bucket/wh/t1/metadata%252Flake/x.avro"}),
            kNotWritable);
}

TEST(S3RequestAttack, another_address_or_bucket) {
  const std::pair<const char*, const char*> kCases[] = {
      {"store.example:9000", "/other-bucket/wh/t1/a"},
      {"store.example:9000", "/lake-bucket2/wh/t1/a"},
      {"store.example:9000", "/Lake-Bucket/wh/t1/a"},
      {"store.example:9000", "/"},
      {"store.example:9000", "//lake-bucket/wh/t1/a"},
      {"store.example", "/lake-bucket/wh/t1/a"},
      {"store.example:9001", "/lake-bucket/wh/t1/a"},
      {"evil.example:9000", "/lake-bucket/wh/t1/a"},
      {"store.example:9000.evil.example", "/lake-bucket/wh/t1/a"},
      {"", "/lake-bucket/wh/t1/a"},
  };
  for (const auto& [host, path] : kCases) {
    EXPECT_EQ(reason_of({.path = path, .host = host}), kBadAddress) << host << path;
  }
}

// A store that knows no virtual hosts reads the key's first segment as the bucket, and the other
// way around.
TEST(S3RequestAttack, a_virtual_host_at_a_store_with_paths_and_a_path_at_one_with_hosts) {
  EXPECT_EQ(reason_of({.path = "/lake-bucket/wh/t1/a", .host = "lake-bucket.store.example:9000"}),
            kBadAddress);
  EXPECT_EQ(reason_of({.path = "/lake-bucket/wh/t1/a", .host = "s3.example"}, kVirtualHost),
            kBadAddress);
  EXPECT_EQ(reason_of({.path = "/wh/t1/a", .host = "other.s3.example"}, kVirtualHost), kBadAddress);
}

TEST(S3RequestAttack, a_host_field_that_differs_from_the_url) {
  EXPECT_EQ(reason_of({.headers = one_header("Host", "lake-bucket.store.example:9000")}),
            kBadAddress);
}

TEST(S3RequestAttack, a_copy) {
  for (const char* name : {"x-amz-copy-source", "X-AMZ-Copy-Source", "x-amz-copy-source-range",
                           "x-amz-rename-source", "x_amz_copy_source", "x-goog-copy-source"}) {
    std::string reason =
        reason_of({.method = Method::kPut, .headers = one_header(name, "/lake-bucket/wh/t2/a")});
    EXPECT_TRUE(reason == kCopy || reason == kBadHeader) << name << ": " << reason;
  }
  EXPECT_EQ(reason_of({.method = Method::kPut,
                       .query = "partNumber=1&uploadId=x",
                       .headers = one_header("x-amz-copy-source", "/lake-bucket/wh/t2/a")}),
            kCopy);
}

TEST(S3RequestAttack, a_header_that_changes_what_is_done) {
  for (const char* name : {"x-amz-acl", "x-amz-grant-read", "x-amz-tagging", "x-amz-storage-class",
                           "x-amz-website-redirect-location", "x-amz-object-lock-mode",
                           "x-amz-bypass-governance-retention", "x-amz-mfa",
                           "x-amz-server-side-encryption-customer-key", "x-amz-write-offset-bytes",
                           "x-minio-force-delete", "x-http-method-override", "x-original-url",
                           "x-rewrite-url", "x-forwarded-host", "x-amz-request-payer"}) {
    EXPECT_EQ(reason_of({.method = Method::kPut, .headers = one_header(name, "value")}), kBadHeader)
        << name;
  }
}

TEST(S3RequestAttack, a_header_with_a_line_end) {
  EXPECT_EQ(reason_of({.headers = one_header("Range", "bytes=0-1\r\nx-amz-acl: public-read")}),
            kBadHeader);
  EXPECT_EQ(reason_of({.headers = one_header("Range\r\nx-amz-acl", "public-read")}), kBadHeader);
  EXPECT_EQ(reason_of({.headers = one_header("", "x")}), kBadHeader);
}

TEST(S3RequestAttack, versions) {
  EXPECT_EQ(reason_of({.path = "/lake-bucket", .query = "versions&prefix=wh/t1/"}), kVersion);
  EXPECT_EQ(reason_of({.query = "versionId=null"}), kVersion);
  EXPECT_EQ(reason_of({.method = Method::kDelete, .query = "versionId=3"}), kVersion);
  EXPECT_EQ(reason_of({.path = "/lake-bucket", .query = "versioning"}), kVersion);
}

TEST(S3RequestAttack, an_unknown_sub_resource) {
  for (const char* query :
       {"acl", "tagging", "torrent", "retention", "legal-hold", "attributes", "restore", "select",
        "partNumber=1", "response-content-type=text/html", "uploads", "delete", "renameObject",
        "append", "X-Amz-Signature=0", "AWSAccessKeyId=x", "UploadId=x", "list-type=2"}) {
    EXPECT_EQ(reason_of({.query = query}), kBadQuery) << query;
  }
  for (const char* query : {"policy", "acl", "location", "uploads", "lifecycle", "cors",
                            "notification", "replication", "inventory", "encryption", ""}) {
    EXPECT_EQ(reason_of({.path = "/lake-bucket", .query = query}), kBadQuery) << query;
  }
  for (auto method : {Method::kPut, Method::kDelete, Method::kPost, Method::kHead}) {
    EXPECT_EQ(reason_of({.method = method, .path = "/lake-bucket"}), kBadQuery)
        << to_string(method);
  }
  EXPECT_EQ(reason_of({.method = Method::kOther}), kBadMethod);
}

TEST(S3RequestAttack, a_query_with_two_readings) {
  for (const char* query :
       {"list-type=2&prefix=wh/t1/&prefix=wh/t2/", "list-type=2&prefix=wh/t1/;prefix=wh/t2/",
        "list-type=2&prefix=wh/t1+x/", "list-type=2&prefix=wh/t1/%", "list-type=2&prefix=%FF",
        "list-type=2&&prefix=wh/t1/", "list-type=2&=x&prefix=wh/t1/", "list-type=1&prefix=wh/t1/",
        "list-type=2&prefix=wh/t1/&delimiter=x", "list-type=2&prefix=wh/t1/&max-keys=-1",
        "list-type=2&prefix=wh/t1/&max-keys=1x", "list-type=2&prefix=wh/t1/&encoding-type=xml",
        "list-type=2&prefix=wh/t1/&x-id=GetObject", "list-type=2&prefix=wh/t1/&start-after=%0A"}) {
    EXPECT_EQ(reason_of({.path = "/lake-bucket", .query = query}), kBadQuery) << query;
  }
}

TEST(S3RequestAttack, an_upload_id_that_is_a_path) {
  for (const char* id : {"..", ".", "..%2F..%2Fx", "a/b", "", "a%00", "a%20b"}) {
    EXPECT_EQ(reason_of({.method = Method::kDelete, .query = "uploadId=" + std::string(id)}),
              kBadQuery)
        << id;
  }
  for (const char* number : {"0", "10001", "-1", "1e1", "", "01x"}) {
    EXPECT_EQ(reason_of({.method = Method::kPut,
                         .query = "uploadId=x&partNumber=" + std::string(number)}),
              kBadQuery)
        << number;
  }
}

TEST(S3RequestAttack, a_list_prefix_with_two_readings_or_none) {
  for (const char* prefix : {"", "/", "/wh/t1/", "wh//t1/", "wh/t1/../t2/", "wh/t1/..", "wh/t1/.",
                             "wh/./t1/", "wh/t1/%5C", "wh/t1/%252e%252e/t2/", "wh/t1/%252e%252e"}) {
    EXPECT_NE(
        reason_of({.path = "/lake-bucket", .query = "list-type=2&prefix=" + std::string(prefix)}),
        "")
        << prefix;
  }
  EXPECT_EQ(reason_of({.path = "/lake-bucket", .query = "list-type=2"}), kBadQuery);
}

TEST(S3Request, reads_the_objects_of_a_delete) {
  auto keys =
      read_delete_body("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" +
                       deleted("<Object><Key>wh/t1/a&amp;b</Key></Object>\n<Quiet>true</Quiet>"
                               "<Object><Key>wh/t1/c</Key></Object>"));
  ASSERT_TRUE(keys) << keys.error().message();
  ASSERT_EQ(keys->size(), 2U);
  EXPECT_EQ(keys->at(0).text(), "wh/t1/a&b");
  EXPECT_EQ(keys->at(1).text(), "wh/t1/c");
}

TEST(S3RequestAttack, a_delete_body_with_two_readings) {
  const std::string kKey = "<Object><Key>a</Key></Object>";
  for (const std::string& body : {
           std::string(),
           std::string("<Delete>"),
           deleted(""),
           deleted("<Quiet>true</Quiet>"),
           deleted("<Object><Key>a</Key><Key>b</Key></Object>"),              // two keys
           deleted("<Object><Key>a</Key><VersionId>3</VersionId></Object>"),  // a version
           deleted("<Object><Key>a</Key><ETag>x</ETag></Object>"),            // a condition
           deleted("<Object><Key>a<!-- x -->b</Key></Object>"),               // a comment
           deleted("<Object><Key><![CDATA[a]]></Key></Object>"),              //
           deleted("<Object><Key>a<?x?></Key></Object>"),                     //
           deleted("<Object><Key>a<Key>b</Key></Key></Object>"),              //
           deleted("<x:Object><x:Key>a</x:Key></x:Object>"),                  // a prefix
           deleted("<Object x=\"y\"><Key>a</Key></Object>"),                  //
           deleted("<Object><Key/></Object>"),                                //
           deleted("<Object><Key></Key></Object>"),                           //
           deleted("<Object><Key> a</Key></Object>"),                         // cut by some
           deleted("<Object><Key>a\n</Key></Object>"),                        //
           deleted("<Object><Key>a&#10;</Key></Object>"),                     //
           deleted("<Object><Key>a&x;</Key></Object>"),                       // an entity
           deleted("<Object><Key>wh/t1/../t2/a</Key></Object>"),              //
           deleted("<Object><Key>wh/t1\\a</Key></Object>"),                   //
           deleted("<object><key>a</key></object>"),                          //
           deleted(kKey) + deleted("<Object><Key>b</Key></Object>"),          // two roots
           "<!DOCTYPE d [<!ENTITY e \"b\">]>" + deleted(kKey),                //
           "<?xml version=\"1.0\" encoding=\"UTF-7\"?>" + deleted(kKey),      //
           "<Other>" + kKey + "</Other>",                                     //
       }) {
    auto keys = read_delete_body(body);
    EXPECT_FALSE(keys) << body;
    if (!keys) EXPECT_EQ(keys.error().reason(), kBadBody) << body;
  }
}

TEST(S3RequestAttack, a_delete_of_too_many_objects_or_of_none_that_are_told) {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "<Object><Key>a" + std::to_string(i) + "</Key></Object>";
  EXPECT_TRUE(read_delete_body(deleted(many)));
  EXPECT_FALSE(read_delete_body(deleted(many + "<Object><Key>b</Key></Object>")));
  Asked without{.method = Method::kPost, .path = "/lake-bucket", .query = "delete"};
  EXPECT_EQ(reason_of(without), kBadBody);
}

// What the rights say to it.

TEST(AuthorizeS3, reads_the_table_and_listed_folders_alone) {
  EXPECT_EQ(denied({.path = "/lake-bucket/wh/t1/data/a"}, KeyAccess::kRead), "");
  EXPECT_EQ(denied({.path = "/lake-bucket/shared/a"}, KeyAccess::kRead), "");
  EXPECT_EQ(denied({.method = Method::kHead, .path = "/lake-bucket/wh/t1/metadata/lake/m.avro"},
                   KeyAccess::kRead),
            "");
  EXPECT_EQ(denied({.path = "/lake-bucket/wh/t2/data/a"}), kNotReadable);
  EXPECT_EQ(denied({.path = "/lake-bucket/wh/t10/a"}), kNotReadable);
  EXPECT_EQ(denied({.path = "/lake-bucket/wh/t1"}), kNotReadable);
  EXPECT_EQ(denied({.method = Method::kHead, .path = "/lake-bucket/wh/t2/data/a"}), kNotReadable);
}

TEST(AuthorizeS3, writes_with_the_access_alone_and_never_into_the_servers_folder) {
  struct Form {
    Method method;
    std::string query;
  };
  const Form kForms[] = {{Method::kPut, ""},
                         {Method::kPut, "partNumber=1&uploadId=x"},
                         {Method::kPost, "uploads"},
                         {Method::kPost, "uploadId=x"},
                         {Method::kDelete, "uploadId=x"},
                         {Method::kGet, "uploadId=x"}};
  for (const auto& [method, query] : kForms) {
    auto at = [&](const char* path, KeyAccess access) {
      return denied({.method = method, .path = path, .query = query}, access);
    };
    EXPECT_EQ(at("/lake-bucket/wh/t1/data/a", KeyAccess::kReadWrite), "") << query;
    EXPECT_EQ(at("/lake-bucket/wh/t1/data/a", KeyAccess::kRead), kNotWritable) << query;
    EXPECT_EQ(at("/lake-bucket/wh/t1/metadata/lake/a", KeyAccess::kReadWrite), kNotWritable);
    EXPECT_EQ(at("/lake-bucket/wh/t2/data/a", KeyAccess::kReadWrite), kNotWritable);
    EXPECT_EQ(at("/lake-bucket/shared/a", KeyAccess::kReadWrite), kNotWritable);
  }
}

TEST(AuthorizeS3, judges_each_object_of_a_delete) {
  auto asked = [](const std::string& second) {
    return Asked{.method = Method::kPost,
                 .path = "/lake-bucket",
                 .query = "delete",
                 .body = deleted("<Object><Key>wh/t1/data/a</Key></Object><Object><Key>" + second +
                                 "</Key></Object>")};
  };
  EXPECT_EQ(denied(asked("wh/t1/data/b")), "");
  EXPECT_EQ(denied(asked("wh/t2/data/b")), kNotRemovable);
  EXPECT_EQ(denied(asked("wh/t1/metadata/lake/b")), kNotRemovable);
  EXPECT_EQ(denied(asked("wh/t1/data/b"), KeyAccess::kRead), kNotRemovable);
  EXPECT_EQ(denied({.method = Method::kDelete, .path = "/lake-bucket/wh/t2/a"}), kNotRemovable);
}

TEST(AuthorizeS3, lists_whole_segments) {
  auto list = [](const std::string& prefix) {
    return denied({.path = "/lake-bucket", .query = "list-type=2&prefix=" + prefix});
  };
  EXPECT_EQ(list("wh/t1/"), "");
  EXPECT_EQ(list("wh/t1/data/00"), "");
  EXPECT_EQ(list("wh/t1"), kNotListable);  // Also lists "wh/t10/".
  EXPECT_EQ(list("wh/"), kNotListable);
  EXPECT_EQ(list("w"), kNotListable);
  EXPECT_EQ(list("wh/t2/"), kNotListable);
}

TEST(S3Url, takes_an_absolute_url_apart) {
  auto url = split_s3_url("http://store.example:9000/b/k%20x?list-type=2&prefix=a%2F");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "store.example:9000");
  EXPECT_EQ(url->path, "/b/k%20x");
  EXPECT_EQ(url->query, "list-type=2&prefix=a%2F");
  EXPECT_EQ(split_s3_url("https://s3.example:443/a")->host, "s3.example");
  EXPECT_EQ(split_s3_url("http://s3.example:443/a")->host, "s3.example:443");
  EXPECT_EQ(split_s3_url("http://s3.example")->path, "/");
  EXPECT_EQ(split_s3_url("http://s3.example?x")->query, "x");
}

TEST(S3Url, refuses_users_fragments_and_other_schemes) {
  for (const char* url :
       {"", "/a", "s3://bucket/a", "ftp://s3.example/a", "HTTP://s3.example/a", "http://",
        "http:///a", "http://user@s3.example/a", "http://store.example:9000@evil.example/a",
        "http://s3.example/a#b", "http://s3.example\\@evil.example/a", "http://s3 .example/a",
        "http://s3.example%2Fa/b"}) {
    EXPECT_FALSE(split_s3_url(url)) << url;
  }
}

}  // namespace
}  // namespace lake::delegation
