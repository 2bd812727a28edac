import { describe, expect, it } from "vitest";
import { fault, startGce, ZONES } from "./gce-fake.ts";
import { refused } from "./support/answers.ts";
import { CloudFault } from "./support/fake-cloud.ts";
import { providerOf, START, wanted } from "./support/gce.ts";

// Each error of a create, as Google answers it, or as its operation ends: what Drover makes of it
// (clouds/gce.md#errors).

const [zone = ""] = ZONES;
const NO_TYPE = "Machine type with name 'e2-standard-2' does not exist in zone 'x'.";
/** An error without reasons, as newer services of Google answer it. */
const plain = (code: number, status: string) =>
  new CloudFault(code, { error: { code, message: "", status } });

describe("an error answer", () => {
  it.each<[CloudFault, string, string, boolean]>([
    [fault(403, "rateLimitExceeded"), "rate_limit", "all", true],
    [fault(403, "userRateLimitExceeded"), "rate_limit", "all", true],
    [fault(403, "quotaExceeded", "Quota 'CPUS' exceeded."), "quota", "group", true],
    [fault(403, "quotaExceeded", "Quota 'CPUS_ALL_REGIONS' exceeded."), "quota", "all", true],
    [fault(503, "insufficientCapacity"), "capacity", "offer", true],
    [fault(503, "CapacityExceeded"), "capacity", "offer", true],
    [fault(401, "authError"), "auth", "all", true],
    [fault(401, "required"), "auth", "all", true],
    [plain(401, "UNAUTHENTICATED"), "auth", "all", true],
    [fault(403, "forbidden"), "auth", "all", true],
    [fault(403, "accessNotConfigured"), "auth", "all", true],
    [plain(403, "PERMISSION_DENIED"), "auth", "all", true],
    [fault(400, "invalid", NO_TYPE), "invalid", "offer", true],
    [fault(400, "invalid", "Invalid value for field 'resource.name'"), "invalid", "all", true],
    [fault(400, "badRequest"), "invalid", "all", true],
    [fault(404, "notFound", "The resource 'images/x' was not found"), "invalid", "all", true],
    [fault(503, "backendError"), "temporary", "zone", false],
    [fault(500, "internalError"), "temporary", "zone", false],
    [plain(503, "UNAVAILABLE"), "temporary", "zone", false],
    [new CloudFault(502, "no JSON of Google"), "temporary", "all", false],
    [new CloudFault(429, "a proxy"), "rate_limit", "all", true],
  ])("%s is %s of %s; refused: %s", async (error, cls, scope, isRefused) => {
    const fake = await startGce({ startAt: START });
    fake.cloud.faults.errors.push(error);
    const failure = await refused(providerOf(fake), wanted("p-1", { zone }));
    expect([failure.class, failure.scope, failure.refused === true]).toEqual([cls, scope, isRefused]);
    expect(failure.unknownCode).toBeUndefined();
  });
});

describe("an operation that has ended with", () => {
  it.each<[string, string, string]>([
    ["RESOURCE_OPERATION_RATE_EXCEEDED", "capacity", "zone"],
    ["ZONE_RESOURCE_POOL_EXHAUSTED", "capacity", "offer"],
    ["ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "capacity", "offer"],
    ["UNSUPPORTED_OPERATION", "capacity", "offer"],
    ["QUOTA_EXCEEDED", "quota", "group"],
    ["RESOURCE_NOT_FOUND", "invalid", "all"],
    ["VM_MIN_COUNT_NOT_REACHED", "capacity", "offer"],
    // Its token would get the same failed operation for ever: so the next machine is made elsewhere.
    ["RESOURCE_NOT_READY", "capacity", "zone"],
    ["RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "capacity", "zone"],
    ["INTERNAL_ERROR", "capacity", "zone"],
  ])("%s is %s of %s, and has made nothing", async (code, cls, scope) => {
    const fake = await startGce({ startAt: START });
    fake.cloud.failInserts.push([{ code, message: "" }]);
    const failure = await refused(providerOf(fake), wanted("p-1", { zone }));
    expect([failure.class, failure.scope, failure.refused]).toEqual([cls, scope, true]);
    expect(failure.unknownCode).toBeUndefined();
  });
});
