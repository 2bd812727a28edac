// What `src/signing` uses of Node's own crypto, which the runtime has too. The types of all of Node would
// contradict those of the platform.
declare module "node:crypto" {
  interface Digest {
    update(data: string | Uint8Array): Digest;
    digest(encoding: "base64"): string;
  }
  export function createHash(algorithm: "sha256"): Digest;
  export function createHmac(algorithm: "sha256", key: Uint8Array): Digest;
  export function timingSafeEqual(one: Uint8Array, other: Uint8Array): boolean;
}
