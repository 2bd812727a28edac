// What does an error of Fly mean? Its status word counts, or else its text; what no table has is temporary.
import { AUTH, type CloudError, INVALID, type Meaning, NO_ROOM, OUTAGE, QUOTA, RATE } from "../meanings.ts";

const WRONG_TOKEN = "Store a deploy token of this app: `fly tokens create deploy -a APP -x 8760h`";
const NO_APP = "The app does not exist, or the token is of another app. `fly apps list` shows the apps";
const NO_PAYMENT =
  "Fly wants a payment method for the organization: https://fly.io/dashboard/personal/billing";

const DENIED: Meaning = { ...AUTH, advice: WRONG_TOKEN };
/** One host was full, and another one may have room. */
const HOST_FULL: Meaning = { ...NO_ROOM, retryAfterMs: 5_000 };

/** What each status word means. A word that is there outranks the text (clouds/fly.md#errors). */
const BY_STATUS: Readonly<Record<string, Meaning>> = {
  resource_exhausted: { ...RATE, retryAfterMs: 1_000 },
  insufficient_capacity: NO_ROOM,
  volume_placement_capacity: NO_ROOM,
  already_exists: OUTAGE,
  invalid_argument: { class: "invalid", concerns: "type" },
  unauthenticated: DENIED,
  permission_denied: DENIED,
  deadline_exceeded: OUTAGE,
  unavailable: OUTAGE,
  internal: OUTAGE,
  unknown: OUTAGE,
};

/** What the texts of answers below 500 mean. The first row that fits counts. */
const BY_TEXT: readonly [RegExp, Meaning][] = [
  [/payment method/i, { ...QUOTA, advice: NO_PAYMENT }],
  [/(?:machine|organization).*limit|limit.*machines/i, QUOTA],
  [/no capacity|insufficient capacity/i, NO_ROOM],
  [/could not reserve resource|insufficient (?:cpus|memory|ips|resources) available/i, HOST_FULL],
  [/rate limit/i, { ...RATE, retryAfterMs: 1_000 }],
  [/unique machine name violation/i, OUTAGE],
  [/token validation/i, DENIED],
];

/** What answers mean by their HTTP status alone. */
const BY_HTTP: Readonly<Record<number, Meaning>> = {
  400: INVALID,
  401: DENIED,
  403: DENIED,
  404: { ...AUTH, advice: NO_APP },
  408: OUTAGE,
  422: INVALID,
  429: { ...RATE, retryAfterMs: 1_000 },
};

/** What an error means. Undefined: no table has it. A text of an answer of 500 or more is never read. */
export function meaningOf({ status, code, message }: CloudError): Meaning | undefined {
  if (code !== undefined && Object.hasOwn(BY_STATUS, code)) return BY_STATUS[code];
  const isAborted = code === undefined || code === "aborted" || code === "failed_precondition";
  if (!isAborted) return undefined;
  if (status >= 500) return OUTAGE;
  return BY_TEXT.find(([text]) => text.test(message))?.[1] ?? BY_HTTP[status];
}
