// What does an error of EC2 mean? The tables say it by code; whatever no table has is temporary.
import type { ProviderFailure } from "../../core/provider-answers.ts";
import { MAX_TEXT_CHARS } from "../../shared/limits.ts";
import { clause } from "../../shared/words.ts";
import type { Veil } from "../veil.ts";
import { provesRefusal } from "../wire.ts";

type Class = ProviderFailure["class"];

/**
 * What an error concerns. `offer`: the type in the zone that was named, or the whole type. `named`: the type
 * if the message names it, else all machines. `zone`: the zone that was named, or the whole type.
 */
type Concerns = "all" | "group" | "type" | "offer" | "zone" | "named";

/** What a code means. */
export interface Meaning {
  class: Class;
  concerns: Concerns;
  /** A longer or shorter pause than the class has. */
  retryAfterMs?: number;
  /** The call may have had an effect all the same. */
  mayHaveWorked?: true;
  /** What to do, for people. */
  advice?: string;
}

const MINUTE_MS = 60_000;
/** A new account is verified within minutes, or hours (case 56). */
const VERIFICATION_MS = 15 * MINUTE_MS;
/** A type that a zone does not have does not appear there within minutes. */
const NOT_OFFERED_MS = 60 * MINUTE_MS;

const RATE: Meaning = { class: "rate_limit", concerns: "all" };
const NO_ROOM: Meaning = { class: "capacity", concerns: "offer" };
const NOT_OFFERED: Meaning = { ...NO_ROOM, retryAfterMs: NOT_OFFERED_MS };
const ZONE_FULL: Meaning = { class: "capacity", concerns: "zone" };
const QUOTA: Meaning = { class: "quota", concerns: "all" };
const AUTH: Meaning = { class: "auth", concerns: "all" };
const INVALID: Meaning = { class: "invalid", concerns: "named" };
const OUTAGE: Meaning = { class: "temporary", concerns: "all", mayHaveWorked: true };

const DENIED =
  "Allow it in the policy of these keys; `aws sts decode-authorization-message --encoded-message …` " +
  "says what was denied";
const NO_SPOT_ROLE =
  "The account has never had a spot instance. Run once, as somebody who may: " +
  "`aws iam create-service-linked-role --aws-service-name spot.amazonaws.com`";
const NO_DEFAULT_VPC =
  "The region has no default VPC: name `subnets` of your own, or run `aws ec2 create-default-vpc`";
const WRONG_IMAGE = "Set `image` to an image that exists in this region and that the account may use";
const PROTECTED =
  "Its termination protection is on, so it goes on costing money. Run " +
  "`aws ec2 modify-instance-attribute --no-disable-api-termination --instance-id …`";

/** Errors whose message says more than their code (clouds/ec2.md#errors). The first row that fits counts. */
const BY_MESSAGE: readonly { code: RegExp; message: RegExp; means: Meaning }[] = [
  {
    code: /^InsufficientInstanceCapacity$/,
    message: /spread placement group/i,
    means: { class: "invalid", concerns: "zone" },
  },
  {
    code: /^(?:Unsupported|InvalidParameterValue)$/,
    message: /not supported in your requested Availability Zone/i,
    means: NOT_OFFERED,
  },
  { code: /^Unsupported$/, message: /currently constrained/i, means: NOT_OFFERED },
  {
    code: /^AuthFailure$/,
    message: /not authorized for images/i,
    means: { class: "invalid", concerns: "all", advice: WRONG_IMAGE },
  },
  {
    code: /^InvalidParameterValue$/,
    message: /(?:not enough|sufficient) free (?:Ipv4 |private )?addresses|free Ipv4/i,
    means: ZONE_FULL,
  },
  {
    code: /^InvalidParameterCombination$/,
    message: /not eligible for Free Tier/i,
    means: { class: "invalid", concerns: "type" },
  },
];

