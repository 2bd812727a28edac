// When may a secret be sent to an address?
const LOOPBACK = /^(localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/;
const HTTP_PORT = "80";

/**
 * The address, as `host:port`, of a Drover that is reached by plain HTTP on this machine. Such a Drover has
 * no certificate, so it must prove that it knows the token. Undefined for any other URL. `localhost` is
 * replaced by 127.0.0.1, since the name may resolve to an address where somebody else listens.
 */
export function loopbackAddress(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== "http:" || !LOOPBACK.test(hostname)) return undefined;
  return `${hostname === "localhost" ? "127.0.0.1" : hostname}:${port || HTTP_PORT}`;
}

/**
 * Whether a secret or a signed message may be sent to this URL. With TLS, the URL may lead to any machine.
 * Without TLS, it must lead to this machine.
 */
export function isSafeAddress(url: string): boolean {
  return (URL.canParse(url) && new URL(url).protocol === "https:") || loopbackAddress(url) !== undefined;
}

/** The host and port of an address from `loopbackAddress`, for a socket. */
export function endpointOf(address: string): { host: string; port: number } {
  const { hostname, port } = new URL(`http://${address}`);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || HTTP_PORT) };
}

/**
 * The text that Drover authenticates with the token (HMAC-SHA256), so only a Drover with that token can
 * answer. It contains Drover's own address: if somebody else forwards a nonce to Drover, the proof that comes
 * back is valid only for Drover's address.
 */
export function proofText(address: string, nonce: string): string {
  return `drover-proof\n${address}\n${nonce}`;
}
