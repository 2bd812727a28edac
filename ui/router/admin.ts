// Where are the parts of the administration, and what is about one thing there?

/** The parts, as their addresses name them: `/ui/admin/tokens`. */
export const ADMIN_PARTS = ["tokens", "sessions", "projects", "secrets", "webhooks", "trust"] as const;
export type AdminPart = (typeof ADMIN_PARTS)[number];

/** The name of the one thing that a part shows, in the query of its address. */
export const ONE_OF: Record<AdminPart, string> = {
  tokens: "token",
  sessions: "session",
  projects: "project",
  secrets: "secret",
  webhooks: "webhook",
  trust: "rule",
};

/** The address of a part or, with `item`, of one thing in it. */
export function adminHref(part: AdminPart, item?: string): string {
  const path = `/ui/admin/${part}`;
  return item === undefined ? path : `${path}?${new URLSearchParams({ [ONE_OF[part]]: item })}`;
}