/** What each code means. */
const BY_CODE: Readonly<Record<string, Meaning>> = {
  RequestLimitExceeded: RATE,
  EC2ThrottledException: RATE,
  SlowDown: RATE,
  BandwidthLimitExceeded: RATE,
  PriorRequestNotComplete: { ...RATE, mayHaveWorked: true },

  InsufficientInstanceCapacity: NO_ROOM,
  InsufficientHostCapacity: NO_ROOM,
  InsufficientCapacityOnHost: NO_ROOM,
  InsufficientCapacity: NO_ROOM,
  ReservationCapacityExceeded: NO_ROOM,
  UnfulfillableCapacity: NO_ROOM,
  SpotMaxPriceTooLow: { class: "capacity", concerns: "type" },
  InsufficientFreeAddressesInSubnet: ZONE_FULL,
  InsufficientVolumeCapacity: ZONE_FULL,
  VolumeTypeNotAvailableInZone: ZONE_FULL,
  InsufficientAddressCapacity: QUOTA,

  VcpuLimitExceeded: { class: "quota", concerns: "group" },
  MaxSpotInstanceCountExceeded: { class: "quota", concerns: "group" },
  InstanceLimitExceeded: QUOTA,
  VolumeLimitExceeded: QUOTA,
  MaxIOPSLimitExceeded: QUOTA,
  VolumeIOPSLimit: QUOTA,
  AddressLimitExceeded: QUOTA,
  NetworkInterfaceLimitExceeded: QUOTA,
  ResourceCountExceeded: QUOTA,
  ResourceLimitExceeded: QUOTA,
  PendingVerification: {
    ...QUOTA,
    retryAfterMs: VERIFICATION_MS,
    advice: "Amazon verifies the account by itself; it is tried again each 15 minutes",
  },

  AuthFailure: AUTH,
  "AuthFailure.ServiceLinkedRoleCreationNotPermitted": {
    class: "auth",
    concerns: "type",
    advice: NO_SPOT_ROLE,
  },
  InvalidClientTokenId: AUTH,
  SignatureDoesNotMatch: AUTH,
  IncompleteSignature: AUTH,
  MissingAuthenticationToken: AUTH,
  UnrecognizedClientException: AUTH,
  ExpiredToken: { ...AUTH, advice: "The session token is over: put new credentials" },
  RequestExpired: {
    ...AUTH,
    advice: "If the credentials are temporary, they are over; otherwise the clock of this Drover is wrong",
  },
  OptInRequired: { ...AUTH, advice: "Enable EC2, or this region, for the account" },
  Blocked: AUTH,
  UnauthorizedOperation: { ...AUTH, advice: DENIED },
  AccessDenied: { ...AUTH, advice: DENIED },

  VPCIdNotSpecified: { ...INVALID, concerns: "all", advice: NO_DEFAULT_VPC },
  MissingInput: { ...INVALID, concerns: "all", advice: NO_DEFAULT_VPC },
  DefaultVpcDoesNotExist: { ...INVALID, concerns: "all", advice: NO_DEFAULT_VPC },
  MissingParameter: INVALID,
  UnknownParameter: INVALID,
  TagLimitExceeded: INVALID,
  SecurityGroupsPerInterfaceLimitExceeded: INVALID,
  ValidationError: INVALID,
  Unsupported: { class: "invalid", concerns: "type" },
  UnsupportedOperation: { class: "invalid", concerns: "type" },
  OperationNotPermitted: { class: "invalid", concerns: "all", advice: PROTECTED },

  IdempotentParameterMismatch: OUTAGE,
  IdempotentInstanceTerminated: OUTAGE,
  InternalError: OUTAGE,
  InternalFailure: OUTAGE,
  ServiceUnavailable: OUTAGE,
  Unavailable: OUTAGE,
  RequestTimeout: OUTAGE,
};

