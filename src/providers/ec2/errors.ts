// What does an error of EC2 mean? The tables say it by code; whatever no table has is temporary.
import type { ProviderFailure } from "../../core/provider-answers.ts";
import {
  AUTH,
  type CallFacts,
  type CloudError,
  failureOf,
  INVALID,
  type Meaning,
  NO_ROOM,
  OUTAGE,
  QUOTA,
  RATE,
} from "../meanings.ts";

const MINUTE_MS = 60_000;
/** A new account is verified within minutes, or hours (case 56). */
const VERIFICATION_MS = 15 * MINUTE_MS;
/** A type that a zone does not have does not appear there within minutes. */
const NOT_OFFERED_MS = 60 * MINUTE_MS;

const NOT_OFFERED: Meaning = { ...NO_ROOM, retryAfterMs: NOT_OFFERED_MS };
const ZONE_FULL: Meaning = { class: "capacity", concerns: "zone" };

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

/**
 * Classifies an error answer (clouds/ec2.md#errors). Its code alone decides, and in a few cases its message:
 * the HTTP status of an error says nothing about it.
 */
export function classify(error: CloudError, facts: CallFacts): ProviderFailure {
  const { code, message } = error;
  return failureOf("EC2", error, code === undefined ? undefined : meaningOf(code, message), facts);
}

/** What a code and its message mean. Undefined: no table has it. */
export function meaningOf(code: string, message: string): Meaning | undefined {
  const special = BY_MESSAGE.find((row) => row.code.test(code) && row.message.test(message));
  if (special !== undefined) return special.means;
  if (Object.hasOwn(BY_CODE, code)) return BY_CODE[code];
  return BY_PREFIX.find(([prefix]) => code.startsWith(prefix))?.[1];
}
