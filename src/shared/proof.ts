const LOOPBACK = /^(localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/;
const HTTP_PORT = "80";

/**
 * Where a Drover listens that is reached by plain HTTP on this machine, as `host:port`: such a one proves
 * itself, because no certificate does. Undefined for any other URL. `localhost` means 127.0.0.1: as a name it
 * may lead to another address, where somebody else listens.
 */
export function loopbackAddress(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== "http:" || !LOOPBACK.test(hostname)) return undefined;
  return `${hostname === "localhost" ? "127.0.0.1" : hostname}:${port || HTTP_PORT}`;
}

/**
 * Whether a secret, or what is signed and not hidden, may go to this address: by TLS to anybody, in the clear
 * to this very machine alone.
 */
export function isSafeAddress(url: string): boolean {
  return (URL.canParse(url) && new URL(url).protocol === "https:") || loopbackAddress(url) !== undefined;
}

/** The host and port by which a socket connects to what `loopbackAddress` gives. */
export function endpointOf(address: string): { host: string; port: number } {
  const { hostname, port } = new URL(`http://${address}`);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || HTTP_PORT) };
}

/**
 * What is authenticated with the token (HMAC-SHA256), so that only who knows the token can answer. The
 * address is that of the Drover itself: a stranger who passes a nonce on to it gets a proof for no other.
 */
export function proofText(address: string, nonce: string): string {
  return `drover-proof\n${address}\n${nonce}`;
}