/** What codes mean that begin so. The first row that fits counts. */
const BY_PREFIX: readonly [string, Meaning][] = [
  ["Throttling", RATE],
  ["RequestThrottled", RATE],
  ["InvalidAMIID.", { ...INVALID, concerns: "all", advice: WRONG_IMAGE }],
  ["InvalidAMIName.", { ...INVALID, concerns: "all", advice: WRONG_IMAGE }],
  ["InvalidSubnet", { class: "invalid", concerns: "zone" }],
  ["InvalidAvailabilityZone", { class: "invalid", concerns: "zone" }],
  ["InvalidInstanceType", { class: "invalid", concerns: "type" }],
  ["Invalid", INVALID],
];

/** An error answer of EC2. `code` is undefined if the answer has none, as that of a proxy. */
export interface Ec2Error {
  status: number;
  code: string | undefined;
  message: string;
}

/** What is known of the call that failed. */
export interface CallFacts {
  veil: Veil;
  /** The type that was asked for, and the zone. Absent: the call was for no type, or for no zone. */
  type?: string | undefined;
  zone?: string | undefined;
  /** Which way, and by how much, the clock of this Drover differs from Amazon's. Absent: hardly. */
  skew?: string | undefined;
  retryAfterMs?: number | undefined;
}

/**
 * Classifies an error answer (clouds/ec2.md#errors). Its code alone decides, and in a few cases its message:
 * the HTTP status of an error says nothing about it. A code that no table has is `temporary`, and is told as
 * `unknownCode`. Texts go through the veil before they are cut.
 */
export function classify(error: Ec2Error, facts: CallFacts): ProviderFailure {
  const { code } = error;
  const known = code === undefined ? undefined : meaningOf(code, error.message);
  const { class: cls, concerns, retryAfterMs, mayHaveWorked } = known ?? unknownMeaning(error);
  const scope = scopeOf(concerns, error.message, facts);
  const pause = facts.retryAfterMs ?? retryAfterMs;
  return {
    class: cls,
    text: textOf(error, cls, known?.advice, facts),
    scope,
    ...(pause === undefined ? {} : { retryAfterMs: pause }),
    ...(mayHaveWorked === undefined ? { refused: true } : {}),
    ...(known === undefined && code !== undefined ? { unknownCode: facts.veil(code).slice(0, 128) } : {}),
  };
}

/** What a code and its message mean. Undefined: no table has it. */
export function meaningOf(code: string, message: string): Meaning | undefined {
  const special = BY_MESSAGE.find((row) => row.code.test(code) && row.message.test(message));
  if (special !== undefined) return special.means;
  if (Object.hasOwn(BY_CODE, code)) return BY_CODE[code];
  return BY_PREFIX.find(([prefix]) => code.startsWith(prefix))?.[1];
}

/** An answer without a code is a proxy's, or that of a server which is about to fail. */
function unknownMeaning({ status }: Ec2Error): Meaning {
  if (status === 429) return RATE;
  return provesRefusal(status) ? { class: "temporary", concerns: "all" } : OUTAGE;
}

/** The scope of a failure. A call for no type, such as a listing, concerns everything. */
function scopeOf(
  concerns: Concerns,
  message: string,
  { type, zone }: CallFacts,
): NonNullable<ProviderFailure["scope"]> {
  if (type === undefined) return "all";
  if (concerns === "named") return message.includes(type) ? "type" : "all";
  if (concerns === "offer" || concerns === "zone") return zone === undefined ? "type" : concerns;
  return concerns;
}

/** The text of a failure. What to do comes first, since EC2's own messages may be long enough to be cut. */
function textOf(
  { status, code, message }: Ec2Error,
  cls: Class,
  advice: string | undefined,
  { skew, veil }: CallFacts,
): string {
  const clock = cls === "auth" ? skew : undefined;
  const hint = clock ?? advice;
  const said = code === undefined ? `EC2 answered ${status} without a code` : code;
  const text = veil(`${said}: ${clause(message)}`);
  return (hint === undefined ? text : `${hint}. EC2 says ${text}`).slice(0, MAX_TEXT_CHARS);
}
