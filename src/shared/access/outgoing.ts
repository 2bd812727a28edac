// May Drover itself ask this URL, which a user has named (webhooks.md#addresses)?

/** The ports at which the other side may listen. Empty: the port of https, which a URL leaves out. */
const PORTS: readonly string[] = ["", "8443"];
/** Endings of names that never lead to a public address. */
const LOCAL_NAMES = /(?:^|\.)(?:localhost|local|internal|intranet|home\.arpa|lan|corp|home)\.?$/;
const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;
/** Loopback, private, link-local, and addresses shared behind a provider's NAT. */
const LOCAL_IPV4 = [
  /^(?:127|10)\./,
  /^192\.168\./,
  /^169\.254\./,
  /^172\.(?:1[6-9]|2\d|3[01])\./,
  /^100\.(?:6[4-9]|[789]\d|1[01]\d|12[0-7])\./,
];
/** The same in IPv6: loopback, unique local, link-local. */
const LOCAL_IPV6 = /^\[(?:::1|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)\]$/;

/** The flag of `drover up` that allows local addresses: of receivers of events, or of issuers of tokens. */
export type LocalFlag = "--allow-local-webhooks" | "--allow-local-issuers";

/**
 * Why a URL may not be asked; undefined: it may. With `allowLocal`, which only a `drover up` can have by this
 * flag, loopback and private addresses are allowed as well, by http and at any port.
 */
export function refusalOfAddress(
  text: string,
  allowLocal: boolean,
  flag: LocalFlag = "--allow-local-webhooks",
): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return "must be a URL";
  const { protocol, username, password, port, hostname, hash } = url;
  if (protocol !== "https:" && protocol !== "http:") return "must be an https URL";
  if (username !== "" || password !== "") return "must have no user name and no password";
  if (hash !== "") return "must have no fragment: it would not be sent";
  if (allowLocal && isLocal(hostname)) return undefined;
  if (IPV4.test(hostname) || hostname.startsWith("[")) return "must have a name, and not an IP address";
  if (isLocal(hostname)) {
    return `must have a public name; \`drover up ${flag}\` allows local ones as well`;
  }
  if (protocol !== "https:") return "must be an https URL";
  return PORTS.includes(port) ? undefined : "must have port 443 or 8443";
}

/** Whether a host is a loopback or private address, or a name that only a local network knows. */
function isLocal(hostname: string): boolean {
  if (IPV4.test(hostname)) return LOCAL_IPV4.some((range) => range.test(hostname));
  if (hostname.startsWith("[")) return LOCAL_IPV6.test(hostname);
  return LOCAL_NAMES.test(hostname) || !hostname.replace(/\.$/, "").includes(".");
}
