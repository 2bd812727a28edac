// Does a text name a network, and does an address belong to a network (access.md#limits)?
import ipaddr from "ipaddr.js";

/**
 * Whether a text is a network in CIDR notation, or a single address. IPv4 has four decimal numbers: programs
 * disagree about what `010.0.0.1` and `10.1` mean.
 */
export function isNetwork(text: string): boolean {
  if (text.includes(":")) return ipaddr.IPv6.isValidCIDR(text) || ipaddr.IPv6.isValid(text);
  return ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv4.isValidFourPartDecimal(text);
}

/** How many bits of an IPv6 address name a network. A machine can use any address in such a network. */
const NETWORK_BITS = 64;

/**
 * What counts as one sender for limits (access.md#rate-limits): an IPv4 address, or the /64 network of an
 * IPv6 address. A text that is no address stands for itself.
 */
export function placeOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const from = ipaddr.process(address);
  if (from.kind() === "ipv4") return from.toString();
  return ipaddr.IPv6.networkAddressFromCIDR(`${from.toString()}/${NETWORK_BITS}`).toString();
}

/**
 * Whether an address belongs to one of the networks (access.md#limits). An IPv4 address that is written as
 * IPv6 counts as IPv4. An absent or invalid address belongs to no network.
 */
export function isFrom(networks: readonly string[], address: string | undefined): boolean {
  if (address === undefined || !ipaddr.isValid(address)) return false;
  const from = ipaddr.process(address);
  return networks.some((network) => {
    const [base, bits] = ipaddr.isValidCIDR(network)
      ? ipaddr.parseCIDR(network)
      : [ipaddr.parse(network), undefined];
    if (base.kind() !== from.kind()) return false;
    return from.match(base, bits ?? (base.kind() === "ipv4" ? 32 : 128));
  });
}
