import { createHash, randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MAX_PARAM_BYTES, MAX_PAYLOAD_BYTES } from "../../src/shared/jobs/limits.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";
import { endOf } from "./support/ends.ts";

// What a run of a job is given arrives byte for byte on a machine: jobs.md#payload, jobs.md#bytes.

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("payload");
  up = await startDrover(home);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const resources = { vcpus: 0, memory: "64MiB" };
const digestOf = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest("hex");

const outputOf = async (id: string, task = "main") =>
  Buffer.from(await (await up.call("GET", `/v1/runs/${id}/logs/${task}/stdout`)).arrayBuffer());

test("64 KiB of any bytes, and a parameter that would be a command for a shell", async () => {
  const payload = randomBytes(MAX_PAYLOAD_BYTES);
  const evil = '"; rm -rf /';
  await up.json(201, "PUT", "/v1/jobs/given", {
    spec: {
      argv: [
        "sh",
        "-c",
        'printf "%s|%s|" "$1" "$DROVER_PARAM_WHAT"; cat in/payload',
        "sh",
        "<${param.what}>",
      ],
      resources,
    },
    params: { what: { type: "string", required: true } },
    payload: "required",
    payloadFile: "in/payload",
  });
  const { id } = await up.json(201, "POST", "/v1/jobs/given/trigger", {
    key: "one",
    params: { what: evil },
    payload: payload.toString("base64"),
  });
  expect((await endOf(up, id)).state).toBe("complete");
  expect(await outputOf(id)).toEqual(Buffer.concat([Buffer.from(`<${evil}>|${evil}|`), payload]));
});

test("a parameter of 64 KiB with everything that shells and hosts look for", async () => {
  const odd = "\"'`$(exit 1)${HOME}$${param.what}\\\n\t*;&|<>é漢😀";
  const what = odd.repeat(Math.floor(MAX_PARAM_BYTES / Buffer.byteLength(odd)));
  await up.json(201, "PUT", "/v1/jobs/large", {
    spec: { argv: ["printenv", "DROVER_PARAM_WHAT"], resources },
    params: { what: { type: "string", required: true, maxBytes: MAX_PARAM_BYTES } },
  });
  const { id } = await up.json(201, "POST", "/v1/jobs/large/trigger", { params: { what } });
  expect((await endOf(up, id)).state).toBe("complete");
  expect(digestOf(await outputOf(id))).toBe(digestOf(`${what}\n`));
});

test("a run that is submitted by itself has one, too: each task of a group finds its own", async () => {
  const content = randomBytes(1_000);
  const task = (name: string) => ({ name, argv: ["sh", "-c", `sha256sum <in && echo ${name} >in`] });
  await up.json(201, "POST", "/v1/runs", {
    id: "group",
    tasks: [task("a"), task("b")],
    resources,
    payload: { path: "in", content: content.toString("base64") },
  });
  expect((await endOf(up, "group")).state).toBe("complete");
  for (const name of ["a", "b"]) expect(String(await outputOf("group", name))).toContain(digestOf(content));
});

test("a command that is started again finds what it has made of its payload", async () => {
  await up.json(201, "POST", "/v1/runs", {
    id: "again",
    argv: ["sh", "-c", "cat in; echo more >>in; [ $(wc -l <in) -ge 3 ]"],
    resources,
    restart: { attempts: 3, delay: "0s", interval: "1h", mode: "fail" },
    payload: { path: "in", content: btoa("given\n") },
  });
  expect((await endOf(up, "again")).state).toBe("complete");
  expect(String(await outputOf("again"))).toBe("given\nmore\n");
});
