/* SPDX-License-Identifier: MIT */
#include "server/push/push_sign.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/base64.h"
#include "base/error.h"
#include "engine/push.h"

int push_sign(struct str secrets, struct str id, int64_t timestamp, struct str body,
              struct buf *out)
{
    struct buf text = { 0 }, key = { 0 };
    struct str secret;
    bool first = true;
    int err = 0;

    buf_str(&text, id);
    buf_printf(&text, ".%lld.", (long long)timestamp);
    buf_str(&text, body);
    while (!err && push_secret_next(&secrets, &secret)) {
        unsigned char sum[EVP_MAX_MD_SIZE];
        unsigned len = 0;

        key.len = 0;
        if (text.failed || !push_secret_read(secret, &key) ||
            !HMAC(EVP_sha256(), key.ptr, (int)key.len, (const unsigned char *)text.ptr, text.len,
                  sum, &len))
            err = BELFRY_NOMEM;
        buf_text(out, first ? "v1," : " v1,");
        base64_put(out, (struct str){ (const char *)sum, len });
        first = false;
    }
    if (key.ptr)
        OPENSSL_cleanse(key.ptr, key.cap);
    buf_fini(&key);
    buf_fini(&text);
    return err || out->failed ? BELFRY_NOMEM : 0;
}
