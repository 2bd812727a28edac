// Which names and tags does a cloud accept (clouds.md#names)?
import { type ProviderKind, TRAITS } from "./kinds.ts";

interface Rule {
  pattern: RegExp;
  /** What a name must be, after "must". */
  text: string;
}

interface Rules {
  /** The name of the pool, which begins the names of its machines and is the value of a tag. */
  pool: Rule;
  tagName: Rule;
  tagValue: Rule;
}

const POOL_OF_LABELS: Rule = {
  pattern: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
  text: "end with a letter or a digit",
};
const EC2_TAG: Rule = {
  pattern: /^(?!aws:)[\p{L}\p{Z}\p{N}_.:/=+\-@]{0,256}$/u,
  text: "be letters, digits, blanks and any of `_.:/=+-@`, and not begin with `aws:`",
};

const HETZNER_LABEL: Rule = {
  pattern: /^(?:[a-zA-Z0-9](?:[\w.-]{0,61}[a-zA-Z0-9])?)?$/,
  text: "be at most 63 letters, digits and any of `_.-`, and begin and end with a letter or a digit",
};

const FLY_METADATA: Rule = { pattern: /^[^\p{C}]{0,256}$/u, text: "be at most 256 printable characters" };

const GCE_POOL: Rule = {
  pattern: /^[a-z](?:[a-z0-9-]*[a-z0-9])?$/,
  text: "begin with a letter, and end with a letter or a digit",
};
const GCE_LABEL_NAME: Rule = {
  pattern: /^[a-z][a-z0-9_-]{0,62}$/,
  text: "be at most 63 of `a-z0-9_-`, and begin with a letter",
};
const GCE_LABEL_VALUE: Rule = { pattern: /^[a-z0-9_-]{0,63}$/, text: "be at most 63 of `a-z0-9_-`" };

/** The rules of each kind that has any. */
const RULES: Partial<Record<ProviderKind, Rules>> = {
  hetzner: { pool: POOL_OF_LABELS, tagName: HETZNER_LABEL, tagValue: HETZNER_LABEL },
  ec2: { pool: POOL_OF_LABELS, tagName: EC2_TAG, tagValue: EC2_TAG },
  gce: { pool: GCE_POOL, tagName: GCE_LABEL_NAME, tagValue: GCE_LABEL_VALUE },
  fly: { pool: POOL_OF_LABELS, tagName: FLY_METADATA, tagValue: FLY_METADATA },
};

/** Why a pool of this kind of provider cannot have this name. Null: it can. */
export function poolNameFault(kind: ProviderKind, pool: string): string | null {
  const rule = RULES[kind]?.pool;
  if (rule === undefined || rule.pattern.test(pool)) return null;
  return `the name of a pool on ${TRAITS[kind].title} must ${rule.text}: its machines are named after it`;
}

/** The tags that a kind of provider does not accept: the name of each, and what is wrong with it. */
export function tagFaults(kind: ProviderKind, tags: Record<string, string>): [name: string, text: string][] {
  const rules = RULES[kind];
  if (rules === undefined) return [];
  return Object.entries(tags).flatMap(([name, value]): [string, string][] => {
    const { title } = TRAITS[kind];
    if (!rules.tagName.pattern.test(name))
      return [[name, `its name must, on ${title}, ${rules.tagName.text}`]];
    if (!rules.tagValue.pattern.test(value)) return [[name, `must, on ${title}, ${rules.tagValue.text}`]];
    return [];
  });
}
