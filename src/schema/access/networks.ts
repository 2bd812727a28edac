// Does a text name a network, and does an address belong to a network (access.md#limits)?
import ipaddr from "ipaddr.js";

/** Whether a text is a network in CIDR notation, or a single address. */
export function isNetwork(text: string): boolean {
  return ipaddr.isValidCIDR(text) || ipaddr.isValid(text);
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
