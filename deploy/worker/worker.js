// Evenkeel's bootstrap taint as a serverless edge worker: it answers AdmissionReviews for new nodes from outside the cluster.
//
// The answers are those of `evenkeel webhook`, byte for byte (internal/admission/review.go); the cases under
// internal/admission/testdata/reviews hold for both. What can't be understood is refused with 4xx, which a webhook with
// failurePolicy Ignore passes over; a review that is understood is always allowed, so no answer keeps a node away.
//
// Variables, all optional:
//   TAINT        KEY[=VALUE]:EFFECT; default below
//   PATH_SECRET  when set, the path is /taint/PATH_SECRET and every other path is 404

const DEFAULT_TAINT = "startup-taint.cluster-autoscaler.kubernetes.io/evenkeel-agent-not-ready:NoSchedule";
const MAX_BODY = 3 << 20; // bytes

export default {
  async fetch(request, env) {
    if (!pathIsRight(new URL(request.url).pathname, env.PATH_SECRET)) {
      return refuse(404, "nothing is here");
    }
    const taint = parseTaint(env.TAINT || DEFAULT_TAINT);
    if (!taint) {
      return refuse(500, "the variable TAINT must be KEY[=VALUE]:NoSchedule or KEY[=VALUE]:PreferNoSchedule");
    }
    if (request.method !== "POST") {
      return refuse(405, "send an AdmissionReview with POST");
    }
    const media = (request.headers.get("content-type") || "").split(";")[0].trim().toLowerCase();
    if (media !== "application/json") {
      return refuse(415, "the content type must be application/json");
    }
    const body = await readBody(request);
    if (body === null) {
      return refuse(413, "the body is longer than 3 MiB");
    }
    return answer(body, taint);
  },
};

function answer(body, taint) {
  const review = parse(body);
  if (review.kind !== "AdmissionReview" || review.apiVersion !== "admission.k8s.io/v1" || !isObject(review.request)) {
    return refuse(400, "the body is not an AdmissionReview of admission.k8s.io/v1 with a request");
  }
  const { request } = review;
  if (typeof request.uid !== "string" || !/^[0-9A-Za-z-]{1,128}$/.test(request.uid)) {
    return refuse(400, "the request has no uid of 1 to 128 letters, digits and hyphens");
  }
  const response = { uid: request.uid, allowed: true };
  const patch = isNewNode(request) && patchFor(request.object, taint);
  if (patch) {
    response.patch = btoa(JSON.stringify(patch));
    response.patchType = "JSONPatch";
  }
  const text = JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response });
  return new Response(text, { headers: { "content-type": "application/json" } });
}

function isNewNode({ operation, subResource, kind }) {
  return operation === "CREATE" && (subResource === undefined || subResource === null || subResource === "") &&
    isObject(kind) && kind.group === "" && kind.version === "v1" && kind.kind === "Node";
}

// The JSON patch for a node; null for one that is to be left alone, also because it can't be understood.
function patchFor(node, taint) {
  if (!isObject(node) || node.metadata?.labels?.type === "virtual-kubelet") {
    return null;
  }
  const spec = node.spec ?? null;
  if (spec === null) {
    return [{ op: "add", path: "/spec", value: { taints: [taint] } }];
  }
  if (!isObject(spec)) {
    return null;
  }
  const taints = spec.taints ?? null;
  if (taints === null) {
    return [{ op: "add", path: "/spec/taints", value: [taint] }];
  }
  if (!Array.isArray(taints) || taints.some((t) => t?.key === taint.key || t?.key === "virtual-kubelet.io/provider")) {
    return null;
  }
  return [{ op: "add", path: "/spec/taints/-", value: taint }];
}

// Reads no more than MAX_BODY bytes; null when there are more.
async function readBody(request) {
  // A byte order mark is kept, so that it is refused as by any strict JSON parser.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let length = 0;
  let text = "";
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength;
    if (length > MAX_BODY) {
      return null;
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parse(text) {
  try {
    const value = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function parseTaint(text) {
  const name = "[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?";
  const domain = "[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*/";
  const form = new RegExp(`^(?<key>(${domain})?${name})(=(?<value>(${name})?))?:(?<effect>NoSchedule|PreferNoSchedule)$`);
  const found = form.exec(text)?.groups;
  if (!found) {
    return null;
  }
  return found.value ? { key: found.key, value: found.value, effect: found.effect } : { key: found.key, effect: found.effect };
}

function pathIsRight(path, secret) {
  return sameText(path, secret ? "/taint/" + secret : "/taint");
}

// Takes the same time wherever the texts differ.
function sameText(a, b) {
  let difference = a.length ^ b.length;
  for (let i = 0; i < b.length; i++) {
    difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  }
  return difference === 0;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuse(status, why) {
  return new Response(why + "\n", { status, headers: { "content-type": "text/plain; charset=utf-8" } });
}
