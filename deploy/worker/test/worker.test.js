// Runs worker.js in workerd, the runtime of the edge, and compares its answers with those of `evenkeel webhook`: both are
// recorded once, in internal/admission/testdata/reviews.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, test } from "node:test";
import { Miniflare } from "miniflare";

const cases = new URL("../../../internal/admission/testdata/reviews/", import.meta.url);
const script = readFileSync(new URL("../worker.js", import.meta.url), "utf8");
const workers = new Map();

async function send(bindings, path, init) {
  const key = JSON.stringify(bindings);
  if (!workers.has(key)) {
    workers.set(key, new Miniflare({ modules: true, script, bindings, compatibilityDate: "2025-01-01" }));
  }
  return workers.get(key).dispatchFetch("https://taint.example" + path, init);
}

after(() => Promise.all([...workers.values()].map((worker) => worker.dispose())));

function bodyOf({ review, body = "", padTo = 0 }) {
  if (review !== undefined) {
    return JSON.stringify(review);
  }
  return body + " ".repeat(Math.max(0, padTo - Buffer.byteLength(body)));
}

for (const name of readdirSync(cases)) {
  const recorded = JSON.parse(readFileSync(new URL(name, cases), "utf8"));
  test(`${name.replace(".json", "")}: ${recorded.why}`, async () => {
    const { method = "POST", contentType = "application/json", taint, answer } = recorded;
    const response = await send(taint ? { TAINT: taint } : {}, "/taint", {
      method,
      headers: contentType ? { "content-type": contentType } : {},
      body: method === "GET" ? undefined : bodyOf(recorded),
    });
    assert.deepEqual(
      { status: response.status, contentType: response.headers.get("content-type"), body: await response.text() },
      answer,
    );
  });
}

const review = {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", request: { uid: "a" } }),
};

test("without a secret the path is /taint and no other", async () => {
  for (const [path, status] of [["/taint", 200], ["/taint?timeout=2s", 200], ["/", 404], ["/taint/", 404], ["/taint/x", 404]]) {
    assert.equal((await send({}, path, review)).status, status, path);
  }
});

test("with a secret only the path that ends in it is served", async () => {
  const bindings = { PATH_SECRET: "s3cr3t" };
  for (const [path, status] of [["/taint/s3cr3t", 200], ["/taint", 404], ["/taint/", 404], ["/taint/s3cr3", 404], ["/taint/s3cr3tt", 404], ["/taint/S3CR3T", 404]]) {
    assert.equal((await send(bindings, path, review)).status, status, path);
  }
});

test("a taint that is none is an error of the server, and says what is expected", async () => {
  for (const taint of ["x", "k:NoExecute", "a b:NoSchedule", ":NoSchedule", "k=a b:NoSchedule"]) {
    const response = await send({ TAINT: taint }, "/taint", review);
    assert.equal(response.status, 500, taint);
    assert.match(await response.text(), /KEY\[=VALUE\]:NoSchedule/);
  }
});
