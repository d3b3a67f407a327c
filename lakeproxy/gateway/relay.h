#pragma once

// What passes between client and store: of a request what it asks for, of an answer what it is
// about. Both are lists of what is let through; nothing else of either side reaches the other.

#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/http/body_stream.h"
#include "base/http/client.h"
#include "base/runtime/task.h"
#include "lakeproxy/delegation/s3_request.h"
#include "lakeproxy/storage/sigv4.h"

namespace lake::gateway {

/// Where the store is connected to.
[[nodiscard]] base::http::Origin store_origin(const delegation::S3Address& store);

/// The request as it is sent to the store, without the hash of its body. An object is put only
/// where there is none of its name: it may come to be recorded while its bytes are on the way.
[[nodiscard]] storage::SignableRequest signable_of(const delegation::S3Address& store,
                                                   const delegation::S3Operation& operation,
                                                   const base::http::Headers& fields,
                                                   base::http::Method method);

/// The body of DeleteObjects. Its answer names each object.
[[nodiscard]] base::http::Body delete_document(const std::vector<storage::ObjectKey>& keys);
/// What belongs to a document that was written here: its type, its checksum and its hash.
void add_document_fields(std::string_view document, storage::SignableRequest& request);

/// The store's answer for the client. Errors, as refuse() makes them: the store's own, where they
/// are of the client's doing, without its words; kInternal, kUnavailable for all others.
[[nodiscard]] base::Task<base::Result<base::http::StreamedResponse>> relayed(
    base::http::StreamedResponse answer, delegation::S3Action action);

}  // namespace lake::gateway
