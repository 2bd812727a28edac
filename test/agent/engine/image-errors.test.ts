import { describe, expect, test } from "vitest";
import { type ImageFault, imageFault, isRetried, PullError } from "../../../agent/engine/image-errors.ts";

const HUB = "docker.io/library/alpine";

/** What Docker says, with and without containerd's store of images. */
const DOCKER: [ImageFault, string][] = [
  ["missing", "manifest for alpine:none not found: manifest unknown: manifest unknown"],
  ["missing", `failed to resolve reference "${HUB}:none": ${HUB}:none: not found`],
  ["missing", "name unknown: The repository with name 'a' does not exist in the registry with id '1'"],
  ["missing", "invalid reference format: repository name (library/ALPINE) must be lowercase"],
  ["denied", "pull access denied for a/b, repository does not exist or may require 'docker login'"],
  ["denied", `failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized`],
  ["denied", `Head "https://ghcr.io/v2/a/b/manifests/1": denied`],
  ["denied", "unauthorized: incorrect username or password"],
  ["denied", "no basic auth credentials"],
  ["denied", "error pulling image configuration: download failed after attempts=1: 403 Forbidden"],
  ["rate_limit", "toomanyrequests: You have reached your unauthenticated pull rate limit."],
  ["rate_limit", "unexpected status from HEAD request to https://ghcr.io/v2/a: 429 Too Many Requests"],
  ["no_space", "failed to register layer: write /usr/lib/x.so: no space left on device"],
  ["wrong_arch", "no matching manifest for linux/arm64/v8 in the manifest list entries"],
  ["wrong_arch", `failed to pull: no match for platform in manifest: not found`],
  [
    "wrong_arch",
    'image operating system "windows" cannot be used on this platform: operating system is not supported',
  ],
  ["temporary", "received unexpected HTTP status: 503 Service Unavailable"],
  ["temporary", "unexpected status from HEAD request to https://a/v2/: 502 Bad Gateway"],
  [
    "temporary",
    `Get "https://a/v2/": net/http: request canceled (Client.Timeout exceeded while awaiting headers)`,
  ],
  ["temporary", `Get "https://a/v2/": dial tcp: lookup a on 10.0.0.2:53: no such host`],
  ["temporary", "read tcp 10.0.0.1:4->1.2.3.4:443: read: connection reset by peer"],
  ["temporary", "unexpected EOF"],
  ["temporary", "something that nobody has seen before"],
];

/** What podman 4.3 says. */
const PODMAN: [ImageFault, string][] = [
  ["missing", `initializing source docker://${HUB}:none: reading manifest none in ${HUB}: manifest unknown`],
  ["missing", "initializing source docker://a/b:1: reading manifest 1 in a/b: name unknown"],
  ["missing", "normalizing image: normalizing name for compat API: repository name must be lowercase"],
  ["denied", "initializing source docker://a/b:1: reading manifest 1 in a/b: unauthorized"],
  ["denied", "initializing source docker://a/b:1: reading manifest 1 in a/b: denied: not you"],
  ["denied", "reading manifest 1 in a/b: errors: denied: requested access to the resource is denied"],
  [
    "rate_limit",
    "initializing source docker://a/b:1: reading manifest 1 in a/b: too many requests to registry",
  ],
  [
    "no_space",
    "writing blob: adding layer with blob: processing tar file: write /x: no space left on device",
  ],
  [
    "wrong_arch",
    "choosing an image from manifest list docker://a: no image found in manifest list for architecture arm64",
  ],
  ["wrong_arch", 'no image found in image index for architecture arm64, variant "v8", OS linux'],
  ["temporary", "reading manifest 1 in a/c: received unexpected HTTP status: 500 Internal Server Error"],
  [
    "temporary",
    `pinging container registry a: Get "https://a/v2/": dial tcp 127.0.0.1:1: connect: connection refused`,
  ],
];

describe("engine.md#image-faults: why a pull has failed", () => {
  test.each(DOCKER)("Docker, %s: %s", (fault, text) => {
    expect(imageFault(text)).toBe(fault);
  });

  test.each(PODMAN)("podman, %s: %s", (fault, text) => {
    expect(imageFault(text)).toBe(fault);
  });

  test.each<[number, ImageFault]>([
    [404, "missing"],
    [401, "denied"],
    [403, "denied"],
    [429, "rate_limit"],
    [500, "temporary"],
  ])("a status of %d counts where no text fits: %s", (status, fault) => {
    expect(imageFault("so it is", status)).toBe(fault);
    expect(imageFault("no space left on device", status)).toBe("no_space");
  });

  test("only what passes by itself is tried again", () => {
    const all: ImageFault[] = ["missing", "denied", "rate_limit", "no_space", "wrong_arch", "temporary"];
    expect(all.filter(isRetried)).toEqual(["rate_limit", "temporary"]);
  });

  test("the error says what the engine said, and what to do", () => {
    const error = new PullError("a/b:1", "no space left on device.", 500);
    expect(error).toMatchObject({ kind: "image", fault: "no_space", status: 500 });
    expect(error.message).toBe(
      "The image a/b:1 cannot be pulled: no space left on device. " +
        "Give the machine a larger disk, or remove images that are not used.",
    );
    expect(new PullError("a", "").message).toContain("the engine gave no reason");
  });
});
