// Which types of EC2 share a quota of vCPUs?

/** The families whose quota is Amazon's "Standard" one. */
const STANDARD = new Set(["a", "c", "d", "h", "i", "m", "r", "t", "z"]);

/** Families with another name than their types have. */
const RENAMED: Readonly<Record<string, string>> = {
  g: "g-and-vt",
  gr: "g-and-vt",
  vt: "g-and-vt",
  im: "standard",
  is: "standard",
  u: "high-memory",
};

/**
 * The name of the quota group of an instance type, such as `standard` for `m7g.large`
 * (clouds/ec2.md#quota-groups). Types of a group share one quota of vCPUs, and their spot instances another.
 * A family that is not known has a group of its own.
 */
export function quotaGroupOf(type: string): string {
  const [, letters = ""] = /^([a-z]+)/.exec(type.toLowerCase()) ?? [];
  if (letters === "") return "unknown";
  if (STANDARD.has(letters)) return "standard";
  if (letters === "p") return /^p[2-4]\D/i.test(type) ? "p" : "p5";
  return Object.hasOwn(RENAMED, letters) ? (RENAMED[letters] ?? letters) : letters;
}
