// The bodies that the examples of the OpenAPI document send.

/** A pool that self-hosted machines join. */
export const LAB = {
  provider: { kind: "http", url: "http://127.0.0.1:9", secret: "none" },
  instanceTypes: { small: { vcpus: 2, memory: "2GiB", price: 0.02 } },
  maxInstances: 0,
  probe: { interval: "1s", boot: "true" },
};

/** A run of one command. */
export const BUILD = {
  id: "build-17",
  argv: ["sh", "-c", "echo compiling; exec sleep 600"],
  labels: { team: "x" },
  timeout: "30m",
};

/** A group of tasks. */
export const SITE = {
  id: "site-3",
  tasks: [
    { name: "db", lifecycle: { hook: "prestart", sidecar: true }, argv: ["sleep", "600"] },
    { name: "web", leader: true, argv: ["sleep", "600"], env: { PORT: "8080" }, killSignal: "SIGINT" },
  ],
  resources: { vcpus: 1, memory: "64MiB" },
};

/** A batch. */
export const SHARDS = {
  runs: [
    { id: "shard-1", argv: ["true"], labels: { set: "nightly" } },
    { id: "shard-2", argv: ["false"], labels: { set: "nightly" } },
  ],
};

/** A host's description of itself. */
export const HOST = {
  agent: { version: "0.1.0", os: "linux", arch: "x64" },
  bootId: "9b1f0c52-8a0e-4a52-a6a9-0d0f4a1c1b11",
  resources: { vcpus: 4, memoryBytes: 8_589_934_592, diskBytes: 107_374_182_400, gpus: 0 },
};

/** A text is easier to show than an archive, and no route reads its content. */
export const ARCHIVE = "These bytes stand for an archive.\n";
/** The name of the archive. */
export const SNAPSHOT = {
  snapshot: "sha256:7c5bf000d64d6dfdb762e61269d7078a4154c5b5707cc34253ab6ff5d3b7c25c",
};
