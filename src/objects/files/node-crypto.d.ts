// Which functions of `node:crypto` does `src/signing` use? The runtime has these functions, but the types of
// all of Node would contradict the platform's types.
declare module "node:crypto" {
  interface Digest {
    update(data: string | Uint8Array): Digest;
    digest(encoding: "base64" | "hex"): string;
  }
  /** A key that was taken in; it is used, and never looked into. */
  export interface KeyObject {
    readonly type: string;
  }
  export function createHash(algorithm: "sha256"): Digest;
  export function createHmac(algorithm: "sha256", key: Uint8Array | KeyObject): Digest;
  export function createSecretKey(key: Uint8Array): KeyObject;
  export function timingSafeEqual(one: Uint8Array, other: Uint8Array): boolean;
}
