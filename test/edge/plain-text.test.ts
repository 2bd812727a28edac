import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import { signedBy, strangeSecret } from "../support/signed.ts";
import { makeHome } from "./support/drover.ts";
import type { Json } from "./support/edge.ts";
import { HttpHost, OWN_POOL } from "./support/http-host.ts";
import { type Server, startServer } from "./support/server.ts";

// "A shell script and curl make a host" (host-protocol.md#plain-text): this one reports in plain text, signs
// with openssl, and starts what the orders name, or stops what they do not.

const HOST = `#!/bin/sh
set -u
key=$(printf '%s' "$SECRET" | base64 -d | od -An -v -tx1 | tr -d ' \\n')
say() { # path, body
  now=$(date +%s)
  digest="sha-256=:$(printf '%s' "$2" | openssl dgst -sha256 -binary | base64):"
  what='("@method" "@path" "@query" "content-digest")'
  params="$what;created=$now;nonce=\\"$(openssl rand -hex 16)\\";keyid=\\"$WORKER\\";tag=\\"drover-report\\""
  signature=$(printf '"@method": POST\\n"@path": /v1/hosts/%s/%s\\n"@query": ?\\n"content-digest": %s\\n%s' \\
    "$WORKER" "$1" "$digest" "\\"@signature-params\\": $params" |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)
  curl -sS -X POST "$URL/v1/hosts/$WORKER/$1" -H 'content-type: text/plain' --data-binary "$2" \\
    -H "content-digest: $digest" -H "signature-input: drover=$params" -H "signature: drover=:$signature:"
}
seen=0
while sleep 1; do
  living=$(for pid in runs/*/pid; do
    [ -e "$pid" ] && kill -0 "$(cat "$pid")" 2>/dev/null && basename "$(dirname "$pid")"
  done)
  stale=$(cat stale 2>/dev/null)
  orders=$(say reports "$living
$stale
orders $seen
")
  revision=$(printf '%s' "$orders" | sed -n 's/.*"revision":\\([0-9]*\\).*/\\1/p')
  [ -n "$revision" ] || continue
  seen=$revision
  wanted=$(printf '%s' "$orders" | grep -o '"id":"[^"]*","want":"run"' | cut -d'"' -f4 | cut -d/ -f1)
  for run in $wanted; do
    [ -e "runs/$run" ] && continue
    mkdir -p "runs/$run"
    sh task "$run" & echo $! > "runs/$run/pid"
  done
  for dir in runs/*/; do
    run=$(basename "$dir")
    [ -e "$dir/pid" ] || continue
    case " $(echo $wanted) " in *" $run "*) ;; *) kill "$(cat "$dir/pid")" 2>/dev/null ;; esac
  done
done
`;

let server: Server;
let home = "";
let host: ChildProcess | undefined;
beforeAll(async () => {
  server = await startServer();
  home = makeHome("plain-text");
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home);
  await server.json(201, "PUT", "/v1/pools/own", OWN_POOL);
});
afterAll(async () => {
  if (host?.pid !== undefined) process.kill(-host.pid, "SIGKILL");
  await server.stop();
  rmSync(home, { recursive: true, force: true });
});

const workerNow = (id: string): Promise<Json> => server.json(200, "GET", `/v1/workers/${id}`);
const runNow = (id: string): Promise<Json> => server.json(200, "GET", `/v1/runs/${id}`);
const runIs = (id: string, state: string) =>
  until(`${id} is ${state}`, async () => ((await runNow(id)).state === state ? true : undefined));

/** A machine that has enrolled by hand, as the host of that worker. */
async function startHost(): Promise<string> {
  const { code, worker } = await server.json(201, "POST", "/v1/enrollments", { pool: "own" });
  const enrolling = new HttpHost(server);
  expect((await enrolling.enroll(code)).status).toBe(200);
  const { secret } = enrolling;
  writeFileSync(join(home, "host.sh"), HOST);
  writeFileSync(join(home, "task"), 'until [ -e "end-$1" ]; do sleep 0.1; done\n');
  host = spawn("sh", ["host.sh"], {
    cwd: home,
    env: { PATH: process.env.PATH, URL: server.url, WORKER: worker, SECRET: secret },
    stdio: ["ignore", "ignore", "inherit"],
    detached: true,
  });
  return worker;
}

// workers.md#plain-text-reports
test("a shell script and curl make a host (host-protocol.md#plain-text)", async () => {
  const worker = await startHost();
  await until("it is ready", async () => (await workerNow(worker)).state === "idle" || undefined);
  const submit = async (): Promise<string> =>
    (await server.json(201, "POST", "/v1/runs", { pool: "own", argv: ["ignored"] })).id;

  // A run that it lists runs; one that it lists no more, though it has seen the orders, is over.
  const first = await submit();
  await runIs(first, "running");
  writeFileSync(join(home, `end-${first}`), "");
  const over = await server.json(200, "GET", `/v1/runs/${first}?wait=30s&state=done`);
  expect(over).toMatchObject({ placements: [{ worker, outcome: "gone" }], exitCode: null });

  // What the orders omit, or say to stop, it stops.
  const second = await submit();
  await runIs(second, "running");
  await server.json(200, "POST", `/v1/runs/${second}/abort`);
  expect((await server.json(200, "GET", `/v1/runs/${second}?wait=30s&state=done`)).state).toBe("aborted");

  // Something that still holds on for longer than the time-out makes the machine unfit.
  writeFileSync(join(home, "stale"), `${second} stale`);
  const stale = await until("it is unfit", async () => {
    const shown = await workerNow(worker);
    return shown.idleBehavior === "drain" ? shown : undefined;
  });
  expect(stale.reason).toContain(`its host drains: run ${second} has ended there`);
  writeFileSync(join(home, "stale"), "");
  await until("it is fit again", async () => (await workerNow(worker)).idleBehavior === "run" || undefined);
});

test("a plain-text report with a bad signature is refused like any other", async () => {
  const { worker } = await server.json(201, "POST", "/v1/enrollments", { pool: "own" });
  const path = `/v1/hosts/${worker}/reports`;
  const signed = signedBy({ worker, secret: strangeSecret() }, "report", ["POST", path], "broken\n");
  const headers = { "content-type": "text/plain; charset=utf-8", ...signed };
  const answer = await server.send("POST", path, headers, "broken\n");
  expect([answer.status, await answer.json()]).toMatchObject([401, { code: "bad_signature" }]);
});
