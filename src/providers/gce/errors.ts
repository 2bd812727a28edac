// What does an error of Compute Engine mean, whether a call or an operation ends with it?
import { AUTH, type CloudError, INVALID, type Meaning, NO_ROOM, OUTAGE, QUOTA, RATE } from "../meanings.ts";

const DENIED = "Give the service account the permissions of the guide, in this project";
const NO_API = "Run `gcloud services enable compute.googleapis.com` in this project";

/** One zone has trouble, and others need not wait for it. */
const ZONE_TROUBLE: Meaning = { class: "temporary", concerns: "zone", mayHaveWorked: true };
const NOT_HERE: Meaning = { class: "invalid", concerns: "offer" };

/** Errors whose message says more than their reason. The first row that fits counts. */
const BY_MESSAGE: readonly { code: RegExp; message: RegExp; means: Meaning }[] = [
  {
    code: /^(?:invalid|badRequest|notFound|INVALID_ARGUMENT)$/,
    message: /machine ?type.*(?:does not exist|not found|not available)|does not exist in zone/i,
    means: NOT_HERE,
  },
  { code: /^(?:quotaExceeded|QUOTA_EXCEEDED)$/, message: /ALL_REGIONS/, means: QUOTA },
];

/** What each reason of an answer, and each code of an operation, means (clouds/gce.md#errors). */
const BY_CODE: Readonly<Record<string, Meaning>> = {
  rateLimitExceeded: RATE,
  userRateLimitExceeded: RATE,
  RESOURCE_OPERATION_RATE_EXCEEDED: RATE,
  RATE_LIMIT_EXCEEDED: RATE,

  ZONE_RESOURCE_POOL_EXHAUSTED: NO_ROOM,
  ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS: NO_ROOM,
  insufficientCapacity: NO_ROOM,
  CapacityExceeded: NO_ROOM,
  UNSUPPORTED_OPERATION: NO_ROOM,
  PREEMPTED: NO_ROOM,
  VM_MIN_COUNT_NOT_REACHED: NO_ROOM,

  quotaExceeded: { class: "quota", concerns: "group" },
  QUOTA_EXCEEDED: { class: "quota", concerns: "group" },

  authError: { ...AUTH, advice: DENIED },
  required: { ...AUTH, advice: DENIED },
  UNAUTHENTICATED: { ...AUTH, advice: DENIED },
  forbidden: { ...AUTH, advice: DENIED },
  PERMISSION_DENIED: { ...AUTH, advice: DENIED },
  accessNotConfigured: { ...AUTH, advice: NO_API },
  SERVICE_DISABLED: { ...AUTH, advice: NO_API },
  billingNotEnabled: AUTH,

  invalid: INVALID,
  badRequest: INVALID,
  INVALID_ARGUMENT: INVALID,
  conditionNotMet: INVALID,
  notFound: { class: "invalid", concerns: "all" },
  RESOURCE_NOT_FOUND: { class: "invalid", concerns: "all" },

  alreadyExists: OUTAGE,
  RESOURCE_NOT_READY: ZONE_TROUBLE,
  resourceNotReady: ZONE_TROUBLE,
  resourceInUseByAnotherResource: ZONE_TROUBLE,
  RESOURCE_IN_USE_BY_ANOTHER_RESOURCE: ZONE_TROUBLE,
  internalError: ZONE_TROUBLE,
  INTERNAL_ERROR: ZONE_TROUBLE,
  backendError: ZONE_TROUBLE,
  UNAVAILABLE: ZONE_TROUBLE,
  INTERNAL: ZONE_TROUBLE,
};

/** What an error means. Undefined: no table has it. */
export function meaningOf({ code, message }: CloudError): Meaning | undefined {
  if (code === undefined) return undefined;
  const special = BY_MESSAGE.find((row) => row.code.test(code) && row.message.test(message));
  if (special !== undefined) return special.means;
  return Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
}

/** The class that counts if an operation ends with several errors: the earlier one here. */
const ORDER: readonly Meaning["class"][] = [
  "quota",
  "capacity",
  "auth",
  "invalid",
  "rate_limit",
  "temporary",
];
/** It only says that a machine was not made; the other errors say why. */
const SAYS_NOTHING = "VM_MIN_COUNT_NOT_REACHED";

/** The error of an operation that says most of all. */
export function mainError(errors: readonly { code: string; message: string }[]): CloudError | undefined {
  const telling = errors.filter(({ code }) => code !== SAYS_NOTHING);
  const ranked = (telling.length > 0 ? telling : errors).map((error) => {
    const said: CloudError = { status: 400, ...error };
    return { said, rank: ORDER.indexOf(meaningOf(said)?.class ?? "temporary") };
  });
  return ranked.sort((a, b) => a.rank - b.rank)[0]?.said;
}
