import { expect, it } from "vitest";
import { startHetzner } from "./hetzner-fake.ts";
import { refused } from "./support/answers.ts";
import { CloudFault } from "./support/fake-cloud.ts";
import { providerOf, START, wanted } from "./support/hetzner.ts";

// Each error of a create, as Hetzner answers it: what Drover makes of it (clouds/hetzner.md#errors).

const answer = (status: number, code: string, message = "", details: object | null = null) =>
  new CloudFault(status, { error: { code, message, details } });

it.each<[CloudFault, string, string, boolean]>([
  [answer(429, "rate_limit_exceeded"), "rate_limit", "all", true],
  [answer(412, "resource_unavailable", "error during placement"), "capacity", "offer", true],
  [answer(412, "placement_error"), "capacity", "offer", true],
  [answer(422, "invalid_input", "unsupported location for server type"), "invalid", "offer", true],
  [answer(422, "invalid_input", "x", { fields: [{ name: "server_type" }] }), "invalid", "offer", true],
  [answer(422, "invalid_server_type"), "invalid", "offer", true],
  [answer(422, "invalid_input", "bad user data"), "invalid", "all", true],
  [answer(403, "resource_limit_exceeded"), "quota", "all", true],
  [answer(401, "unauthorized"), "auth", "all", true],
  [answer(403, "forbidden"), "auth", "all", true],
  [answer(403, "token_readonly"), "auth", "all", true],
  [answer(404, "not_found", "image not found"), "invalid", "all", true],
  [answer(410, "deprecated_api_endpoint"), "invalid", "all", true],
  [answer(400, "json_error"), "invalid", "all", true],
  [answer(422, "unsupported_error"), "invalid", "all", true],
  [answer(423, "locked"), "temporary", "all", true],
  [answer(409, "conflict"), "temporary", "all", false],
  [answer(503, "unavailable"), "temporary", "all", false],
  [answer(503, "maintenance"), "temporary", "all", false],
  [answer(500, "server_error"), "temporary", "all", false],
  [answer(500, "service_error"), "temporary", "all", false],
  [answer(502, "bad_gateway"), "temporary", "all", false],
  [answer(504, "timeout"), "temporary", "all", false],
  [new CloudFault(502, "no JSON of Hetzner"), "temporary", "all", false],
  [new CloudFault(403, "a proxy"), "temporary", "all", true],
  [new CloudFault(429, "a proxy"), "rate_limit", "all", true],
])("%s is %s of %s; refused: %s", async (error, cls, scope, isRefused) => {
  const fake = await startHetzner({ startAt: START });
  fake.cloud.faults.errors.push(error);
  const failure = await refused(providerOf(fake), wanted("p-1", { zone: "fsn1" }));
  expect({ ...failure, refused: failure.refused === true }).toMatchObject({
    class: cls,
    scope,
    refused: isRefused,
  });
  expect(failure.unknownCode).toBeUndefined();
});

it("a code that no table has is temporary, and is told", async () => {
  const fake = await startHetzner({ startAt: START });
  fake.cloud.faults.errors.push(answer(418, "quantum_flux", "it has decohered"));
  expect(await refused(providerOf(fake), wanted("p-1"))).toEqual({
    class: "temporary",
    scope: "all",
    refused: true,
    text: "quantum_flux: it has decohered",
    unknownCode: "quantum_flux",
  });
});
