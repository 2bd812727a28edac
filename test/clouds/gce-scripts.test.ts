import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { GCE_NOTICE } from "../../src/providers/gce/notice.ts";
import { startGce } from "./gce-fake.ts";
import { made } from "./support/answers.ts";
import { providerOf, wanted } from "./support/gce.ts";

// What runs on a machine of Google, run here (clouds/gce.md#create, clouds/gce.md#notice).

/** Runs a script as a machine does. */
function run(script: string, own: Record<string, string>): Promise<{ code: number; said: string }> {
  const env = { PATH: process.env.PATH, http_proxy: "http://127.0.0.1:1", ...own };
  return new Promise((resolve) => {
    const child = execFile("/bin/sh", ["-c", script], { env }, (_error, said) =>
      resolve({ code: child.exitCode ?? -1, said }),
    );
  });
}

it.each<[string, number, string, { code: number; said: string }]>([
  ["nothing while there is no preemption", 200, "FALSE", { code: 0, said: "" }],
  ["how long is left", 200, "TRUE", { code: 0, said: "Google takes this machine away\ngone in 30s\n" }],
  ["that it cannot say, after an error", 500, "TRUE", { code: 1, said: "" }],
  ["that it cannot say, after another answer", 200, "<html>", { code: 1, said: "" }],
])("the notice says %s", async (_what, status, body, said) => {
  const server = createServer(({ url, headers }, response) => {
    const isRight =
      url === "/computeMetadata/v1/instance/preempted" && headers["metadata-flavor"] === "Google";
    response.writeHead(isRight ? status : 403).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  expect(await run(GCE_NOTICE, { DROVER_METADATA: `http://127.0.0.1:${port}` })).toEqual(said);
});

it("the notice cannot say anything without a metadata server", async () => {
  expect(await run(GCE_NOTICE, { DROVER_METADATA: "http://127.0.0.1:1" })).toEqual({ code: 1, said: "" });
});

it("the startup script does its work at the first boot alone", async () => {
  const dir = mkdtempSync(join(tmpdir(), "gce-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const fake = await startGce();
  await made(providerOf(fake), wanted("p-1", { userData: "#!/bin/sh\necho works\n" }));
  const { userData } = fake.cloud.theOne("p-1");
  const env = { DROVER_STATE_DIR: join(dir, "state") };
  expect(await run(userData, env)).toEqual({ code: 0, said: "works\n" });
  expect(await run(userData, env)).toEqual({ code: 0, said: "" });
});
