// Which kinds of provider are there, and what does each of them promise (clouds.md#kinds)?
import type { Millis } from "../machine.ts";

/**
 * The kinds of provider. `http`: a service that the user runs. `none`: no provider, for pools of self-hosted
 * machines alone.
 */
export const PROVIDER_KINDS = ["http", "none", "hetzner", "ec2", "fly", "gce"] as const;
export type ProviderKind = (typeof PROVIDER_KINDS)[number];

/** What all providers of a kind have in common, in every account. */
export interface Traits {
  /** The name for people. */
  title: string;
  /** A listing that begins within this time after a create or destroy call may lack the call's effect. */
  listConsistencyMs: Millis;
  /** Whether one machine can be looked up by itself. Such an answer is stronger than a listing. */
  finds: boolean;
  /**
   * Whether the credentials alone say which account is meant. Absent: the configuration says it, and other
   * credentials are those of the same account, or are refused.
   */
  credentialsNameAccount?: true;
  /** Machines can be had that the cloud may take back, at a lower price. */
  hasSpot?: true;
  /** The types of which the cloud names prices. Absent: none, so that the configured prices count. */
  namesPrices?: "all" | "spot";
  /** The name of a machine is free again once it has ended, so that its token would make another machine. */
  freesNames?: true;
  /** The end of a machine's console can be read (clouds.md#console). */
  hasConsole?: true;
  /** A machine is paid for at least `minMs`, and then in steps of `stepMs`. */
  billing: { minMs: Millis; stepMs: Millis };
  /**
   * The most calls of each sort per second. A listing counts as a `find`. Absent: only the limit of the pool
   * applies.
   */
  rates?: { create: number; destroy: number; find: number };
  /** The longest user data, in bytes. */
  maxUserDataBytes: number;
  /** The default boot probe. */
  bootProbe: string;
  /** The command that ends the machine. Absent: none. */
  powerOff?: string;
}

const SECOND_MS: Millis = 1_000;
const MINUTE_MS: Millis = 60 * SECOND_MS;
const HOUR_MS: Millis = 60 * MINUTE_MS;

const OWN_SERVICE: Traits = {
  title: "an HTTP service",
  hasConsole: true,
  listConsistencyMs: SECOND_MS,
  finds: false,
  billing: { minMs: 0, stepMs: 1 },
  maxUserDataBytes: 16_384,
  bootProbe: "systemctl is-system-running",
};

/** The traits of each kind. */
export const TRAITS: Readonly<Record<ProviderKind, Traits>> = {
  http: OWN_SERVICE,
  none: { ...OWN_SERVICE, title: "no provider" },
  hetzner: {
    title: "Hetzner Cloud",
    listConsistencyMs: 10 * SECOND_MS,
    finds: true,
    freesNames: true,
    credentialsNameAccount: true,
    namesPrices: "all",
    billing: { minMs: HOUR_MS, stepMs: HOUR_MS },
    rates: { create: 2, destroy: 2, find: 2 },
    maxUserDataBytes: 32_768,
    bootProbe: "true",
  },
  ec2: {
    title: "Amazon EC2",
    hasConsole: true,
    listConsistencyMs: MINUTE_MS,
    finds: true,
    hasSpot: true,
    namesPrices: "spot",
    credentialsNameAccount: true,
    billing: { minMs: MINUTE_MS, stepMs: SECOND_MS },
    rates: { create: 2, destroy: 10, find: 10 },
    maxUserDataBytes: 16_384,
    bootProbe: "true",
    powerOff: "poweroff",
  },
  fly: {
    title: "Fly Machines",
    listConsistencyMs: 10 * SECOND_MS,
    finds: true,
    freesNames: true,
    billing: { minMs: 0, stepMs: SECOND_MS },
    rates: { create: 1, destroy: 1, find: 1 },
    maxUserDataBytes: 65_536,
    bootProbe: "true",
    // A machine ends with its first process.
    powerOff: 'kill -KILL "$(cat "${DROVER_STATE_DIR:-/var/lib/drover}/first-pid")"',
  },
  gce: {
    title: "Google Compute Engine",
    hasConsole: true,
    listConsistencyMs: 30 * SECOND_MS,
    finds: true,
    hasSpot: true,
    freesNames: true,
    billing: { minMs: MINUTE_MS, stepMs: SECOND_MS },
    rates: { create: 10, destroy: 10, find: 10 },
    maxUserDataBytes: 262_144,
    bootProbe: "true",
  },
};
