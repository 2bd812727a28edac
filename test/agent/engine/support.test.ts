import { describe, expect, test } from "vitest";
import { fieldOf, listOf, mapOf, numberOf, textOf, textsOf } from "../../../agent/engine/answers/read.ts";
import { imageReference } from "../../../agent/engine/image-reference.ts";
import { registryAuthHeader } from "../../../agent/engine/registry-auth.ts";
import { unsupported } from "../../../agent/engine/support.ts";
import type { EngineFacts, RegistryAuth } from "../../../agent/engine/types.ts";
import { commonApi } from "../../../agent/engine/version.ts";

describe("engine.md#versions: the common version", () => {
  test.each([
    ["1.24", "1.41", { api: "1.41" }],
    ["1.24", "1.44", { api: "1.44" }],
    ["1.44", "1.52", { api: "1.52" }],
    ["1.44", "1.99", { api: "1.52" }],
    ["1.44", "2.3", { api: "1.52" }],
    ["", "1.43", { api: "1.43" }],
    ["1.12", "1.40", { reason: expect.stringContaining("install Docker 20.10 or podman 4") }],
    ["1.12", "1.9", { reason: expect.stringContaining("1.9") }],
    ["1.53", "1.60", { reason: expect.stringContaining("update Drover") }],
    ["", "", { reason: expect.stringContaining("names no version") }],
    ["", "latest", { reason: expect.stringContaining('"latest"') }],
  ])("of an engine that speaks %s to %s is %j", (least, newest, result) => {
    expect(commonApi({ least, newest })).toEqual(result);
  });
});

describe("engine.md#support: whether Drover works with an engine", () => {
  const HERE = { kernel: "6.1.0", isRoot: true };
  const docker: EngineFacts = {
    engine: "docker",
    version: "29.0.0",
    api: "1.52",
    cgroupDriver: "systemd",
    cgroupVersion: 2,
    rootless: false,
    usernsRemap: false,
    desktop: false,
    kernel: "6.1.0",
    osType: "linux",
    arch: "amd64",
    init: true,
    liveRestore: false,
    rootDir: "/var/lib/docker",
    logDrivers: ["local"],
    warnings: [],
  };

  test.each<[string, Partial<EngineFacts>]>([
    ["Docker with systemd", {}],
    ["Docker with cgroupfs", { cgroupDriver: "cgroupfs", cgroupVersion: 1 }],
    ["podman", { engine: "podman", init: undefined }],
  ])("%s is supported", (_, facts) => {
    expect(unsupported({ ...docker, ...facts }, HERE)).toBeUndefined();
  });

  test.each<[string, Partial<EngineFacts>, string]>([
    ["Docker Desktop", { desktop: true, kernel: "5.15-linuxkit" }, "virtual machine"],
    ["userns-remap", { usernsRemap: true }, "without `userns-remap`"],
    ["rootless", { rootless: true }, "Start the engine as root"],
    ["an engine elsewhere", { kernel: "5.4.0" }, "Let an agent run where the engine is"],
    ["Windows", { osType: "windows" }, "not of Linux"],
    ["without cgroups", { cgroupDriver: "none" }, "start it with the cgroup driver"],
    ["another program", { engine: "other" }, "install Docker Engine or rootful podman"],
  ])("%s is not, with what to do", (_, facts, text) => {
    expect(unsupported({ ...docker, ...facts }, HERE)).toContain(text);
  });

  test("an agent that is not root works with none, and says what to do", () => {
    expect(unsupported(docker, { ...HERE, isRoot: false })).toContain("start the agent as root");
  });
});

describe("engine.md#registry-auth: who the agent is at a registry", () => {
  test.each<[RegistryAuth, object]>([
    [
      { username: "me", password: "ÿ?>~" },
      { username: "me", password: "ÿ?>~" },
    ],
    [
      { username: "me", password: "p", serverAddress: "ghcr.io" },
      { username: "me", password: "p", serveraddress: "ghcr.io" },
    ],
    [{ identityToken: "t" }, { identitytoken: "t" }],
    [
      { registryToken: "t", serverAddress: "a" },
      { registrytoken: "t", serveraddress: "a" },
    ],
  ])("%j is sent in the URL's base64, padded", (auth, fields) => {
    const header = registryAuthHeader(auth);
    expect(header).toMatch(/^[\w-]+={0,2}$/);
    expect(header.length % 4).toBe(0);
    expect(JSON.parse(Buffer.from(header, "base64url").toString("utf8"))).toEqual(fields);
  });
});

describe("engine.md#pull: an image's name", () => {
  const digest = `sha256:${"a".repeat(64)}`;
  test.each([
    ["alpine", "alpine", "latest"],
    ["alpine:3", "alpine", "3"],
    ["localhost:5000/a/b", "localhost:5000/a/b", "latest"],
    ["localhost:5000/a/b:1.2", "localhost:5000/a/b", "1.2"],
    [`ghcr.io/a/b@${digest}`, "ghcr.io/a/b", digest],
    [`ghcr.io/a/b:1@${digest}`, "ghcr.io/a/b", digest],
  ])("%s is %s in the version %s", (text, name, version) => {
    expect(imageReference(text)).toEqual({ name, version });
  });
});

describe("fields of a foreign answer", () => {
  test.each([undefined, null, 7, "text", [], {}, { a: null }, { a: [1, null] }, { a: { b: 1 } }])(
    "nothing in %j is believed to be what it is not",
    (value) => {
      expect(textOf(value, "a", "b")).toBe("");
      expect(textsOf(value, "a")).toEqual([]);
      expect(mapOf(value, "a")).toEqual({});
      expect(numberOf(value, "a")).toBe(0);
      expect(fieldOf(value, "x", "y")).toBeUndefined();
      expect(listOf(value, "x")).toEqual([]);
    },
  );

  test("a text stands for a list of one", () => {
    expect(textsOf({ Entrypoint: "sh" }, "Entrypoint")).toEqual(["sh"]);
  });
});
