// SPDX-License-Identifier: MIT
// Verifies what was pushed with the Standard Webhooks library: a secret, then lines of JSON with
// headers and the body in base64; answers a line each.
const { Webhook } = require("standardwebhooks");
const hook = new Webhook(process.argv[2]);
const lines = require("readline").createInterface({ input: process.stdin });

lines.on("line", (text) => {
  const { headers, body } = JSON.parse(text);
  try {
    hook.verify(Buffer.from(body, "base64").toString(), headers);
    console.log("good");
  } catch (e) {
    console.log("bad: " + e.message);
  }
});
