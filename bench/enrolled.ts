// How does the benchmark enroll a host that has no machine behind it?
import { ControlPlane } from "../agent/plane/control-plane.ts";
import { makeSalt } from "../agent/plane/sign.ts";
import type { HostSetup } from "../src/schema/host.ts";
import { hostSecret, readCode } from "../src/signing/code.ts";
import { keyOf } from "../src/signing/mac.ts";

const WITHIN_MS = 60_000;

/** Enrolls a host that has no machine behind it, and resolves with its connection. */
export async function enrollHost(
  url: string,
  code: string,
): Promise<{ plane: ControlPlane; setup: HostSetup }> {
  const resources = { vcpus: 4, memoryBytes: 2 ** 33, diskBytes: 2 ** 33, gpus: 0 };
  const agent = { version: "bench", os: "linux", arch: "x64" };
  const salt = makeSalt();
  const { key, claim } = readCode(code) ?? { key: new Uint8Array(), claim: "" };
  const body = JSON.stringify({ salt, agent, bootId: "boot-1", resources });
  const enrolling = new ControlPlane({ key, keyid: claim });
  const within = AbortSignal.timeout(WITHIN_MS);
  // The control plane's answer has this schema.
  const setup = (await enrolling.post(`${url}/v1/hosts/enroll`, "enroll", body, within)) as HostSetup;
  return { setup, plane: new ControlPlane({ key: keyOf(hostSecret(key, salt)), keyid: setup.worker }) };
}
