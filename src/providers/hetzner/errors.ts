// What does an error of Hetzner Cloud mean? The tables say it by code; whatever no table has is temporary.
import { AUTH, type CloudError, INVALID, type Meaning, NO_ROOM, OUTAGE, QUOTA, RATE } from "../meanings.ts";

const READ_ONLY =
  "The token may only read. Make one in the Hetzner console that may read and write, and store it";
const WRONG_TOKEN = "Store a token of the right Hetzner project, which may read and write";
const NO_ADDRESSES =
  "The project has as many Primary IPs as it may have. `hcloud primary-ip list` shows those without a " +
  "server, which cost money and can be deleted";
const NO_SERVERS =
  "The project has as many servers as it may have. The Hetzner console says how many, and asks for more";
const PROTECTED =
  "Its deletion protection is on, so it goes on costing money. Run " +
  "`hcloud server disable-protection SERVER delete`";
const OUTDATED = "Hetzner has removed what this version of Drover calls: update Drover";

const NOT_OFFERED: Meaning = { class: "invalid", concerns: "offer" };
/** Another action works on the same server, or has just done so. */
const BUSY: Meaning = { class: "temporary", concerns: "all", retryAfterMs: 5_000 };

/** Errors whose message or details say more than their code. The first row that fits counts. */
const BY_MESSAGE: readonly { code: string; message: RegExp; means: Meaning }[] = [
  { code: "invalid_input", message: /server[_ ]type|location/i, means: NOT_OFFERED },
  { code: "not_found", message: /server[_ ]type|location/i, means: NOT_OFFERED },
  { code: "resource_limit_exceeded", message: /primary.?ip/i, means: { ...QUOTA, advice: NO_ADDRESSES } },
];

/** What each code means (clouds/hetzner.md#errors). */
const BY_CODE: Readonly<Record<string, Meaning>> = {
  rate_limit_exceeded: RATE,

  resource_unavailable: NO_ROOM,
  placement_error: NO_ROOM,
  resource_limit_exceeded: { ...QUOTA, advice: NO_SERVERS },

  unauthorized: { ...AUTH, advice: WRONG_TOKEN },
  forbidden: AUTH,
  token_readonly: { ...AUTH, advice: READ_ONLY },

  invalid_server_type: NOT_OFFERED,
  invalid_input: INVALID,
  json_error: INVALID,
  unsupported_error: INVALID,
  not_found: INVALID,
  protected: { class: "invalid", concerns: "all", advice: PROTECTED },
  deprecated_api_endpoint: { class: "invalid", concerns: "all", advice: OUTDATED },

  locked: BUSY,
  resource_locked: BUSY,
  conflict: OUTAGE,
  uniqueness_error: OUTAGE,
  unavailable: OUTAGE,
  maintenance: OUTAGE,
  server_error: OUTAGE,
  service_error: OUTAGE,
  unknown_error: OUTAGE,
  bad_gateway: OUTAGE,
  timeout: OUTAGE,
};

/** What the code and the message of an error mean. Undefined: no table has it. */
export function meaningOf({ code, message }: CloudError): Meaning | undefined {
  if (code === undefined) return undefined;
  const special = BY_MESSAGE.find((row) => row.code === code && row.message.test(message));
  if (special !== undefined) return special.means;
  return Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
}
