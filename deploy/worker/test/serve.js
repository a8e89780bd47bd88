// serve.js PORT CERTIFICATE KEY: serves worker.js in workerd on https://127.0.0.1:PORT, for a real API server to call. Says "ready"
// and lives until its standard input ends.
import { readFileSync } from "node:fs";
import { Miniflare } from "miniflare";

const [port, httpsCertPath, httpsKeyPath] = process.argv.slice(2);
const worker = new Miniflare({
  modules: true,
  script: readFileSync(new URL("../worker.js", import.meta.url), "utf8"),
  bindings: { PATH_SECRET: process.env.PATH_SECRET },
  compatibilityDate: "2025-01-01",
  host: "127.0.0.1",
  port: Number(port),
  https: true,
  httpsCertPath,
  httpsKeyPath,
});
await worker.ready;
console.log("ready");
process.stdin.resume().on("end", async () => {
  await worker.dispose();
  process.exit(0);
});
