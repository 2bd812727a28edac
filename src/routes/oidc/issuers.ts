// What is particular about an issuer that many strangers share (oidc.md#shared-issuers)?
import { refusalOfAddress } from "../../shared/access/outgoing.ts";
import type { FieldError } from "../../shared/errors.ts";

/** What Drover knows of the tokens of an issuer. */
interface Profile {
  /** Whether an issuer is of this kind. */
  fits: (issuer: URL) => boolean;
  name: string;
  /**
   * Claims of which a rule must name at least one, in full. Each tells the customers of the issuer apart, and
   * is never given to another customer. Empty: the issuer belongs to one owner.
   */
  owners: readonly string[];
  /** Claims by which no rule may decide, each with the reason. */
  unfit: Record<string, string>;
  /** Claims that say who a token is for people, the first one that a token has (oidc.md#names). */
  subjects: readonly string[];
  /** The labels that a rule forces if it does not say which, and the claim for each. */
  labels: Record<string, string>;
}

const host = (name: string) => (issuer: URL) => issuer.hostname === name;

const PROFILES: readonly Profile[] = [
  {
    fits: ({ hostname }) =>
      hostname === "token.actions.githubusercontent.com" || /^token\.actions\..+\.ghe\.com$/.test(hostname),
    name: "GitHub",
    owners: ["repository_id", "repository_owner_id"],
    unfit: {
      sub: "has several formats there, and changes with the name of the repository; use ref, environment…",
    },
    subjects: ["repository", "sub"],
    labels: { "gh.repo": "repository", "gh.sha": "sha", "gh.run": "run_id" },
  },
  {
    fits: host("gitlab.com"),
    name: "GitLab",
    owners: ["project_id", "namespace_id"],
    unfit: {},
    subjects: ["project_path", "sub"],
    labels: { "gl.project": "project_path", "gl.sha": "sha", "gl.job": "job_id" },
  },
  {
    fits: host("agent.buildkite.com"),
    name: "Buildkite",
    owners: ["organization_id", "organization_slug", "pipeline_id"],
    unfit: {},
    subjects: ["pipeline_slug", "sub"],
    labels: { "bk.pipeline": "pipeline_slug", "bk.commit": "build_commit", "bk.job": "job_id" },
  },
  {
    fits: host("accounts.google.com"),
    name: "Google",
    owners: ["sub"],
    unfit: {},
    subjects: ["email", "sub"],
    labels: {},
  },
  {
    fits: host("app.terraform.io"),
    name: "HCP Terraform",
    owners: ["terraform_organization_id", "terraform_project_id", "terraform_workspace_id"],
    unfit: {},
    subjects: ["terraform_workspace_name", "sub"],
    labels: {},
  },
];

const ANY: Profile = {
  fits: () => true,
  name: "this issuer",
  owners: [],
  unfit: {},
  subjects: ["sub"],
  labels: {},
};

/** What is known of an issuer; of most, nothing in particular. */
export function profileOf(issuer: string): Profile {
  const url = new URL(issuer);
  return PROFILES.find(({ fits }) => fits(url)) ?? ANY;
}

/**
 * What is wrong with the issuer and the claims of a rule, whoever makes it (oidc.md#shared-issuers).
 * `allowLocal`: issuers may be at loopback and private addresses.
 */
export function faultsOfTrust(
  { issuer, claims }: { issuer: string; claims: Record<string, string> },
  allowLocal: boolean,
): FieldError[] {
  const refusal = refusalOfIssuer(issuer, allowLocal);
  if (refusal !== undefined) return [{ pointer: "/issuer", detail: refusal }];
  const { name, owners, unfit } = profileOf(issuer);
  const faults = Object.keys(claims)
    .filter((claim) => Object.hasOwn(unfit, claim))
    .map((claim) => ({ pointer: `/claims/${claim}`, detail: unfit[claim] ?? "" }));
  const whole = owners.filter((claim) => claims[claim] !== undefined && !claims[claim].includes("*"));
  if (owners.length > 0 && whole.length === 0) {
    const detail =
      `must have ${owners.join(" or ")}, without "*": anybody can get tokens of ${name}, ` +
      "so a rule must say whose";
    faults.push({ pointer: "/claims", detail });
  }
  return faults;
}

/** Why what an issuer publishes may not be fetched from this URL; undefined: it may (oidc.md#keys). */
export function refusalOfIssuer(url: string, allowLocal: boolean): string | undefined {
  return refusalOfAddress(url, allowLocal, "--allow-local-issuers");
}
