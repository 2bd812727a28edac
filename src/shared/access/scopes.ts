// What may a token do? The scopes, and the presets that bundle them (access.md#scopes).

/** What a token may do, by name (access.md#scopes). */
export const SCOPES = [
  "runs:read",
  "runs:logs",
  "runs:env",
  "runs:write",
  "runs:exec",
  "jobs:write",
  "jobs:trigger",
  "pools:read",
  "pools:write",
  "workers:write",
  "enroll",
  "tokens:write",
  "audit:read",
  "secrets:use",
  "secrets:write",
  "metrics:read",
  "webhooks:write",
  "projects:write",
  "admin",
] as const;

export type Scope = (typeof SCOPES)[number];

/** The scope that only the Worker's own secret has. It implies all other scopes. */
export const BREAK_GLASS = "admin" satisfies Scope;

/** How events name the holder of that secret (access.md#actors). No token may have this name. */
export const BREAK_GLASS_NAME = "admin";

export type GrantableScope = Exclude<Scope, "admin">;

/** The scopes that a token can be given. */
export const GRANTABLE_SCOPES = SCOPES.filter((scope): scope is GrantableScope => scope !== "admin");

/**
 * The only scopes that a token can use if its limits name labels. Every other scope shows or changes
 * something that all runs of a pool share (access.md#limits).
 */
export const SCOPES_OF_RUNS: readonly Scope[] = [
  "runs:read",
  "runs:logs",
  "runs:env",
  "runs:write",
  "runs:exec",
  "secrets:use",
];

/** The scopes that cannot be limited to some pools (access.md#limits). */
export const SCOPES_OF_ALL: readonly Scope[] = [
  "tokens:write",
  "webhooks:write",
  "secrets:write",
  "projects:write",
];

/** Bundles of scopes for common purposes (access.md#presets). */
export const PRESETS = {
  viewer: ["runs:read", "runs:logs", "pools:read"],
  submitter: ["runs:read", "runs:logs", "runs:write", "jobs:trigger", "secrets:use", "pools:read"],
  operator: [
    "runs:read",
    "runs:logs",
    "runs:write",
    "jobs:write",
    "jobs:trigger",
    "secrets:use",
    "pools:read",
    "workers:write",
    "enroll",
    "audit:read",
    "metrics:read",
  ],
  scraper: ["metrics:read"],
} as const satisfies Record<string, readonly Scope[]>;

export type Preset = keyof typeof PRESETS;

/** The names of the presets. */
export const PRESET_NAMES = Object.keys(PRESETS) as Preset[]; // the keys are the presets

/** Whether a caller with these scopes may do what needs `scope` (access.md#scopes). */
export function grants(scopes: readonly Scope[], scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes(BREAK_GLASS);
}
